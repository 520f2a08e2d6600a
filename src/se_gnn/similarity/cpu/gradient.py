"""Gradient of edge matching on the CPU: through the winning pairs alone, every sum in a fixed order.

Shapes: N nodes, Q query edges, K key edges, L local graphs, D dimensions.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic.sums import dot_of_rows
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import KeyEdges, QueryEdges
from se_gnn.similarity.measure import EPS, Measure


def pull_back(
    h: Tensor, queries: QueryEdges, keys: KeyEdges, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
) -> Tensor:
    """Gradient to the vectors, [N, D], from that to the best similarities, [Q, L]."""
    query_ends, key_ends = queries.ends, keys.node_ends
    if not len(keys):
        return torch.zeros_like(h)
    asking, answering = (edge_vectors(h, torch.from_numpy(ends)).numpy() for ends in (query_ends, key_ends))
    lengths = (torch.from_numpy(_lengths(vectors)) for vectors in (asking, answering))
    cross, own_query, own_key = (w.numpy() for w in measure.gradient(best, grad, winners, *lengths))
    chosen = winners.numpy()
    grad_h = np.zeros(h.shape, np.float32)
    grad_queries, grad_keys = np.empty_like(asking), np.empty_like(answering)
    _pull_queries(answering, chosen, cross, own_query.sum(axis=1), asking, grad_queries)
    _add_to_ends(grad_h, query_ends, grad_queries)
    order, key_ptr = _by_key(chosen.ravel(), len(keys))
    _pull_keys(asking, cross.ravel(), own_key.ravel(), order, key_ptr, chosen.shape[1], answering, grad_keys)
    _add_to_ends(grad_h, key_ends, grad_keys)
    return torch.from_numpy(grad_h)


@numba.njit(cache=True)
def _lengths(vectors: FloatArray) -> FloatArray:
    """Length of each vector."""
    lengths = np.empty(len(vectors), np.float32)
    for i in range(len(vectors)):
        lengths[i] = max(np.sqrt(dot_of_rows(vectors, i, vectors, i)), np.float32(EPS))
    return lengths


@numba.njit(parallel=True, cache=True)
def _pull_queries(
    keys: FloatArray, winners: Int32Array, cross: FloatArray, own: FloatArray, queries: FloatArray, out: FloatArray
) -> None:
    for q in numba.prange(len(queries)):
        total = out[q]
        for d in range(len(total)):  # loops: whole rows take the compiler seconds
            total[d] = own[q] * queries[q, d]
        for t in range(winners.shape[1]):
            weight = cross[q, t]
            if weight != 0:
                key = winners[q, t]
                for d in range(len(total)):
                    total[d] += weight * keys[key, d]


@numba.njit(parallel=True, cache=True)
def _pull_keys(
    queries: FloatArray,
    cross: FloatArray,
    own: FloatArray,
    order: IntArray,
    key_ptr: IntArray,
    num_local: int,
    keys: FloatArray,
    out: FloatArray,
) -> None:
    for k in numba.prange(len(keys)):
        total = np.zeros(keys.shape[1], np.float32)
        weight_own = np.float32(0)
        for i in range(key_ptr[k], key_ptr[k + 1]):
            pair = order[i]
            weight = cross[pair]
            if weight != 0:
                weight_own += own[pair]
                query = pair // num_local
                for d in range(len(total)):
                    total[d] += weight * queries[query, d]
        for d in range(len(total)):
            out[k, d] = total[d] + weight_own * keys[k, d]


@numba.njit(cache=True)
def _by_key(winners: Int32Array, num_keys: int) -> tuple[IntArray, IntArray]:
    """Pairs grouped by their key, in order: a counting sort."""
    key_ptr = np.zeros(num_keys + 1, np.int64)
    for key in winners:
        if key >= 0:
            key_ptr[key + 1] += 1
    key_ptr = np.cumsum(key_ptr)
    slot = key_ptr[:-1].copy()
    order = np.empty(key_ptr[-1], np.int64)
    for pair in range(len(winners)):
        key = winners[pair]
        if key >= 0:
            order[slot[key]] = pair
            slot[key] += 1
    return order, key_ptr


@numba.njit(cache=True)
def _add_to_ends(grad_h: FloatArray, ends: IntArray, grad: FloatArray) -> None:
    """An edge is the mean of its two ends: each end receives half."""
    for e in range(len(ends)):
        for d in range(grad.shape[1]):
            half = grad[e, d] / 2
            grad_h[ends[e, 0], d] += half
            grad_h[ends[e, 1], d] += half
