"""Node similarity, Eq. (2), and similarity of aligned vectors. Shapes: T targets, L labeled nodes, D dimensions."""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.graph.attributed import FloatArray

EPS = 1e-12  # a shorter vector counts as this long


def all_pairs(a: Tensor, b: Tensor, measure: Measure) -> Tensor:
    """sim(a_t, b_l) of every pair, Eq. (2): [T, D] and [L, D] to [T, L].

    Both come from the differences, not from a matrix product: equal vectors have distance 0 exactly, and a pair has the
    same bits alone and among others (a product sums in an order that depends on how many rows it has).
    """
    if measure == "cosine":
        a, b = (torch.nn.functional.normalize(vectors, dim=1, eps=EPS) for vectors in (a, b))
    distance = _distances(a, b)
    if measure == "distance":
        return -distance
    lengths = a.square().sum(dim=1)[:, None] + b.square().sum(dim=1)[None, :]  # 2, or less where a vector is 0
    return (lengths - distance.square()) / 2  # a.b


def _distances(a: Tensor, b: Tensor) -> Tensor:
    """||a_t - b_l|| of every pair, [T, L]."""
    learning = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad)
    if learning or a.device.type != "cpu" or a.dtype != torch.float32:
        return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    arrays = (np.ascontiguousarray(vectors.detach().numpy()) for vectors in (a, b))
    return torch.from_numpy(_distances_on_cpu(*arrays))


@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})  # the sum runs in vector lanes
def _distances_on_cpu(a: FloatArray, b: FloatArray) -> FloatArray:
    distances = np.empty((len(a), len(b)), np.float32)
    for t in numba.prange(len(a)):
        for i in range(len(b)):
            total = np.float32(0)
            for d in range(a.shape[1]):
                total += (a[t, d] - b[i, d]) * (a[t, d] - b[i, d])
            distances[t, i] = np.sqrt(total)
    return distances


def aligned(a: Tensor, b: Tensor, measure: Measure) -> Tensor:
    """sim(a, b) along the last dimension: [..., D] and [..., D] to [...]."""
    if measure == "distance":
        distance: Tensor = torch.linalg.vector_norm(a - b, dim=-1)
        return -distance
    cosine: Tensor = torch.nn.functional.cosine_similarity(a, b, dim=-1, eps=EPS)
    return cosine
