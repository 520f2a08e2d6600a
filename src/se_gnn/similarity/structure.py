"""Local structure similarity, Eq. (6): the mean similarity of an edge with its best match.

Matching does not depend on the target: `M[e, l]`, the similarity of edge e with its best match in the local graph of
l, is found once per edge, and `S = P M` with `P` the row-normalized membership of edges in the targets' local graphs.
Shapes: T targets, L labeled nodes, Q distinct edges of the targets.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.matching import match_edges

CHUNK_BYTES = 1 << 26  # matches held at a time where no gradient is needed; results do not depend on it


@dataclass(frozen=True, eq=False)
class StructurePlan:
    r"""One direction: every edge of each target is matched in the local graph of each labeled node.

    ``columns`` are the positions of a target's edges among the queries.

    Shapes:
        - **ptr:** :math:`(T + 1,)`, **columns:** :math:`(\sum_t |E_t|,)`
    """

    matching: MatchPlan
    ptr: IntArray
    columns: IntArray
    defined: Tensor  # [T, L], false where one of the two nodes has no edges

    @classmethod
    def build(
        cls, edges: IntArray, targets: LocalGraphs, labeled: LocalGraphs, device: torch.device | str = "cpu"
    ) -> StructurePlan:
        """Plan the comparison of ``targets`` with ``labeled``."""
        queries = targets.union()
        defined = (targets.sizes > 0)[:, None] & (labeled.sizes > 0)[None, :]
        return cls(
            MatchPlan.build(edges, queries, labeled),
            targets.ptr,
            np.searchsorted(queries, targets.edge_ids),
            torch.from_numpy(defined).to(device),
        )

    @cached_property
    def mean(self) -> SparseMatrix:
        """P, row-normalized membership, [T, Q]."""
        sizes = np.diff(self.ptr)
        weights = np.repeat(1 / np.maximum(sizes, 1), sizes)
        shape = (len(sizes), self.matching.num_queries)
        return SparseMatrix.from_scipy(
            sp.csr_array((weights, self.columns, self.ptr), shape=shape), self.defined.device
        )


def structure_similarity(h: Tensor, plan: StructurePlan, measure: Measure) -> Tensor:
    """s^e(v_t, v_l), Eq. (6), [T, L]; -inf where one of the two nodes has no edges and so no structure."""
    if h.requires_grad and torch.is_grad_enabled():
        best, _ = match_edges(h, plan.matching, measure)  # [Q, L]
        similarity = plan.mean @ best.masked_fill(torch.isneginf(best), 0)
    elif h.device.type == "cpu":
        similarity = _streamed(h, plan, measure)
    else:
        best, _ = match_edges(h.detach(), plan.matching, measure)
        similarity = plan.mean @ best.masked_fill(torch.isneginf(best), 0)
    return similarity.masked_fill(~plan.defined, -torch.inf)


def _streamed(h: Tensor, plan: StructurePlan, measure: Measure) -> Tensor:
    """P M, a chunk of the queries at a time, each sum in the order of the edge ids."""
    num_queries, num_local = plan.matching.num_queries, plan.matching.num_local
    sums = np.zeros((len(plan.ptr) - 1, num_local), np.float32)
    cursor = plan.ptr[:-1].copy()
    step = max(1, CHUNK_BYTES // (8 * max(1, num_local)))
    for low in range(0, num_queries, step):
        part = slice(low, low + step)
        matching = dataclasses.replace(
            plan.matching, query_ids=plan.matching.query_ids[part], query_ends=plan.matching.query_ends[part]
        )
        best, _ = match_edges(h.detach(), matching, measure)
        _add_members(best.cpu().numpy(), low, plan.columns, plan.ptr, cursor, sums)
    sums /= np.maximum(np.diff(plan.ptr), 1).astype(np.float32)[:, None]
    return torch.from_numpy(sums).to(h.device)


@numba.njit(parallel=True, cache=True)
def _add_members(
    best: FloatArray, low: int, columns: IntArray, ptr: IntArray, cursor: IntArray, sums: FloatArray
) -> None:
    """Add to each target the rows of its edges that lie in this chunk."""
    high = low + len(best)
    for t in numba.prange(len(sums)):
        i = cursor[t]
        while i < ptr[t + 1] and columns[i] < high:
            row = columns[i] - low
            for c in range(sums.shape[1]):
                sums[t, c] += best[row, c]
            i += 1
        cursor[t] = i
