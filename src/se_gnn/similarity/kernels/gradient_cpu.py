"""Gradient of edge matching on the CPU: through the winning pairs alone, every sum in a fixed order.

Shapes: N nodes, Q query edges, K key edges, L local graphs, D dimensions.
"""

from __future__ import annotations

import numba
import numpy as np

from se_gnn.config import Measure
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.kernels.rounding import TINY


def pull_back(
    h: FloatArray, plan: MatchPlan, measure: Measure, best: FloatArray, winners: Int32Array, grad: FloatArray
) -> FloatArray:
    """Gradient to the embeddings, [N, D], from that to the best similarities, [Q, L]."""
    queries, keys = _midpoints(h, plan.query_ends), _midpoints(h, plan.key_node_ends)
    query_norms, key_norms = _lengths(queries), _lengths(keys)
    distance = measure == "distance"
    cross = np.empty_like(grad)  # weight of the partner's vector
    own_query = np.empty_like(grad)  # weight of the query's own vector
    own_key = np.empty_like(grad)
    _pair_weights(best, winners, grad, query_norms, key_norms, distance, cross, own_query, own_key)
    grad_h = np.zeros_like(h)
    grad_queries = np.empty_like(queries)
    _pull_queries(keys, winners, cross, own_query.sum(axis=1), queries, grad_queries)
    _add_to_ends(grad_h, plan.query_ends, grad_queries)
    order, key_ptr = _by_key(winners.ravel(), len(keys))
    grad_keys = np.empty_like(keys)
    _pull_keys(queries, cross.ravel(), own_key.ravel(), order, key_ptr, winners.shape[1], keys, grad_keys)
    _add_to_ends(grad_h, plan.key_node_ends, grad_keys)
    return grad_h


def _midpoints(h: FloatArray, ends: IntArray) -> FloatArray:
    return (h[ends[:, 0]] + h[ends[:, 1]]) / np.float32(2)


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _lengths(vectors: FloatArray) -> FloatArray:
    """Length of each vector; not to be called by compiled code, see `numba_cpu.py`."""
    lengths = np.empty(len(vectors), np.float32)
    for i in range(len(vectors)):
        total = np.float32(0)
        for d in range(vectors.shape[1]):
            total += vectors[i, d] * vectors[i, d]
        lengths[i] = max(np.sqrt(total), TINY)
    return lengths


@numba.njit(parallel=True, cache=True)
def _pair_weights(
    best: FloatArray,
    winners: Int32Array,
    grad: FloatArray,
    query_norms: FloatArray,
    key_norms: FloatArray,
    distance: bool,
    cross: FloatArray,
    own_query: FloatArray,
    own_key: FloatArray,
) -> None:
    """Gradient of a pair (a, b) as ``cross * b + own_query * a`` to a and ``cross * a + own_key * b`` to b."""
    for q in numba.prange(len(winners)):
        for t in range(winners.shape[1]):
            key, g, value = winners[q, t], grad[q, t], best[q, t]
            if key < 0 or g == 0 or (distance and value == 0):  # two equal edges: the distance has no slope there
                cross[q, t] = own_query[q, t] = own_key[q, t] = 0
            elif distance:  # d(-|a - b|) / da = (b - a) / |a - b|
                cross[q, t] = -g / value
                own_query[q, t] = own_key[q, t] = g / value
            else:  # d cos / da = (b / |b| - cos a / |a|) / |a|
                a, b = query_norms[q], key_norms[key]
                cross[q, t] = g / (a * b)
                own_query[q, t] = -g * value / (a * a)
                own_key[q, t] = -g * value / (b * b)


@numba.njit(parallel=True, cache=True)
def _pull_queries(
    keys: FloatArray, winners: Int32Array, cross: FloatArray, own: FloatArray, queries: FloatArray, out: FloatArray
) -> None:
    for q in numba.prange(len(queries)):
        total = own[q] * queries[q]
        for t in range(winners.shape[1]):
            weight = cross[q, t]
            if weight != 0:
                key = winners[q, t]
                for d in range(len(total)):
                    total[d] += weight * keys[key, d]
        out[q] = total


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
        out[k] = total + weight_own * keys[k]


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
