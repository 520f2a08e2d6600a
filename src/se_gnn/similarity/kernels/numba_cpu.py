"""Edge matching on the CPU: agrees with `reference.match_edges`, and stores nothing of size queries x keys.

Shapes: Q query edges, K key edges (distinct edges of the local graphs), L local graphs, U distinct ends of the queries,
P distinct ends of the keys, D dimensions.

With mean pooling the product of a query (u, v) and a key (i, j) is a quarter of four products of *nodes*: one product
of the query nodes with the key nodes serves all pairs of edges. For either measure the best key of a local graph is
the largest `scale * sum of the four + offset`, which also is its similarity but for one rounding; where that would
lose digits (close edges, ends that cancel), the winner is scored again, exactly as the paper writes it. Every sum
runs in a fixed order, so that neither the block size nor the number of threads changes a bit.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.gradient_cpu import pull_back
from se_gnn.similarity.kernels.lanes import (
    COLUMNS,
    LANES,
    ROWS,
    WIDTH,
    argmax_lanes,
    argmax_rows,
    edges_to_lanes,
    product_tile,
    transpose_tile,
)
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.kernels.rounding import CLOSE, SURE, TINY

CANCELED = np.float32(16)  # a cosine is computed again where the ends of the edges are so much longer than the edges
GRAM_BYTES = 1 << 25  # products of nodes held at a time: what the third-level cache keeps
WHOLE = 48  # rows come in whole tiles, of the product and of what exchanges them with columns
ROW_GROUP = 32 * ROWS  # rows of a product that one thread takes at a time


@dataclass(frozen=True, slots=True, eq=False)
class NodeProducts:
    """Products of the ends of queries with the ends of keys, from the center: all that scores are made of.

    Shapes:
        - **gram:** :math:`(U, P)` or more, **ends:** :math:`(Q, 2)` rows of ``gram``
    """

    gram: FloatArray
    ends: Int32Array

    def part(self, queries: slice) -> NodeProducts:
        """Those of some queries."""
        return NodeProducts(self.gram, self.ends[queries])


class _Room(threading.local):
    """Memory for products, kept between calls of a thread: to be given fresh memory costs as much as to fill it."""

    def __init__(self) -> None:
        self.kept: dict[str, FloatArray] = {}

    def take(self, name: str, rows: int, columns: int) -> FloatArray:
        """An array with anything in it, [rows, columns]; the last one of that name is no longer valid."""
        held = self.kept.get(name)
        if held is None or len(held) < rows * columns:
            held = self.kept[name] = np.empty(rows * columns, np.float32)
        return held[: rows * columns].reshape(rows, columns)


_ROOM = _Room()


def shared_products(
    h: Tensor, forward: MatchPlan, back: MatchPlan, measure: Measure
) -> tuple[NodeProducts, NodeProducts] | None:
    """Products for both directions at once, where the queries of each are keys of the other; None: too large.

    They hold until the next products of this thread.
    """
    if not (forward.num_queries and back.num_queries):
        return None
    if 4 * len(back.key_nodes) * len(forward.key_nodes) > GRAM_BYTES:
        return None
    vectors = np.ascontiguousarray(h.detach().numpy())
    center = _center(vectors, measure)
    gram = _multiplied(vectors, back.key_nodes, center, _packed(vectors, forward.key_nodes, center))
    ends = (
        keys.key_ends[np.searchsorted(keys.key_ids, queries.query_ids)]
        for queries, keys in ((forward, back), (back, forward))
    )
    exchanged = _ROOM.take("exchanged", gram.shape[1], gram.shape[0])
    _exchange(gram, exchanged)
    return NodeProducts(gram, next(ends)), NodeProducts(exchanged, next(ends))


def match_edges(
    h: Tensor, plan: MatchPlan, measure: Measure, *, products: NodeProducts | None = None
) -> tuple[Tensor, Tensor]:
    """Similarity and position of the best match of each query in each local graph, [Q, L]; -inf and -1 where empty."""
    best, winners = _match(np.ascontiguousarray(h.detach().numpy()), plan, measure, products)
    return torch.from_numpy(best), torch.from_numpy(winners)


def match_edges_backward(
    h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
) -> Tensor:
    """Gradient to the embeddings, [N, D]: only the winning pair of each (query, local graph) receives one."""
    arrays = (best.numpy(), winners.numpy(), np.ascontiguousarray(grad.numpy()))
    return torch.from_numpy(pull_back(np.ascontiguousarray(h.detach().numpy()), plan, measure, *arrays))


def _match(
    h: FloatArray, plan: MatchPlan, measure: Measure, products: NodeProducts | None
) -> tuple[FloatArray, Int32Array]:
    shape = (plan.num_queries, plan.num_local)
    if not len(plan.key_ids):
        return np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32)
    distance = measure == "distance"
    center = _center(h, measure)
    key_ends = plan.key_node_ends
    query_squares, query_reach = _squares(h, plan.query_ends, center)  # [Q]
    key_squares, key_reach = _squares(h, key_ends, center)  # [K]
    if distance:  # the nearest key b has the largest 2 r.b - |b|^2
        scale, offset = np.full(len(key_ends), 0.5, np.float32), -key_squares
    else:  # r.b / |b|; the length of r changes no order
        scale, offset = np.float32(0.25) / _roots(key_squares), np.zeros(len(key_ends), np.float32)
    best, winners = np.empty(shape, np.float32), np.empty(shape, np.int32)
    at = plan.cover
    cover = (at.at_hub_ptr, at.at_hub, at.hub_ptr, at.hubs, at.other_ptr, at.others)
    for part, some in _products(h, center, plan) if products is None else [(slice(None), products)]:
        padded = np.concatenate([some.ends, np.zeros((-len(some.ends) % LANES, 2), np.int32)])
        _segment_argmax(some.gram, padded, plan.key_ends, scale, offset, *cover, best[part], winners[part])
    ends = (plan.query_ends, key_ends)
    if distance:
        limits = query_reach * CLOSE, key_reach * CLOSE
        _to_distances(h, *ends, plan.ptr, plan.members, query_squares, *limits, winners, best)
    else:
        lengths = _roots(query_squares), _roots(key_squares)
        query_stretch: FloatArray = query_reach / (lengths[0] * lengths[0])
        key_stretch: FloatArray = key_reach / (lengths[1] * lengths[1])
        _to_cosines(h, *ends, *lengths, query_stretch, key_stretch, winners, best)
    return best, winners


def _center(h: FloatArray, measure: Measure) -> FloatArray:
    """Where distances are taken from, so that rounding shrinks; zero for cosines.

    About the mean, in steps so coarse that it comes off small whole numbers without rounding: ties stay ties.
    """
    if measure == "cosine":
        return np.zeros(h.shape[1], np.float32)
    largest = np.abs(h).max(initial=0)
    step = np.float32(2.0 ** (np.floor(np.log2(largest)) - 4)) if largest > 0 else np.float32(1)
    center: FloatArray = np.rint(h.mean(axis=0) / step) * step
    return center


def _products(h: FloatArray, center: FloatArray, plan: MatchPlan) -> Iterator[tuple[slice, NodeProducts]]:
    """Products for some queries at a time."""
    lanes = _packed(h, plan.key_nodes, center)
    most_nodes = GRAM_BYTES // (4 * COLUMNS * len(lanes))
    low = 0
    while low < plan.num_queries:
        least = 4 * LANES * numba.get_num_threads()
        nodes, ends = _take_queries(plan.query_ends[low:], len(h), most_nodes, least)
        yield slice(low, low + len(ends)), NodeProducts(_multiplied(h, nodes, center, lanes), ends)
        low += len(ends)


@numba.njit(cache=True)
def _take_queries(query_ends: IntArray, num_nodes: int, most_nodes: int, least: int) -> tuple[IntArray, Int32Array]:
    """Distinct ends of the first queries, and the places of their ends: ``least`` queries, or until there are many."""
    place = np.full(num_nodes, -1, np.int32)
    nodes = np.empty(min(num_nodes, 2 * len(query_ends)), np.int64)
    ends = np.empty(query_ends.shape, np.int32)
    count = 0
    for q in range(len(query_ends)):
        if q >= least and q % LANES == 0 and count + 2 * LANES > most_nodes:
            return nodes[:count], ends[:q]
        for side in range(2):
            node = query_ends[q, side]
            if place[node] < 0:
                place[node] = count
                nodes[count] = node
                count += 1
            ends[q, side] = place[node]
    return nodes[:count], ends


@numba.njit(parallel=True, cache=True)
def _packed(h: FloatArray, nodes: IntArray, center: FloatArray) -> FloatArray:
    """Vectors of some nodes from the center, `COLUMNS` side by side, [blocks, D, COLUMNS]; zeros where nodes end."""
    depth = h.shape[1]
    right = np.zeros(((len(nodes) + COLUMNS - 1) // COLUMNS, depth, COLUMNS), np.float32)
    for block in numba.prange(len(right)):
        for i in range(block * COLUMNS, min((block + 1) * COLUMNS, len(nodes))):
            for d in range(depth):
                right[block, d, i - block * COLUMNS] = h[nodes[i], d] - center[d]
    return right


def _multiplied(h: FloatArray, nodes: IntArray, center: FloatArray, right: FloatArray) -> FloatArray:
    """Products of some nodes with those in ``right``, [U, P]; zeros where nodes end."""
    gram = _ROOM.take("gram", len(nodes) + -len(nodes) % WHOLE, COLUMNS * len(right))
    _multiply(h, nodes, center, right, gram)
    return gram


@numba.njit(parallel=True, cache=True)
def _multiply(h: FloatArray, nodes: IntArray, center: FloatArray, right: FloatArray, gram: FloatArray) -> None:
    left = np.zeros((len(gram), h.shape[1]), np.float32)
    for i in numba.prange(len(nodes)):
        for d in range(h.shape[1]):
            left[i, d] = h[nodes[i], d] - center[d]
    groups = (len(gram) + ROW_GROUP - 1) // ROW_GROUP
    for task in numba.prange(groups * len(right)):
        block, low = task % len(right), task // len(right) * ROW_GROUP
        for row in range(low, min(low + ROW_GROUP, len(gram)), ROWS):
            product_tile(left, row, right, block, gram)  # type: ignore[call-arg]


@numba.njit(parallel=True, cache=True)
def _exchange(gram: FloatArray, out: FloatArray) -> None:
    """Rows and columns exchanged."""
    for column in numba.prange(gram.shape[1] // WIDTH):
        for row in range(0, len(gram), WIDTH):
            transpose_tile(gram, row, column * WIDTH, out, column * WIDTH, row)  # type: ignore[call-arg]


@numba.njit(parallel=True, cache=True)  # no fastmath: -inf must survive
def _segment_argmax(
    gram: FloatArray,
    ends: Int32Array,
    key_ends: Int32Array,
    scale: FloatArray,
    offset: FloatArray,
    at_hub_ptr: IntArray,
    at_hub: Int32Array,
    hub_ptr: IntArray,
    hubs: Int32Array,
    other_ptr: IntArray,
    others: Int32Array,
    best: FloatArray,
    winners: Int32Array,
) -> None:
    """Best key of each query in each local graph, `LANES` queries at a time; ties: lowest key."""
    num_queries, num_local = best.shape
    num_hubs = len(at_hub_ptr) - 1
    for block in numba.prange(len(ends) // LANES):
        low = block * LANES
        count = min(LANES, num_queries - low)
        product = np.empty((gram.shape[1], LANES), np.float32)
        for lane in range(0, LANES, WIDTH):
            edges_to_lanes(gram, ends, low + lane, lane, product)  # type: ignore[call-arg]
        hub_scores, hub_keys = np.empty((num_hubs, LANES), np.float32), np.empty((num_hubs, LANES), np.int32)
        for hub in range(num_hubs):
            start, end = at_hub_ptr[hub], at_hub_ptr[hub + 1]
            argmax_lanes(product, key_ends, scale, offset, at_hub, start, end, hub_scores, hub_keys, hub)  # type: ignore[call-arg]
        scores, keys = np.empty((WIDTH, LANES), np.float32), np.empty((WIDTH, LANES), np.int32)
        for first in range(0, num_local, WIDTH):
            some = min(WIDTH, num_local - first)
            for i in range(some):
                start, end = other_ptr[first + i], other_ptr[first + i + 1]
                argmax_lanes(product, key_ends, scale, offset, others, start, end, scores, keys, i)  # type: ignore[call-arg]
                start, end = hub_ptr[first + i], hub_ptr[first + i + 1]
                argmax_rows(hub_scores, hub_keys, hubs, start, end, scores, keys, i)
            full = count // WIDTH * WIDTH if some == WIDTH else 0  # lanes that are written as whole tiles
            for lane in range(0, full, WIDTH):
                transpose_tile(scores, 0, lane, best, low + lane, first)  # type: ignore[call-arg]
                transpose_tile(keys, 0, lane, winners, low + lane, first)
            for q in range(full, count):
                for i in range(some):
                    best[low + q, first + i] = scores[i, q]
                    winners[low + q, first + i] = keys[i, q]


# fastmath: a sum runs in vector lanes, in an order that the compiler chooses. Functions that do so call none that other
# compiled functions call too: each caller would hold a copy of it with an order of its own, and which copy a process
# runs depends on which caller it loads first.
@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _squares(h: FloatArray, ends: IntArray, center: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of each edge the squared length from the center, and the mean of those of its ends, which is never less."""
    squares, reach = np.empty(len(ends), np.float32), np.empty(len(ends), np.float32)
    for e in numba.prange(len(ends)):
        u, v = ends[e, 0], ends[e, 1]
        total, apart = np.float32(0), np.float32(0)
        for d in range(h.shape[1]):
            a, b = h[u, d] - center[d], h[v, d] - center[d]
            total += (a + b) * (a + b)
            apart += (a - b) * (a - b)
        squares[e] = total / 4
        reach[e] = (total + apart) / 4
    return squares, reach


