"""Local structure similarity, Eq. (6): the mean similarity of an edge with its best match.

Matching does not depend on the target: `M[e, l]`, the similarity of edge e with its best match in the local graph of
l, is found once per edge, and `S = P M` with `P` the row-normalized membership of edges in the targets' local graphs.
Shapes: T targets, L labeled nodes, Q distinct edges of the targets.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.progress import tiles
from se_gnn.similarity.kernels import numba_cpu
from se_gnn.similarity.kernels.dispatch import has_triton, kernel_for
from se_gnn.similarity.kernels.numba_cpu import NodeProducts
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.matching import match_edges
from se_gnn.similarity.memory import items_within, memory_budget

CHUNK_BYTES = 1 << 27  # matches held at a time on the CPU: more would only cost memory


@dataclass(frozen=True, eq=False)
class StructurePlan:
    r"""One direction: every edge of each target is matched in the local graph of each labeled node.

    ``columns`` are the positions of a target's edges among the queries.

    Shapes:
        - **ptr:** :math:`(T + 1,)`, **columns:** :math:`(\sum_t |E_t|,)`
    """

    matching: MatchPlan
    ptr: IntArray
    columns: Int32Array
    labeled_sizes: IntArray  # [L], edges in each labeled node's local graph
    _devices: dict[tuple[str, torch.device], Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(cls, edges: IntArray, targets: LocalGraphs, labeled: LocalGraphs) -> StructurePlan:
        """Plan the comparison of ``targets`` with ``labeled``."""
        queries = targets.union()
        matching = MatchPlan.build(edges, queries, labeled)
        return cls(matching, targets.ptr, targets.positions(queries), labeled.sizes)

    def block(self, low: int, high: int) -> StructurePlan:
        """The same targets with the labeled nodes ``low`` to ``high`` alone."""
        part = StructurePlan(self.matching.block(low, high), self.ptr, self.columns, self.labeled_sizes[low:high])
        part._devices.update({key: held for key, held in self._devices.items() if key[0] != "sizes"})
        return part

    def defined(self, device: torch.device) -> Tensor:
        """Where both nodes have edges, [T, L], on a device."""
        if ("sizes", device) not in self._devices:
            sizes = (np.diff(self.ptr), self.labeled_sizes)
            self._devices["sizes", device] = tuple(torch.tensor(size > 0, device=device) for size in sizes)
        targets, labeled = self._devices["sizes", device]
        pairs: Tensor = targets[:, None] & labeled[None, :]
        return pairs

    def mean(self, device: torch.device) -> SparseMatrix:
        """P, row-normalized membership, [T, Q], on a device; moved there once."""
        if ("mean", device) not in self._devices:
            sizes = np.diff(self.ptr)
            weights = np.repeat(1 / np.maximum(sizes, 1), sizes)
            shape = (len(sizes), self.matching.num_queries)
            matrix = sp.csr_array((weights, self.columns, self.ptr), shape=shape)
            self._devices["mean", device] = SparseMatrix.from_scipy(matrix, device)
        found: SparseMatrix = self._devices["mean", device]
        return found

    def rows(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """``ptr`` and ``columns`` on a device; moved there once."""
        if ("rows", device) not in self._devices:
            arrays = (self.ptr, self.columns)
            self._devices["rows", device] = tuple(torch.tensor(array, device=device) for array in arrays)
        found: tuple[Tensor, Tensor] = self._devices["rows", device]
        return found


@dataclass(frozen=True, eq=False)
class EdgeMatching:
    r"""Best matches of the distinct edges of all targets, by the edges' ids: what explanations are read from.

    Shapes:
        - **edge_ids** (of the queries, ascending): :math:`(Q,)`
        - **similarity**, **matched_ids** (-1 where a local graph has no edge): :math:`(Q, L)`
        - **ptr:** :math:`(T + 1,)`, **columns** (rows of a target's edges): :math:`(\sum_t |E_t|,)`
    """

    plan: MatchPlan
    similarity: FloatArray
    winners: Int32Array  # positions among ``plan.key_ids``
    ptr: IntArray
    columns: Int32Array

    @property
    def edge_ids(self) -> IntArray:
        """Ids of the matched edges, [Q]."""
        return self.plan.query_ids

    @cached_property
    def matched_ids(self) -> IntArray:
        """Id of the best match of each edge in each local graph, [Q, L]; -1 where that has no edge."""
        return np.append(self.plan.key_ids, -1)[self.winners]

    def matched(self, rows: Int32Array | IntArray, position: int) -> IntArray:
        """Ids of the best matches of some edges in one local graph, [M]: a part of ``matched_ids``."""
        winners = self.winners[rows, position]
        known = winners >= 0
        ids = np.full(len(winners), -1, np.int64)
        ids[known] = self.plan.key_ids[winners[known]]
        return ids

    def rows(self, i: int) -> Int32Array:
        """Where the edges of the i-th target stand, in the order of their ids, [M]."""
        return self.columns[self.ptr[i] : self.ptr[i + 1]]


def structure_similarity(
    h: Tensor,
    plan: StructurePlan,
    measure: Measure,
    *,
    max_memory: int | str | None = None,
    products: NodeProducts | None = None,
) -> Tensor:
    """s^e(v_t, v_l), Eq. (6), [T, L]; -inf where one of the two nodes has no edges and so no structure.

    ``products`` are those of :func:`both_products`; None: they are computed.
    """
    if h.requires_grad and torch.is_grad_enabled():
        best, _ = match_edges(h, plan.matching, measure)  # [Q, L]
        similarity = plan.mean(h.device) @ best.masked_fill(torch.isneginf(best), 0)
    else:
        similarity = _streamed(h, plan, measure, memory_budget(max_memory, h.device), products)
    return similarity.masked_fill(~plan.defined(h.device), -torch.inf)


def structure_with_matches(h: Tensor, plan: StructurePlan, measure: Measure) -> tuple[Tensor, EdgeMatching]:
    """As :func:`structure_similarity`, with all best matches kept."""
    best, winners = kernel_for(h).match_edges(h.detach(), plan.matching, measure)
    similarity = _mean_of_edges(best, plan).masked_fill(~plan.defined(h.device), -torch.inf)
    arrays = (best.cpu().numpy(), winners.cpu().numpy())
    return similarity, EdgeMatching(plan.matching, *arrays, plan.ptr, plan.columns)


def both_products(
    h: Tensor, forward: StructurePlan, back: StructurePlan, measure: Measure
) -> tuple[NodeProducts | None, NodeProducts | None]:
    """What both directions can share: on the CPU, the products of nodes, unless they are too many to be held."""
    if kernel_for(h) is not numba_cpu:
        return None, None
    return numba_cpu.shared_products(h, forward.matching, back.matching, measure) or (None, None)


def _streamed(h: Tensor, plan: StructurePlan, measure: Measure, budget: int, products: NodeProducts | None) -> Tensor:
    """P M with a part of M at a time: some queries on the CPU, some local graphs on a device. Sums keep their order."""
    num_queries, num_local = plan.matching.num_queries, plan.matching.num_local
    if h.device.type != "cpu":
        step = items_within(budget, 12 * max(1, num_queries), max(1, num_local))
        plan.matching.on(h.device)  # so that the blocks share it
        plan.rows(h.device)
        parts = [plan.block(low, min(low + step, num_local)) for low in range(0, num_local, step)]
        means = [_mean_of_edges(kernel_for(h).match_edges(h.detach(), p.matching, measure)[0], p) for p in parts]
        return torch.cat(means, dim=1) if means else h.new_zeros(len(plan.ptr) - 1, 0)
    sums = np.zeros((len(plan.ptr) - 1, num_local), np.float32)
    cursor = plan.ptr[:-1].copy()
    step = items_within(min(budget, CHUNK_BYTES), 8 * max(1, num_local), max(1, num_queries))
    for part in tiles(num_queries, step, unit="edge"):
        queries = dataclasses.replace(
            plan.matching, query_ids=plan.matching.query_ids[part], query_ends=plan.matching.query_ends[part]
        )
        if products is None:
            best, _ = kernel_for(h).match_edges(h.detach(), queries, measure)
        else:
            best, _ = numba_cpu.match_edges(h, queries, measure, products=products.part(part))
        _add_members(best.numpy(), part.start, plan.columns, plan.ptr, cursor, sums)
    return torch.from_numpy(_divided(sums, plan.ptr))


def _mean_of_edges(best: Tensor, plan: StructurePlan) -> Tensor:
    """P M, [T, L]; what stands in columns without edges is masked by the caller."""
    if best.device.type == "cpu":
        sums = np.zeros((len(plan.ptr) - 1, best.shape[1]), np.float32)
        _add_members(best.numpy(), 0, plan.columns, plan.ptr, plan.ptr[:-1].copy(), sums)
        return torch.from_numpy(_divided(sums, plan.ptr))
    if best.device.type == "cuda" and has_triton():
        from se_gnn.similarity.kernels.triton_gpu import segment_mean  # there where Triton is

        return segment_mean(best, *plan.rows(best.device))
    return plan.mean(best.device) @ best.masked_fill(torch.isneginf(best), 0)


def _divided(sums: FloatArray, ptr: IntArray) -> FloatArray:
    sums /= np.maximum(np.diff(ptr), 1).astype(np.float32)[:, None]
    return sums


@numba.njit(parallel=True, cache=True)
def _add_members(
    best: FloatArray, low: int, columns: Int32Array, ptr: IntArray, cursor: IntArray, sums: FloatArray
) -> None:
    """Add to each target the rows of its edges that lie in this part."""
    high = low + len(best)
    for t in numba.prange(len(sums)):
        i = cursor[t]
        while i < ptr[t + 1] and columns[i] < high:
            row = columns[i] - low
            for c in range(sums.shape[1]):
                sums[t, c] += best[row, c]
            i += 1
        cursor[t] = i
