"""Node similarity, Eq. (2), and similarity of aligned vectors. Shapes: T targets, L labeled nodes, D dimensions."""

from __future__ import annotations

import torch
from torch import Tensor

from se_gnn.config import Measure

EPS = 1e-12  # a shorter vector counts as this long


def all_pairs(a: Tensor, b: Tensor, measure: Measure) -> Tensor:
    """sim(a_t, b_l) of every pair, Eq. (2): [T, D] and [L, D] to [T, L].

    Distances are taken from the differences, not from a matrix product: equal vectors have distance 0 exactly.
    """
    if measure == "distance":
        return -torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    unit = torch.nn.functional.normalize
    return unit(a, dim=1, eps=EPS) @ unit(b, dim=1, eps=EPS).T


def aligned(a: Tensor, b: Tensor, measure: Measure) -> Tensor:
    """sim(a, b) along the last dimension: [..., D] and [..., D] to [...]."""
    if measure == "distance":
        distance: Tensor = torch.linalg.vector_norm(a - b, dim=-1)
        return -distance
    cosine: Tensor = torch.nn.functional.cosine_similarity(a, b, dim=-1, eps=EPS)
    return cosine
