"""One direction of a comparison: which edges are matched where, and whose mean is taken.

Shapes: T nodes that ask, L nodes that answer, Q distinct edges of those that ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.kernels.plan import MatchPlan


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a matrix that are to be summed: those at ``columns[ptr[t]:ptr[t + 1]]`` for each t; on one device."""

    ptr: Tensor
    columns: Tensor
    sizes: Tensor  # [T, 1], as numbers to divide by; 1 where there is no row

    @classmethod
    def of(
        cls, ptr: IntArray, columns: IntArray | Int32Array, device: torch.device, weights: FloatArray | None = None
    ) -> Rows:
        """Take over index arrays; with ``weights`` of the rows of the matrix, sizes are sums of them."""
        kind = np.int32 if len(columns) < 2**31 else np.int64  # PyTorch wants one type for both
        sizes = np.maximum(np.diff(ptr), 1).astype(np.float32)[:, None]
        if weights is not None:
            total = weight_sums(ptr, columns, weights)
            sizes = np.where(total > 0, total, 1).astype(np.float32)[:, None]
        arrays = (ptr.astype(kind), columns.astype(kind, copy=False), sizes)
        return cls(*(torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays))


@dataclass(frozen=True, eq=False)
class OneWay:
    r"""Every edge of each node that asks is matched in the local graph of each node that answers.

    ``columns`` are the positions of a node's edges among the queries.

    Shapes:
        - **ptr:** :math:`(T + 1,)`, **columns:** :math:`(\sum_t |E_t|,)`
        - **answer_sizes** (edges of each local graph that answers): :math:`(L,)`
    """

    matching: MatchPlan
    ptr: IntArray
    columns: Int32Array
    answer_sizes: IntArray
    weights: FloatArray | None = None  # [Q], how much each query counts in the mean; None: all alike
    _rows: dict[torch.device, Rows] = field(default_factory=dict, init=False, repr=False)
    _flipped: dict[torch.device, Rows] = field(default_factory=dict, init=False, repr=False)
    _with_edges: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(
        cls, edges: IntArray, asking: LocalGraphs, answering: LocalGraphs, weights: FloatArray | None = None
    ) -> OneWay:
        """Plan the matching of the edges of ``asking`` in ``answering``; ``weights`` are those of all edges, [E]."""
        queries = asking.union()
        return cls(
            MatchPlan.build(edges, queries, answering),
            asking.ptr,
            asking.positions(queries),
            answering.sizes,
            None if weights is None else weights[queries],
        )

    def answering(self, low: int, high: int, *, compact: bool = False) -> OneWay:
        """With the nodes that answer from ``low`` to ``high`` alone; ``compact``: with no other keys than theirs."""
        matching = self.matching.alone(low, high) if compact else self.matching.block(low, high)
        part = OneWay(matching, self.ptr, self.columns, self.answer_sizes[low:high], self.weights)
        part._rows.update(self._rows)
        return part

    def asking(self, low: int, high: int) -> OneWay:
        """With the nodes that ask from ``low`` to ``high`` alone."""
        queries, columns = np.unique(self.columns[self.ptr[low] : self.ptr[high]], return_inverse=True)
        ptr = self.ptr[low : high + 1] - self.ptr[low]
        part = self.matching.of_queries(queries.astype(np.int64))
        weights = None if self.weights is None else self.weights[queries]
        return OneWay(part, ptr, columns.astype(np.int32), self.answer_sizes, weights)

    @property
    def num_queries(self) -> int:
        """Q."""
        return self.matching.num_queries

    def sums(self) -> FloatArray:
        """What the edges of each node that asks count together, [T]."""
        if self.weights is None:
            return np.diff(self.ptr).astype(np.float32)
        return weight_sums(self.ptr, self.columns, self.weights)

    def weighted(self, best: Tensor, low: int = 0) -> Tensor:
        """Best similarities of the queries from ``low`` on, each times its weight."""
        if self.weights is None:
            return best
        weights = self.weights[low : low + len(best), None]
        return best * torch.from_numpy(weights).to(best.device, best.dtype)

    def defined(self, device: torch.device) -> Tensor:
        """Where both nodes have edges, [T, L], on a device."""
        return both_have_edges(self._with_edges, self.ptr, self.answer_sizes, device)

    def rows(self, device: torch.device) -> Rows:
        """The queries of each node that asks, on a device; moved there once."""
        if device not in self._rows:
            self._rows[device] = Rows.of(self.ptr, self.columns, device, self.weights)
        return self._rows[device]

    def flipped(self, device: torch.device) -> Rows:
        """The nodes that ask with each query, on a device: what gradients run along."""
        if device not in self._flipped:
            owners = np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))
            order = np.argsort(self.columns, kind="stable")
            ptr = np.concatenate([[0], np.cumsum(np.bincount(self.columns, minlength=self.matching.num_queries))])
            self._flipped[device] = Rows.of(ptr, owners[order], device)
        return self._flipped[device]


def weight_sums(ptr: IntArray, columns: IntArray | Int32Array, weights: FloatArray) -> FloatArray:
    """The sum of the weights of each t, each in the order of its edges, [T]."""
    owners = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return np.bincount(owners, weights[columns], minlength=len(ptr) - 1).astype(np.float32)


def both_have_edges(
    kept: dict[torch.device, tuple[Tensor, Tensor]], ptr: IntArray, answer_sizes: IntArray, device: torch.device
) -> Tensor:
    """Where a node that asks and one that answers both have edges, [T, L]; what is moved to a device is ``kept``."""
    if device not in kept:
        asking, answering = (torch.tensor(size > 0, device=device) for size in (np.diff(ptr), answer_sizes))
        kept[device] = asking, answering
    asking, answering = kept[device]
    return asking[:, None] & answering[None, :]
