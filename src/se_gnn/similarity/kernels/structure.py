"""Structure similarity, Eq. (3)-(6), in one call: both directions, with or without gradients, with or without matches.

Which kernel runs is decided here, by where the embeddings are. Shapes: T targets, L labeled nodes, Q query edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import has_triton
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.in_parts import PartedWay, floor
from se_gnn.similarity.kernels.kernel import Kernel
from se_gnn.similarity.kernels.mean import edge_mean, edge_sums, weighted_edge_mean
from se_gnn.similarity.kernels.numba_cpu import CpuKernel
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.kernels.torch_any import TorchKernel
from se_gnn.similarity.measure import Measure
from se_gnn.similarity.memory import memory_budget

if TYPE_CHECKING:
    from se_gnn.similarity.plan import ComparisonPlan

Way = OneWay | PartedWay


@dataclass(frozen=True, slots=True, eq=False)
class EdgeMatching:
    r"""Best matches of the distinct edges of all nodes that ask, by the edges' ids: what explanations are read from.

    Shapes:
        - **edge_ids** (ascending, within each part where edges have parts): :math:`(Q,)`
        - **similarity**, **matched_ids** (-1 where a local graph has no edge that may match): :math:`(Q, L)`
        - **ptr:** :math:`(T + 1,)`, **columns** (rows of a node's edges): :math:`(\sum_t |E_t|,)`
    """

    edge_ids: IntArray
    similarity: FloatArray
    matched_ids: Int32Array
    ptr: IntArray
    columns: Int32Array

    @classmethod
    def of(cls, way: OneWay, best: Tensor, winners: Tensor) -> EdgeMatching:
        """Name the winners of a kernel by the ids of their edges."""
        plan = way.matching
        ids = np.append(plan.key_ids, -1).astype(np.int32)  # no winner, -1, is the last
        return cls(plan.query_ids, best.cpu().numpy(), ids[winners.cpu().numpy()], way.ptr, way.columns)

    @classmethod
    def of_parts(cls, way: PartedWay, parts: list[EdgeMatching]) -> EdgeMatching:
        """The queries of all parts one under the other: an edge has a row for each part that it has."""
        width = len(way.answer_sizes)
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.edge_ids for part in parts)]),
            np.concatenate([np.empty((0, width), np.float32), *(part.similarity for part in parts)]),
            np.concatenate([np.empty((0, width), np.int32), *(part.matched_ids for part in parts)]),
            way.ptr,
            way.columns,
        )

    def rows(self, i: int) -> Int32Array:
        """Where the edges of the i-th node stand, in the order of their ids, [M]."""
        return self.columns[self.ptr[i] : self.ptr[i + 1]]

    def matched(self, rows: Int32Array | IntArray, position: int) -> IntArray:
        """Ids of the best matches of some edges in the local graph at ``position``; -1 where that has no edge."""
        ids: IntArray = self.matched_ids[rows, position].astype(np.int64)
        return ids


def structure_similarity(
    h: Tensor,
    plan: ComparisonPlan,
    *,
    max_memory: int | str | None = None,
    edge_weights: Tensor | None = None,
    origin: Tensor | None = None,
) -> Tensor:
    """s^e(v_t, v_l), Eq. (6), [T, L]; -inf where one of the two nodes has no edges and so no structure.

    With ``edge_weights``, [E], each edge counts with its weight in the mean. Distances are computed from ``origin``,
    [D]; None: that of ``h``.
    """
    origin = plan.measure.origin(h) if origin is None else origin
    h = plan.vectors(h)
    if edge_weights is not None or (h.requires_grad and torch.is_grad_enabled()):
        forward = _learned(h, plan.forward, plan.measure, origin, edge_weights)
        back = None if plan.backward is None else _learned(h, plan.backward, plan.measure, origin, edge_weights)
    else:
        forward, back = _means(
            h.detach(), plan.forward, plan.backward, plan.measure, origin, memory_budget(max_memory, h.device)
        )
    return _both_ways(plan, forward, back)


def structure_with_matches(
    h: Tensor, plan: ComparisonPlan, *, max_memory: int | str | None = None, keep_back: bool = False
) -> tuple[Tensor, EdgeMatching, EdgeMatching | None]:
    """As :func:`structure_similarity`, with the best matches of the targets' edges kept; no gradients.

    With ``keep_back`` those of the labeled nodes' edges as well, where both directions count.
    """
    origin = plan.measure.origin(h)
    h = plan.vectors(h).detach()
    forward, matching = _kept(h, plan.forward, plan.measure, origin)
    back, matching_back = None, None
    if plan.backward is not None and keep_back:
        back, matching_back = _kept(h, plan.backward, plan.measure, origin)
    elif plan.backward is not None:
        back, _ = _means(h, plan.backward, None, plan.measure, origin, memory_budget(max_memory, h.device))
    return _both_ways(plan, forward, back), matching, matching_back


def can_record(device: torch.device) -> bool:
    """Whether a comparison on a device may be part of a CUDA graph: nothing in it waits for the host."""
    return device.type == "cuda" and has_triton()


def match_edges(h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
    """Best match of each query edge in each local graph, Eq. (3)-(5).

    Args:
        h: node embeddings.
        plan: which edges ask and which local graphs answer.
        measure: sim(a, b).

    Returns:
        Similarity of the best match, with a gradient to ``h``, and its position among ``plan.key_ids``. Where a local
        graph has no edge: -inf and -1. Of equally similar edges the one with the lowest id wins.

    Shapes:
        - **h:** :math:`(N, D)`
        - **output:** :math:`(Q, L)` each
    """
    return _match_edges(h, plan, measure, measure.origin(h))


def _match_edges(h: Tensor, plan: MatchPlan, measure: Measure, origin: Tensor) -> tuple[Tensor, Tensor]:
    best, winners = _MatchEdges.apply(h, plan, measure, origin)  # type: ignore[no-untyped-call]
    return best, winners


class _MatchEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, plan: MatchPlan, measure: Measure, origin: Tensor) -> tuple[Tensor, Tensor]:
        best, winners = _kernel_for(h).match(h.detach(), plan, measure, origin)
        ctx.save_for_backward(h, best, winners)
        ctx.plan, ctx.measure = plan, measure
        ctx.mark_non_differentiable(winners)
        return best, winners

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
        h, best, winners = ctx.saved_tensors
        return _kernel_for(h).pull_back(h.detach(), ctx.plan, ctx.measure, best, winners, grad), None, None, None


def _means(
    h: Tensor, forward: Way, backward: Way | None, measure: Measure, origin: Tensor, budget: int
) -> tuple[Tensor, Tensor | None]:
    """The mean of Eq. (6) there, [T, L], and back, [L, T]; no gradients."""
    kernel = _kernel_for(h)
    if isinstance(forward, OneWay) and not isinstance(backward, PartedWay):
        return kernel.means(h, forward, backward, measure, origin, budget)
    there, back = (
        way.joined(h, [kernel.means(h, one, None, measure, origin, budget)[0] for one in way.ways], measure)
        if isinstance(way, PartedWay)
        else None
        for way in (forward, backward)
    )
    assert there is not None
    return there, back


def _learned(h: Tensor, way: Way, measure: Measure, origin: Tensor, edge_weights: Tensor | None) -> Tensor:
    if edge_weights is not None:
        return _weighted(h, way, measure, origin, edge_weights)
    if isinstance(way, PartedWay):
        return way.joined(h, [_learned(h, one, measure, origin, None) for one in way.ways], measure)
    return edge_mean(_match_edges(h, way.matching, measure, origin)[0], way)


def _weighted(h: Tensor, way: Way, measure: Measure, origin: Tensor, edge_weights: Tensor) -> Tensor:
    """The mean of Eq. (6) in which an edge counts with its weight, times the one that it carries, [T, L]."""
    if isinstance(way, OneWay):
        best, _ = _match_edges(h, way.matching, measure, origin)  # [Q, L]
        return weighted_edge_mean(best, way, _counts(way, edge_weights))
    sums = h.new_zeros(len(way.ptr) - 1, len(way.answer_sizes))
    total = h.new_zeros(len(way.ptr) - 1)
    for one in way.ways:
        counts = _counts(one, edge_weights)
        mean = _weighted(h, one, measure, origin, edge_weights)
        missing = one.answer_sizes == 0
        if missing.any():
            lowest = weighted_edge_mean(floor(h, one, measure)[:, None], one, counts)
            mean = torch.where(torch.from_numpy(missing).to(h.device), lowest, mean)
        own = edge_sums(one, counts)  # [T]
        sums, total = sums + own[:, None] * mean, total + own
    return sums / torch.where(total > 0, total, 1)[:, None]


def _counts(way: OneWay, edge_weights: Tensor) -> Tensor:
    """How much each query counts, [Q]."""
    counts = edge_weights[torch.from_numpy(way.matching.query_ids).to(edge_weights.device)]
    return counts if way.weights is None else counts * torch.from_numpy(way.weights).to(counts.device)


def _kept(h: Tensor, way: Way, measure: Measure, origin: Tensor) -> tuple[Tensor, EdgeMatching]:
    if isinstance(way, PartedWay):
        means, parts = [], []
        without_edges = torch.from_numpy(way.answer_sizes == 0).to(h.device)  # [L]: there is nothing to match at all
        for one in way.ways:
            best, winners = _kernel_for(h).match(h, one.matching, measure, origin)
            means.append(edge_mean(best, one))
            best = torch.where((winners >= 0) | without_edges, best, floor(h, one, measure)[:, None])
            parts.append(EdgeMatching.of(one, best, winners))
        return way.joined(h, means, measure), EdgeMatching.of_parts(way, parts)
    best, winners = _kernel_for(h).match(h, way.matching, measure, origin)
    return edge_mean(best, way), EdgeMatching.of(way, best, winners)


def _both_ways(plan: ComparisonPlan, forward: Tensor, back: Tensor | None) -> Tensor:
    """The mean of both directions where both count, [T, L]; -inf where there is no structure."""
    if plan.both:
        back = forward if plan.same else back
        assert back is not None
        forward = (forward + back.T) / 2
    return forward.masked_fill(~plan.forward.defined(forward.device), -torch.inf)


def _kernel_for(h: Tensor) -> Kernel:
    """Numba on the CPU, Triton on CUDA, plain PyTorch for the rest (other devices and other precisions)."""
    if h.dtype == torch.float32:
        if h.device.type == "cpu":
            return CpuKernel()
        if h.device.type == "cuda" and has_triton():
            from se_gnn.similarity.kernels.triton_gpu import TritonKernel  # only on machines with Triton

            return TritonKernel()
    return TorchKernel()
