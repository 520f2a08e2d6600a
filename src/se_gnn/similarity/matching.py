"""Edge matching as one differentiable operation; which kernel runs is decided by where the embeddings are."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.similarity.kernels.dispatch import kernel_for
from se_gnn.similarity.kernels.plan import MatchPlan


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
    best, winners = _MatchEdges.apply(h, plan, measure)  # type: ignore[no-untyped-call]
    return best, winners


class _MatchEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
        best, winners = kernel_for(h).match_edges(h.detach(), plan, measure)
        ctx.save_for_backward(h, best, winners)
        ctx.plan, ctx.measure = plan, measure
        ctx.mark_non_differentiable(winners)
        return best, winners

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        h, best, winners = ctx.saved_tensors
        gradient = kernel_for(h).match_edges_backward(h.detach(), ctx.plan, ctx.measure, best, winners, grad)
        return gradient, None, None
