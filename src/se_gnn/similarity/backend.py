"""What a backend offers, and the one place where it is chosen. Shapes: T queries, L cases, Q query edges, D dimensions.

All backends agree with `reference.py` in values, winners and gradients. On the CPU a pair has the same bits alone,
listed, in a block and in the search.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from se_gnn.device import has_triton
from se_gnn.graph.arrays import IntArray

if TYPE_CHECKING:
    from se_gnn.similarity.comparison import Comparison
    from se_gnn.similarity.items import KeyEdges, QueryEdges, Rows, Way
    from se_gnn.similarity.measure import Measure


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Vectors that edges are made of, each the mean of two rows, and how they are compared.

    Shapes:
        - **vectors:** :math:`(N, D)`, **origin** (the point that distances are computed from): :math:`(D,)`
    """

    vectors: Tensor
    origin: Tensor
    measure: Measure

    @property
    def device(self) -> torch.device:
        """Where the vectors are."""
        return self.vectors.device

    def detached(self) -> Points:
        """The same without gradients."""
        return dataclasses.replace(self, vectors=self.vectors.detach())


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Some cases of each query, most similar first, by position, with their similarities: [T, d] each, or in CSR rows.

    A query that is a case itself has the overall similarity -inf with itself: it cannot vote.
    """

    positions: Tensor
    overall: Tensor
    node: Tensor
    structure: Tensor  # -inf where one of the two nodes has no edges

    def cut(self, count: int) -> Nearest:
        """The ``count`` most similar of each row; of equals the one that comes first."""
        return self.columns(top(self.overall, count))

    def columns(self, order: Tensor) -> Nearest:
        """Some of each row, by their places, [T, count]."""
        return Nearest(*(getattr(self, name).gather(1, order) for name in Nearest.__slots__))

    def first(self, count: int) -> Nearest:
        """The first ``count`` of each row."""
        return Nearest(*(getattr(self, name)[:, :count] for name in Nearest.__slots__))

    def cpu(self) -> Nearest:
        """The same in the memory of the host."""
        return Nearest(*(getattr(self, name).cpu() for name in Nearest.__slots__))

    def taken(self, index: Tensor | slice) -> Nearest:
        """Some rows, or some entries of CSR rows."""
        return Nearest(*(getattr(self, name)[index] for name in Nearest.__slots__))

    @staticmethod
    def joined(parts: list[Nearest], dim: int) -> Nearest:
        """Below each other, or side by side: cases with lower positions first, so that the tie rule holds."""
        if len(parts) == 1:
            return parts[0]
        return Nearest(*(torch.cat([getattr(part, name) for part in parts], dim=dim) for name in Nearest.__slots__))


class Backend(Protocol):
    """Compares vectors somewhere."""

    @property
    def records(self) -> bool:
        """Whether a comparison may be part of a recorded CUDA graph: nothing in it waits for the host."""

    def match(self, points: Points, queries: QueryEdges, keys: KeyEdges) -> tuple[Tensor, Tensor]:
        """Similarity and position of the best match of each query edge in each local graph, [Q, L]; else -inf, -1."""

    def pull_back(
        self, points: Points, queries: QueryEdges, keys: KeyEdges, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradient to the vectors, [N, D]: only the winning pair of each query edge and local graph receives one."""

    def row_sums(self, values: Tensor, rows: Rows) -> Tensor:
        """The sum of some rows of ``values``, [Q, L], for each node, [T, L]."""

    def means(self, points: Points, there: Way, back: Way | None, budget: int) -> tuple[Tensor, Tensor | None]:
        """P M there, [T, L], and back, [L, T], a part of M at a time so that it takes no more than ``budget`` bytes."""

    def listed_matches(
        self, points: Points, way: Way, asking: IntArray, ptr: IntArray, answers: IntArray
    ) -> tuple[Tensor, Tensor]:
        """Best matches of the edges of some nodes in the local graphs that are listed for each of them.

        Shapes:
            - **asking** (positions of nodes that ask): :math:`(A,)`
            - **ptr:** :math:`(A + 1,)`, **answers** (positions of local graphs): :math:`(n,)`
            - **output**, similarity and position: edge after edge of each node that asks, for each edge as many
              numbers as local graphs are listed for the node
        """

    def listed_means(self, points: Points, way: Way, asking: IntArray, ptr: IntArray, answers: IntArray) -> Tensor:
        """P M of listed pairs, [n]; where one of the two nodes has no edges, the number means nothing."""

    def distances(self, a: Tensor, b: Tensor) -> Tensor:
        """||a_t - b_l|| of every pair, [T, D] and [L, D] to [T, L]."""

    def listed_distances(self, a: Tensor, b: Tensor, ptr: IntArray, listed: IntArray) -> Tensor:
        """||a_t - b_l|| of a_t and each b in ``listed[ptr[t]:ptr[t + 1]]``, [n]."""

    def top(self, overall: Tensor, count: int) -> Tensor:
        """Positions of the ``count`` largest of each row, largest first, [T, count]; of equals the first."""

    def search(self, comparison: Comparison, count: int, budget: int) -> Nearest | None:
        """The ``count`` nearest cases of each query without comparing all; None: comparing all is the better way."""


def backend_for(vectors: Tensor) -> Backend:
    """Numba on the CPU, Triton on CUDA, plain PyTorch for the rest (other devices and other precisions)."""
    if vectors.dtype == torch.float32:
        if vectors.device.type == "cpu":
            from se_gnn.similarity.cpu.backend import CPU  # here, because backends import what names this module

            return CPU
        if vectors.device.type == "cuda" and has_triton():
            from se_gnn.similarity.cuda.backend import CUDA  # only on machines with Triton

            return CUDA
    from se_gnn.similarity.torch_backend import TORCH

    return TORCH


def can_record(device: torch.device) -> bool:
    """Whether a comparison on a device may be part of a recorded CUDA graph."""
    return backend_for(torch.empty(0, device=device)).records


def top(overall: Tensor, count: int) -> Tensor:
    """Positions of the ``count`` largest numbers of each row, largest first, [T, count].

    Tie rule: of equally similar cases the one that comes first (the lowest node id) is nearer.

    >>> top(torch.tensor([[0.5, 0.9, 0.9, 0.1]]), 3).tolist()
    [[1, 2, 0]]
    """
    return backend_for(overall).top(overall, count)
