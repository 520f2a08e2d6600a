"""What a backend offers, and the one place where it is chosen. Shapes: T queries, L cases, Q query edges, D dimensions.

All backends agree with `reference.py` in values, winners and gradients. On the CPU a pair has the same bits alone,
listed, in a block and in the search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import has_triton, items_within
from se_gnn.graph.arrays import IntArray
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import LocalEdges, Rows, Way

if TYPE_CHECKING:
    from se_gnn.similarity.comparison import Comparison
    from se_gnn.similarity.measure import Measure

BLOCK_BYTES = 1 << 28  # size of a block of similarities
LISTED = 64  # queries that are compared at a time when pairs are listed
FEW = 64  # up to this many numbers of a row are found faster one by one than by sorting the row
SHARE = 16  # in a long row, up to one number in 16


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
        """Device of the vectors."""
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
        """The ``count`` most similar of each row; ties go to the one that comes first."""
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

    def with_rows(self, index: Tensor, others: Nearest) -> Nearest:
        """The same with other rows in the place of some."""
        return Nearest(*(getattr(self, name).index_copy(0, index, getattr(others, name)) for name in Nearest.__slots__))

    @staticmethod
    def joined(parts: list[Nearest], dim: int) -> Nearest:
        """Below each other, or side by side: cases with lower positions first, so that the tie rule holds."""
        if len(parts) == 1:
            return parts[0]
        return Nearest(*(torch.cat([getattr(part, name) for part in parts], dim=dim) for name in Nearest.__slots__))


class Backend:
    """Compares vectors by PyTorch's own operations, on any device; subclasses replace what they do better."""

    records: ClassVar[bool] = False  # whether a comparison may be recorded as a CUDA graph: it never waits for the host

    def match(self, points: Points, queries: LocalEdges, keys: LocalEdges) -> tuple[Tensor, Tensor]:
        """Similarity and position of the best match of each query edge in each local graph, [Q, L]; else -inf, -1."""
        h = points.vectors
        asking, answering = (edge_vectors(h, side.ends_on(h.device)) for side in (queries, keys))
        members = keys.rows(h.device).columns.long()
        best = torch.full((len(queries), keys.num_local), -torch.inf, dtype=h.dtype, device=h.device)
        winners = torch.full(best.shape, -1, dtype=torch.int32, device=h.device)
        step = max(1, BLOCK_BYTES // (4 * max(1, len(keys))))
        for low in range(0, len(queries), step):
            scores = points.measure.all_pairs(asking[low : low + step], answering)  # [B, K]
            for t in np.flatnonzero(keys.sizes):
                row = members[keys.ptr[t] : keys.ptr[t + 1]]
                inside = scores[:, row]
                highest = inside.amax(dim=1)
                first = (inside == highest[:, None]).to(torch.uint8).argmax(dim=1)  # lowest id among equals
                best[low : low + step, t] = highest
                winners[low : low + step, t] = row[first].to(torch.int32)
        return best, winners

    def pull_back(
        self, points: Points, queries: LocalEdges, keys: LocalEdges, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradient to the vectors, [N, D]: only the winning pair of each query edge and local graph receives one."""
        h = points.vectors
        leaf, total = h.detach().requires_grad_(), torch.zeros_like(h)
        ends, key_ends = (side.ends_on(h.device) for side in (queries, keys))
        step = max(1, BLOCK_BYTES // (16 * max(1, keys.num_local) * h.shape[1]))
        for low in range(0, len(queries), step):
            wanted = (winners[low : low + step] >= 0) & (grad[low : low + step] != 0)
            rows, columns = torch.nonzero(wanted, as_tuple=True)
            if not len(rows):
                continue
            with torch.enable_grad():
                a = edge_vectors(leaf, ends[low + rows])
                b = edge_vectors(leaf, key_ends[winners[low + rows, columns].long()])
                (part,) = torch.autograd.grad(points.measure.aligned(a, b), leaf, grad[low + rows, columns])
            total += part
        return total

    def add_mean(self, total: Tensor, way: Way, best: Tensor, share: Tensor) -> None:
        """Add to ``total``, [T, L], the mean of the best cosines of one part, Eq. (6), times its share, [T, 1].

        Where a local graph has no edge of the part, each edge counts -1, the cosine with its opposite.
        """
        queries, missing = way.queries, torch.from_numpy(way.keys.sizes == 0).to(best.device)
        rows, best = queries.rows(best.device), best.masked_fill(missing, -1)
        total += share * (self.row_sums(queries.weighted(best), rows) / rows.sizes)

    def pull_back_mean(
        self, points: Points, way: Way, best: Tensor, winners: Tensor, share: Tensor, grad: Tensor
    ) -> Tensor:
        """As :meth:`pull_back`, from the gradient to what :meth:`add_mean` adds, [T, L]."""
        queries = way.queries
        own = self.row_sums(grad * (share / queries.rows(grad.device).sizes), queries.flipped(grad.device))
        return self.pull_back(points, *way, best, winners, queries.weighted(own))

    def row_sums(self, values: Tensor, rows: Rows) -> Tensor:
        """The sum of some rows of ``values``, [Q, L], for each node, [T, L]."""
        sums: Tensor = torch.nn.functional.embedding_bag(
            rows.columns, values.contiguous(), rows.ptr, mode="sum", include_last_offset=True
        )
        return sums

    def means(self, points: Points, way: Way, budget: int) -> Tensor:
        """P M, [T, L], a part of M at a time so that it takes no more than ``budget`` bytes."""
        queries, keys = way
        step = items_within(budget, 12 * max(1, len(queries)), max(1, keys.num_local))
        rows, means = queries.rows(points.device), []
        for low in range(0, keys.num_local, step):
            best, _ = self.match(points, queries, keys.block(low, min(low + step, keys.num_local)))
            means.append(self.row_sums(queries.weighted(best), rows) / rows.sizes)
        return torch.cat(means, dim=1) if means else points.vectors.new_zeros(len(queries.ptr) - 1, 0)

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
        best, winners = [points.vectors.new_zeros(0)], [torch.empty(0, dtype=torch.int32, device=points.device)]
        for low, high, queries, keys, named in _blocks(way, asking, ptr, answers):
            values, places = self.match(points, queries, keys)
            again = torch.from_numpy(np.append(np.searchsorted(way.keys.ids, keys.ids), -1).astype(np.int32))
            places = again.to(points.device)[places.long()]  # positions among all key edges
            for a in range(low, high):
                rows = queries.columns[queries.ptr[a - low] : queries.ptr[a - low + 1]]
                chosen = torch.from_numpy(named[ptr[a] - ptr[low] : ptr[a + 1] - ptr[low]]).to(points.device)
                own = torch.from_numpy(rows.astype(np.int64)).to(points.device)
                best.append(values[own][:, chosen].reshape(-1))
                winners.append(places[own][:, chosen].reshape(-1))
        return torch.cat(best), torch.cat(winners)

    def listed_means(self, points: Points, way: Way, asking: IntArray, ptr: IntArray, answers: IntArray) -> Tensor:
        """P M of listed pairs, [n]; where one of the two nodes has no edges, the number means nothing."""
        means = [points.vectors.new_zeros(0)]
        for low, high, queries, keys, named in _blocks(way, asking, ptr, answers):
            table = self.means(points, Way(queries, keys), BLOCK_BYTES)
            owners = np.repeat(np.arange(high - low), np.diff(ptr[low : high + 1]))
            means.append(table[tuple(torch.from_numpy(index).to(points.device) for index in (owners, named))])
        return torch.cat(means)

    def distances(self, a: Tensor, b: Tensor) -> Tensor:
        """||a_t - b_l|| of every pair, [T, D] and [L, D] to [T, L], with gradients."""
        return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")

    def listed_distances(self, a: Tensor, b: Tensor, ptr: IntArray, listed: IntArray) -> Tensor:
        """||a_t - b_l|| of a_t and each b in ``listed[ptr[t]:ptr[t + 1]]``, [n]."""
        owners = torch.from_numpy(np.repeat(np.arange(len(a)), np.diff(ptr))).to(a.device)
        found: Tensor = torch.linalg.vector_norm(a[owners] - b[torch.from_numpy(listed).to(a.device)], dim=1)
        return found

    def top(self, overall: Tensor, count: int) -> Tensor:
        """Positions of the ``count`` largest of each row, largest first, [T, count]; ties go to the first."""
        if few_wanted(overall, count) and overall.dtype == torch.float32:
            return largest_by_keys(overall, count)
        order = torch.sort(overall, dim=1, descending=True, stable=True).indices
        return order[:, :count]

    def search(self, comparison: Comparison, count: int, budget: int) -> Nearest | None:
        """The ``count`` nearest cases of each query without comparing all; None: comparing all is the better way."""
        return None


TORCH = Backend()


def backend_for(vectors: Tensor) -> Backend:
    """Numba on the CPU, Triton on CUDA, plain PyTorch for the rest (other devices and other precisions)."""
    if vectors.dtype == torch.float32:
        if vectors.device.type == "cpu":
            from se_gnn.similarity.cpu.backend import CPU  # here, because it imports this module

            return CPU
        if vectors.device.type == "cuda" and has_triton():
            from se_gnn.similarity.cuda.backend import CUDA  # only on machines with Triton

            return CUDA
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


def few_wanted(overall: Tensor, count: int) -> bool:
    """Whether the ``count`` largest of each row are found faster than by sorting it."""
    return count <= max(FEW, overall.shape[1] // SHARE)


def largest_by_keys(overall: Tensor, count: int) -> Tensor:
    """Positions of each row's ``count`` largest, largest first, without sorting the row; ties go to the first.

    A key is one whole number, the similarity above the position: no two are equal, so that their order is one.
    """
    width = overall.shape[1]
    bits = (overall + 0.0).view(torch.int32)  # -0.0 becomes 0.0
    ascending = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    places = torch.arange(width - 1, -1, -1, device=overall.device)
    keys = (ascending << 32) | places
    return width - 1 - (keys.topk(min(count, width), dim=1).values & 0xFFFFFFFF)


def _blocks(
    way: Way, asking: IntArray, ptr: IntArray, answers: IntArray
) -> Iterator[tuple[int, int, LocalEdges, LocalEdges, IntArray]]:
    """Some nodes that ask, ``low`` to ``high``, their edges, the local graphs listed for any, and which those are."""
    for low in range(0, len(asking), LISTED):
        high = min(low + LISTED, len(asking))
        columns, named = np.unique(answers[ptr[low] : ptr[high]], return_inverse=True)
        yield low, high, way.queries.select(asking[low:high]), way.keys.select(columns), named
