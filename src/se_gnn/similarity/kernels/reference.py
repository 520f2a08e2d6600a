"""Edge matching as the paper writes it: slow, differentiable, and the truth that every kernel is tested against."""

from __future__ import annotations

import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.similarity.kernels.plan import MatchPlan


def similarity(a: Tensor, b: Tensor, measure: Measure) -> Tensor:
    """sim(a, b) of two vectors: their cosine, or -||a - b||; a cosine with a zero vector is 0."""
    if measure == "distance":
        distance: Tensor = torch.linalg.vector_norm(a - b)
        return -distance
    return torch.nn.functional.cosine_similarity(a, b, dim=0, eps=1e-12)


def match_edges(h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
    """Best match of each query edge in each local graph, Eq. (3)-(5).

    Returns the similarity of the best match and its position among the keys, both [Q, L]; where a local graph has no
    edge, -inf and -1. Of equally similar edges the one with the lowest id wins.
    """
    best = torch.full((plan.num_queries, plan.num_local), -torch.inf, dtype=h.dtype)
    winners = torch.full((plan.num_queries, plan.num_local), -1, dtype=torch.int32)
    key_ends = plan.key_node_ends
    rows = []
    for q, (i, j) in enumerate(plan.query_ends):
        edge = (h[i] + h[j]) / 2  # e_ij = f_e(h_i, h_j), [D]
        row = best[q]
        for t in range(plan.num_local):
            members = plan.members[plan.ptr[t] : plan.ptr[t + 1]]
            if not len(members):
                continue
            scores = torch.stack(
                [similarity(edge, (h[u] + h[v]) / 2, measure) for u, v in key_ends[members]]
            )  # sim(e_t, e_l) for every e_l of the local graph
            first = int(torch.nonzero(scores == scores.max())[0, 0])
            winners[q, t] = int(members[first])
            row = torch.where(torch.arange(plan.num_local) == t, scores[first], row)
        rows.append(row)
    return (torch.stack(rows) if rows else best), winners
