"""Edge matching in plain PyTorch, on any device: agrees with `reference.match_edges`, blocked by queries."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.node import aligned

BLOCK_BYTES = 1 << 28  # size of a block of similarities


def match_edges(h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
    """Similarity and position of the best match of each query in each local graph, [Q, L]; -inf and -1 where empty."""
    device = h.device
    index = plan.on(device)
    queries, keys = midpoints(h, index.query_ends), midpoints(h, index.key_node_ends)
    members = index.members.long()
    sizes = np.diff(plan.ptr)
    best = torch.full((plan.num_queries, plan.num_local), -torch.inf, dtype=h.dtype, device=device)
    winners = torch.full((plan.num_queries, plan.num_local), -1, dtype=torch.int32, device=device)
    step = max(1, BLOCK_BYTES // (4 * max(1, len(keys))))
    for low in range(0, plan.num_queries, step):
        scores = _all_pairs(queries[low : low + step], keys, measure)  # [B, K]
        for t in np.flatnonzero(sizes):
            row = members[plan.ptr[t] : plan.ptr[t + 1]]
            inside = scores[:, row]
            top = inside.amax(dim=1)
            first = (inside == top[:, None]).to(torch.uint8).argmax(dim=1)  # lowest id among equals
            best[low : low + step, t] = top
            winners[low : low + step, t] = row[first].to(torch.int32)
    return best, winners


def match_edges_backward(
    h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
) -> Tensor:
    """Gradient to the embeddings, [N, D], by scoring the winning pairs again, a block of queries at a time."""
    leaf = h.detach().requires_grad_()
    index = plan.on(h.device)
    total = torch.zeros_like(h)
    step = max(1, BLOCK_BYTES // (16 * max(1, plan.num_local) * h.shape[1]))
    for low in range(0, plan.num_queries, step):
        rows, columns = torch.nonzero((winners[low : low + step] >= 0) & (grad[low : low + step] != 0), as_tuple=True)
        if not len(rows):
            continue
        with torch.enable_grad():
            a = midpoints(leaf, index.query_ends[low + rows])
            b = midpoints(leaf, index.key_node_ends[winners[low + rows, columns].long()])
            value = aligned(a, b, measure)
            (part,) = torch.autograd.grad(value, leaf, grad[low + rows, columns])
        total += part
    return total


def midpoints(h: Tensor, ends: Tensor) -> Tensor:
    """Edge representations: the mean of both ends, Eq. (3), [Q, D]."""
    return (h[ends[:, 0]] + h[ends[:, 1]]) / 2


def _all_pairs(a: Tensor, b: Tensor, measure: Measure) -> Tensor:
    if measure == "distance":
        return -torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    unit = torch.nn.functional.normalize
    return unit(a, dim=1, eps=1e-12) @ unit(b, dim=1, eps=1e-12).T
