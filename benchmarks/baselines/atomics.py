"""Gradients and sparse products on a CUDA device in no fixed order: what the deterministic ones are measured against.

Threads that write to the same place add in whichever order they arrive (atomics), and sparse products are cuSPARSE's.
Shapes: Q query edges, K key edges, L local graphs, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.graph import sparse
from se_gnn.similarity.backend import Points
from se_gnn.similarity.cuda.backend import CudaBackend
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import LocalEdges
from se_gnn.similarity.measure import EPS


@contextmanager
def in_no_fixed_order() -> Iterator[None]:
    """Train by atomics and by cuSPARSE."""
    with (
        mock.patch.object(CudaBackend, "pull_back", lambda _, *given: pull_back(*given)),
        mock.patch.object(sparse, "csr_product", torch.matmul),
    ):
        yield


def pull_back(
    points: Points, queries: LocalEdges, keys: LocalEdges, best: Tensor, winners: Tensor, grad: Tensor
) -> Tensor:
    """As the backend's own: one program takes a query edge through all local graphs."""
    h, both_ends = points.vectors.contiguous(), [side.ends_on(points.device) for side in (queries, keys)]
    asking, answering = (edge_vectors(h, ends) for ends in both_ends)
    grads = torch.zeros_like(asking), torch.zeros_like(answering)
    norms = [x.norm(dim=1).clamp_min(EPS) for x in (asking, answering)]
    columns = [x.T.contiguous() for x in (best, winners, grad)]  # [L, Q]
    _backward[(len(queries),)](
        asking, answering, *norms, *columns, *grads, len(queries), keys.num_local, h.shape[1],
        UNIT=points.measure.unit, DEPTH=max(16, triton.next_power_of_2(h.shape[1])), num_warps=1,
    )  # fmt: skip
    grad_h = torch.zeros_like(h)
    for ends, values in zip(both_ends, grads):
        for end in (0, 1):
            grad_h.index_add_(0, ends[:, end], values, alpha=0.5)
    return grad_h


@triton.jit
def _backward(
    queries, keys, query_norms, key_norms, best, winners, grad, grad_queries,
    grad_keys, num_queries, num_local, depth,
    UNIT: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    q = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, DEPTH)
    inside = d < depth
    a = tl.load(queries + q * depth + d, mask=inside, other=0.0)
    length = tl.load(query_norms + q)
    total = tl.zeros([DEPTH], tl.float32)
    for t in range(num_local):
        place = tl.cast(t, tl.int64) * num_queries + q
        g = tl.load(grad + place)
        key = tl.load(winners + place).to(tl.int64)
        value = tl.load(best + place)
        if (key >= 0) & (g != 0):
            b = tl.load(keys + key * depth + d, mask=inside, other=0.0)
            if UNIT:
                other = tl.load(key_norms + key)
                total += g * (b / other - value * a / length) / length
                tl.atomic_add(grad_keys + key * depth + d, g * (a / length - value * b / other) / other, mask=inside)
            else:
                slope = tl.where(value == 0, 0.0, -g / tl.where(value == 0, 1.0, value))
                total += slope * (b - a)
                tl.atomic_add(grad_keys + key * depth + d, slope * (a - b), mask=inside)
    tl.store(grad_queries + q * depth + d, total, mask=inside)
