"""Edge matching on the CPU: agrees with `reference.match_edges`, and stores nothing of size queries x keys.

Shapes: Q query edges, K key edges (distinct edges of the local graphs), L local graphs, P distinct ends of the keys,
D dimensions.

With mean pooling a key edge (i, j) scores `r.(h_i + h_j) / 2` against a query r, so one product of the queries with
the key *nodes* serves all key edges, and there are fewer nodes than edges. For either measure the best key of a local
graph is the largest `scale * r.(h_i + h_j) + offset`. The winners alone are scored again, exactly as the paper writes
it. Every sum runs in a fixed order, so that neither the block size nor the number of threads changes a bit.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.lanes import LANES, ROWS, argmax_lanes, product_lanes, score_lanes
from se_gnn.similarity.kernels.plan import MatchPlan

CHUNK = 3072  # keys whose scores one thread holds in its second-level cache
TINY = np.float32(1e-12)  # a shorter vector counts as this long


def match_edges(h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
    """Similarity and position of the best match of each query in each local graph, [Q, L]; -inf and -1 where empty."""
    best, winners = _match(np.ascontiguousarray(h.detach().numpy()), plan, measure)
    return torch.from_numpy(best), torch.from_numpy(winners)


def match_edges_backward(
    h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
) -> Tensor:
    """Gradient to the embeddings, [N, D]: only the winning pair of each (query, local graph) receives one."""
    arrays = (best.numpy(), winners.numpy(), np.ascontiguousarray(grad.numpy()))
    return torch.from_numpy(_pull_back(np.ascontiguousarray(h.detach().numpy()), plan, measure, *arrays))


def _match(h: FloatArray, plan: MatchPlan, measure: Measure) -> tuple[FloatArray, Int32Array]:
    queries = _midpoints(h, plan.query_ends)  # [Q, D]
    center = _center(h) if measure == "distance" else np.zeros(h.shape[1], np.float32)
    winners = _search(queries - center, h[plan.key_nodes] - center, plan, measure)  # distances stay, rounding shrinks
    best = np.empty(winners.shape, np.float32)
    keys = _midpoints(h, plan.key_node_ends)
    _score_winners(queries, keys, _lengths(queries), _lengths(keys), winners, measure == "distance", best)
    return best, winners


def _pull_back(
    h: FloatArray, plan: MatchPlan, measure: Measure, best: FloatArray, winners: Int32Array, grad: FloatArray
) -> FloatArray:
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


def _center(h: FloatArray) -> FloatArray:
    """About the mean, in steps so coarse that it comes off small whole numbers without rounding: ties stay ties."""
    largest = np.abs(h).max(initial=0)
    step = np.float32(2.0 ** (np.floor(np.log2(largest)) - 4)) if largest > 0 else np.float32(1)
    center: FloatArray = np.rint(h.mean(axis=0) / step) * step
    return center


def _search(queries: FloatArray, nodes: FloatArray, plan: MatchPlan, measure: Measure) -> Int32Array:
    """Position of the best key of each query in each local graph, [Q, L]; -1 where the local graph is empty."""
    keys = _midpoints(nodes, plan.key_ends)  # [K, D]
    if measure == "distance":  # the nearest key b has the largest 2 r.b - |b|^2
        scale, offset = np.ones(len(keys), np.float32), -np.einsum("kd,kd->k", keys, keys)
    else:  # r.b / |b|; the length of r changes no order
        scale, offset = np.float32(1) / _lengths(keys), np.zeros(len(keys), np.float32)
    padding = -len(nodes) % ROWS  # the product runs whole tiles
    nodes = np.concatenate([nodes, np.zeros((padding, nodes.shape[1]), np.float32)])
    winners = np.empty((len(queries), plan.num_local), np.int32)
    chunk_ptr, runs = _runs(plan.ptr, plan.members, len(keys))
    _segment_argmax(queries, nodes, plan.key_ends, scale, offset, chunk_ptr, runs, plan.members, winners)
    return winners


@numba.njit(cache=True)
def _runs(ptr: IntArray, members: Int32Array, num_keys: int) -> tuple[IntArray, IntArray]:
    """Where the members of each local graph lie in each chunk of keys: rows (local graph, start, end), by chunk.

    Members ascend, so those of a chunk stand together; a local graph that has none there takes no row, which keeps the
    work at the number of members, however many chunks and local graphs there are.
    """
    num_chunks = (num_keys + CHUNK - 1) // CHUNK
    counts = np.zeros(num_chunks + 1, np.int64)
    for t in range(len(ptr) - 1):
        previous = -1
        for m in range(ptr[t], ptr[t + 1]):
            chunk = members[m] // CHUNK
            if chunk != previous:
                counts[chunk + 1] += 1
                previous = chunk
    chunk_ptr = np.cumsum(counts)
    runs = np.empty((chunk_ptr[-1], 3), np.int64)
    slot = chunk_ptr[:-1].copy()
    for t in range(len(ptr) - 1):
        start = ptr[t]
        for m in range(ptr[t], ptr[t + 1]):
            chunk = members[m] // CHUNK
            if m + 1 == ptr[t + 1] or members[m + 1] // CHUNK != chunk:
                row = slot[chunk]
                runs[row, 0], runs[row, 1], runs[row, 2] = t, start, m + 1
                slot[chunk] += 1
                start = m + 1
    return chunk_ptr, runs


@numba.njit(parallel=True, cache=True)  # no fastmath: -inf must survive
def _segment_argmax(
    queries: FloatArray,
    nodes: FloatArray,
    key_ends: IntArray,
    scale: FloatArray,
    offset: FloatArray,
    chunk_ptr: IntArray,
    runs: IntArray,
    members: Int32Array,
    winners: Int32Array,
) -> None:
    """Best key of each query in each local graph, `LANES` queries at a time; ties: lowest key."""
    num_queries, depth = queries.shape
    num_keys, num_local = len(key_ends), winners.shape[1]
    for block in numba.prange((num_queries + LANES - 1) // LANES):
        low = block * LANES
        count = min(LANES, num_queries - low)
        lanes = np.zeros((depth, LANES), np.float32)
        for q in range(count):
            for d in range(depth):
                lanes[d, q] = queries[low + q, d]
        product = np.empty((len(nodes), LANES), np.float32)
        for row in range(0, len(nodes), ROWS):
            product_lanes(nodes, row, lanes, product)  # type: ignore[call-arg]
        best = np.full((num_local, LANES), -np.inf, np.float32)
        keys = np.full((num_local, LANES), -1, np.int32)
        scores = np.empty((min(num_keys, CHUNK), LANES), np.float32)
        for chunk in range(len(chunk_ptr) - 1):
            base = chunk * CHUNK
            for k in range(base, min(base + CHUNK, num_keys)):
                score_lanes(product, key_ends[k, 0], key_ends[k, 1], scale[k], offset[k], scores, k - base)  # type: ignore[call-arg]
            for r in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
                argmax_lanes(scores, base, members, runs[r, 1], runs[r, 2], best, keys, runs[r, 0])  # type: ignore[call-arg]
        for q in range(count):
            for t in range(num_local):
                winners[low + q, t] = keys[t, q]


# fastmath: a sum runs in vector lanes, in an order that the compiler chooses. Functions that do so call none that other
# compiled functions call too: each caller would hold a copy of it with an order of its own, and which copy a process
# runs depends on which caller it loads first.
@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _score_winners(
    queries: FloatArray,
    keys: FloatArray,
    query_norms: FloatArray,
    key_norms: FloatArray,
    winners: Int32Array,
    distance: bool,
    best: FloatArray,
) -> None:
    """Similarity of each query with its winners; a key that wins in many local graphs is scored once."""
    for block in numba.prange((len(queries) + LANES - 1) // LANES):
        scored = np.full(len(keys), -1, np.int64)  # by which query
        values = np.empty(len(keys), np.float32)
        for q in range(block * LANES, min((block + 1) * LANES, len(queries))):
            a = queries[q]
            for t in range(winners.shape[1]):
                key = winners[q, t]
                if key < 0:
                    best[q, t] = -np.inf
                    continue
                if scored[key] != q:
                    scored[key] = q
                    b = keys[key]
                    total = np.float32(0)
                    if distance:
                        for d in range(len(a)):
                            total += (a[d] - b[d]) * (a[d] - b[d])
                        values[key] = -np.sqrt(total)
                    else:
                        for d in range(len(a)):
                            total += a[d] * b[d]
                        values[key] = total / (query_norms[q] * key_norms[key])
                best[q, t] = values[key]


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _lengths(vectors: FloatArray) -> FloatArray:
    """Length of each vector; not to be called by compiled code, see above."""
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
