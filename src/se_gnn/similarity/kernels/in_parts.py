"""Edges that match only edges of their own part: those of the same role, seen from the center, and of the same type.

A part is compared as if it were the whole local graph, by any kernel, and the mean of Eq. (6) runs over all parts:
`S = sum over parts p of share_p * (P_p M_p)`, with the share of a target's edges (or of their weights) that part p
has. So "match once per edge" holds: `M_p[e, l]` is found once for each edge *in each part it has*. Where a target has
edges of a part and a labeled node has none, each of them counts as `sim(e, -e)`, the similarity with its opposite.
Shapes: T nodes that ask, L nodes that answer, Q queries of all parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.edge import edge_vectors
from se_gnn.similarity.kernels.mean import edge_mean
from se_gnn.similarity.kernels.one_way import OneWay, both_have_edges
from se_gnn.similarity.measure import Measure


@dataclass(frozen=True, eq=False)
class PartedWay:
    r"""One direction of a comparison, part by part; the queries of a part come after those of the parts before it.

    Shapes:
        - **ptr:** :math:`(T + 1,)`, **columns** (queries of a node's edges, in the order of the edges):
          :math:`(\sum_t |E_t|,)`
        - **shares:** of each part :math:`(T,)`
        - **answer_sizes** (edges of each local graph that answers, of all parts): :math:`(L,)`
    """

    ways: tuple[OneWay, ...]
    ptr: IntArray
    columns: Int32Array
    shares: tuple[FloatArray, ...]
    answer_sizes: IntArray
    _with_edges: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(
        cls, edges: IntArray, asking: LocalGraphs, answering: LocalGraphs, weights: FloatArray | None = None
    ) -> PartedWay:
        """Plan the matching of the edges of ``asking`` in ``answering``, both with parts."""
        assert asking.parts is not None
        assert answering.parts is not None
        names = np.unique(asking.parts).tolist()
        some = [asking.of_part(part) for part in names]
        ways = [OneWay.build(edges, own, answering.of_part(part), weights) for part, own in zip(names, some)]
        columns, first = np.empty(len(asking.edge_ids), np.int32), 0
        for part, way in zip(names, ways):
            columns[asking.parts == part] = way.columns + first
            first += way.num_queries
        return cls._of(ways, asking.ptr, columns, answering.sizes)

    @classmethod
    def _of(cls, ways: list[OneWay], ptr: IntArray, columns: Int32Array, answer_sizes: IntArray) -> PartedWay:
        sums = [way.sums() for way in ways]
        total = np.zeros(len(ptr) - 1, np.float32)
        for own in sums:  # one after the other: np.sum adds in another order where there is one target alone
            total += own
        shares = tuple((own / np.where(total > 0, total, 1)).astype(np.float32) for own in sums)
        return cls(tuple(ways), ptr, columns, shares, answer_sizes)

    @property
    def num_queries(self) -> int:
        """Q: an edge counts once for each part that it has."""
        return sum(way.num_queries for way in self.ways)

    def answering(self, low: int, high: int) -> PartedWay:
        """With the nodes that answer from ``low`` to ``high`` alone."""
        ways = tuple(way.answering(low, high) for way in self.ways)
        return PartedWay(ways, self.ptr, self.columns, self.shares, self.answer_sizes[low:high])

    def asking(self, low: int, high: int) -> PartedWay:
        """With the nodes that ask from ``low`` to ``high`` alone."""
        ways = [way.asking(low, high) for way in self.ways]
        some, ptr = self.columns[self.ptr[low] : self.ptr[high]], self.ptr[low : high + 1] - self.ptr[low]
        kept, columns = np.unique(some, return_inverse=True)  # each way keeps its queries in their order
        assert len(kept) == sum(way.num_queries for way in ways)
        return PartedWay._of(ways, ptr, columns.astype(np.int32), self.answer_sizes)

    def defined(self, device: torch.device) -> Tensor:
        """Where both nodes have edges, [T, L], on a device."""
        return both_have_edges(self._with_edges, self.ptr, self.answer_sizes, device)

    def joined(self, h: Tensor, means: list[Tensor], measure: Measure) -> Tensor:
        """The mean over all parts from the mean of each, [T, L]."""
        total = h.new_zeros(len(self.ptr) - 1, len(self.answer_sizes))
        for way, mean, share in zip(self.ways, means, self.shares):
            missing = way.answer_sizes == 0
            if missing.any():
                lowest = edge_mean(floor(h, way, measure)[:, None], way)
                mean = torch.where(torch.from_numpy(missing).to(h.device), lowest, mean)
            total = total + torch.from_numpy(share).to(h.device)[:, None] * mean
        return total


def floor(h: Tensor, way: OneWay, measure: Measure) -> Tensor:
    """What each query has in a local graph without an edge of its part, [Q]."""
    return measure.of_opposite(edge_vectors(h, way.matching.on(h.device).query_ends))