def _roots(squares: FloatArray) -> FloatArray:
    lengths: FloatArray = np.maximum(np.sqrt(squares), TINY)
    return lengths


@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _to_distances(
    h: FloatArray,
    query_ends: IntArray,
    key_ends: IntArray,
    ptr: IntArray,
    members: Int32Array,
    query_squares: FloatArray,
    query_limits: FloatArray,
    key_limits: FloatArray,
    winners: Int32Array,
    best: FloatArray,
) -> None:
    """Scores to -||a - b||; where the edges are close, from their difference, once for each key.

    Where they are so close that the rounding of scores may have hidden a closer key, all keys are looked at.
    """
    half = np.float32(0.5)
    for block in numba.prange((len(best) + LANES - 1) // LANES):
        scored = np.full(len(key_ends), -1, np.int64)  # by which query
        values = np.empty(len(key_ends), np.float32)
        wanted = np.empty(len(key_ends) + 1, np.int32)  # keys to be scored
        close = np.empty(best.shape[1], np.int64)  # local graphs whose winner is close
        for q in range(block * LANES, min((block + 1) * LANES, len(best))):
            row, names = best[q], winners[q]
            for t in range(len(row)):
                row[t] = -np.sqrt(max(query_squares[q] - row[t], np.float32(0)))
            num_close = 0
            for t in range(len(row)):
                close[num_close] = t
                num_close += row[t] * row[t] < query_limits[q] + key_limits[max(names[t], 0)]
            a = (h[query_ends[q, 0]] + h[query_ends[q, 1]]) * half
            for every in range(2):  # first the winners, then every key of the local graphs where they may be wrong
                num_wanted = num_left = 0
                for t in close[:num_close]:
                    start, end = (ptr[t], ptr[t + 1]) if every else (0, 1)
                    for m in range(start, end):
                        key = members[m] if every else names[t]
                        wanted[num_wanted] = key
                        num_wanted += scored[key] != q
                        scored[key] = q
                for key in wanted[:num_wanted]:
                    i, j = key_ends[key, 0], key_ends[key, 1]
                    total = np.float32(0)
                    for d in range(len(a)):
                        apart = a[d] - (h[i, d] + h[j, d]) * half
                        total += apart * apart
                    values[key] = -np.sqrt(total)
                for t in close[:num_close]:
                    limit = query_limits[q] + key_limits[names[t]]
                    row[t] = values[names[t]]
                    if every:
                        row[t] = -np.inf
                        for m in range(ptr[t], ptr[t + 1]):
                            if values[members[m]] > row[t]:
                                row[t], names[t] = values[members[m]], members[m]
                    elif row[t] < 0 and row[t] * row[t] < limit * SURE:
                        close[num_left] = t
                        num_left += 1
                num_close = num_left


@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _to_cosines(
    h: FloatArray,
    query_ends: IntArray,
    key_ends: IntArray,
    query_lengths: FloatArray,
    key_lengths: FloatArray,
    query_stretch: FloatArray,
    key_stretch: FloatArray,
    winners: Int32Array,
    best: FloatArray,
) -> None:
    """Scores to cosines; where the ends of an edge nearly cancel, from the vectors of the edges."""
    half = np.float32(0.5)
    for q in numba.prange(len(best)):
        row, names = best[q], winners[q]
        for t in range(len(row)):
            key = max(names[t], 0)
            if names[t] >= 0 and query_stretch[q] * key_stretch[key] > CANCELED:
                total = np.float32(0)
                for d in range(h.shape[1]):
                    a = (h[query_ends[q, 0], d] + h[query_ends[q, 1], d]) * half
                    total += a * (h[key_ends[key, 0], d] + h[key_ends[key, 1], d]) * half
                row[t] = total / (query_lengths[q] * key_lengths[key])
            else:
                row[t] /= query_lengths[q]
