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
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numba
import numpy as np
import torch

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH, apart_from_edge, apart_of_rows, dot_of_edges
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.backend import Points
from se_gnn.similarity.cpu.lanes import (
    COLUMNS,
    LANES,
    ROWS,
    argmax_lanes,
    edges_to_lanes,
    product_tile,
    transpose_tile,
)
from se_gnn.similarity.edges import edge_entry
from se_gnn.similarity.items import LocalEdges
from se_gnn.similarity.measure import EPS, Measure

CLOSE = np.float32(1 / 16)  # a squared distance below this share of the squared lengths is computed again
SURE = np.float32(1 / 1024)  # and below this share of that, so are all keys of the local graph
CANCELED = np.float32(16)  # a cosine is computed again where the ends of the edges are so much longer than the edges


@compiled(parallel=True)
def edge_squares(h: FloatArray, ends: IntArray) -> tuple[FloatArray, FloatArray]:
    """Squared length of each edge, [E], and the mean of the squared lengths of its ends, which is never less, [E]."""
    squares, reach = np.empty(len(ends), np.float32), np.empty(len(ends), np.float32)
    for e in numba.prange(len(ends)):
        u, v = ends[e, 0], ends[e, 1]
        squares[e] = dot_of_edges(h, u, v, u, v)
        reach[e] = squares[e] + apart_of_rows(h, u, h, v) / np.float32(4)
    return squares, reach


class ScoredKeys(NamedTuple):
    """Key edges as they are scored: `scale * product + offset`, with the sum of four products of nodes.

    Shapes:
        - **ends** (positions among the nodes of the keys): :math:`(K, 2)`, **scale**, **offset:** :math:`(K,)`
        - **ptr:** :math:`(L + 1,)`, **members:** the keys of each local graph, ascending
    """

    ends: Int32Array
    scale: FloatArray
    offset: FloatArray
    ptr: IntArray
    members: Int32Array


class Sized(NamedTuple):
    """Edges with what turns their scores into similarities, and where that would lose digits, [E] each.

    If lengths do not count, ``size`` is the length, and ``limit`` how much longer the ends are than the edge (squared);
    else ``size`` is the squared length, and closer edges than the sum of two ``limit`` (squared) are computed again.
    """

    ends: IntArray  # [E, 2] rows of vectors
    size: FloatArray
    limit: FloatArray


class ListedRows(NamedTuple):
    """Rows of a matrix with a column for some local graphs each, one after the other in memory.

    Row q has the entries ``ptr[q]`` to ``ptr[q + 1]``; they are of the local graphs at ``first[q]`` and on in
    ``listed``.
    """

    ptr: IntArray  # [Q + 1]
    first: IntArray  # [Q]
    listed: IntArray


@compiled(parallel=True)
def to_distances(
    h: FloatArray,
    queries: Sized,
    keys: Sized,
    scored: ScoredKeys,
    rows: ListedRows,
    winners: Int32Array,
    best: FloatArray,
) -> None:
    """Scores to -||a - b||; where the edges are close, from their difference, once for each key.

    Where they are so close that the rounding of scores may have hidden a closer key, all keys are looked at.
    """
    ptr, members, key_ends, limits = scored.ptr, scored.members, keys.ends, keys.limit
    for block in numba.prange((len(queries.ends) + LANES - 1) // LANES):
        known_to, known = np.full(len(key_ends), -1, np.int64), np.empty(len(key_ends), np.float32)
        a = np.empty((1, h.shape[1]), np.float32)
        for q in range(block * LANES, min((block + 1) * LANES, len(queries.ends))):
            row, names = best[rows.ptr[q] : rows.ptr[q + 1]], winners[rows.ptr[q] : rows.ptr[q + 1]]
            square, own_limit = queries.size[q], queries.limit[q]
            for t in range(len(row)):
                row[t] = -np.sqrt(max(square - np.float32(2) * row[t], np.float32(0)))
            for d in range(h.shape[1]):
                a[0, d] = edge_entry(h, queries.ends, q, d)
            for t in range(len(row)):
                limit = own_limit + limits[max(names[t], 0)]
                if row[t] * row[t] < limit:
                    row[t] = _exactly(a, q, h, key_ends, names[t], known_to, known)
                    if row[t] < 0 and row[t] * row[t] < limit * SURE:
                        row[t], local = -np.inf, rows.listed[rows.first[q] + t]
                        for m in range(ptr[local], ptr[local + 1]):
                            value = _exactly(a, q, h, key_ends, members[m], known_to, known)
                            if value > row[t]:
                                row[t], names[t] = value, members[m]


@compiled(_nrt=False)  # without counting references, for which threads would wait
def _exactly(
    a: FloatArray, q: int, h: FloatArray, ends: IntArray, key: int, known_to: IntArray, known: FloatArray
) -> np.float32:
    """-||a - b|| of query q, whose vector a is, and a key; what is known to the query is not computed again."""
    if known_to[key] != q:
        known_to[key], known[key] = q, -np.sqrt(apart_from_edge(a, 0, h, ends[key, 0], ends[key, 1]))
    value: np.float32 = known[key]
    return value


@compiled(parallel=True)
def to_cosines(
    h: FloatArray, queries: Sized, keys: Sized, rows: ListedRows, winners: Int32Array, best: FloatArray
) -> None:
    """Scores to cosines; where the ends of an edge nearly cancel, from the vectors of the edges."""
    query_ends, key_ends, limits = queries.ends, keys.ends, keys.limit
    largest = np.float32(0)
    for limit in limits:
        largest = max(largest, limit)
    for q in numba.prange(len(query_ends)):
        row, names = best[rows.ptr[q] : rows.ptr[q + 1]], winners[rows.ptr[q] : rows.ptr[q + 1]]
        length, limit = queries.size[q], queries.limit[q]
        for t in range(len(row)):
            row[t] /= length
        if limit * largest <= CANCELED:
            continue
        for t in range(len(row)):
            key = max(names[t], 0)
            if names[t] >= 0 and limit * limits[key] > CANCELED:
                product = dot_of_edges(h, query_ends[q, 0], query_ends[q, 1], key_ends[key, 0], key_ends[key, 1])
                row[t] = product / (length * keys.size[key])


GRAM_BYTES = 1 << 25  # products held at a time: what the third-level cache keeps
WHOLE = 48  # rows come in whole tiles, of the product and of what exchanges them with columns
ROW_GROUP = 32 * ROWS  # rows of a product that one thread takes at a time


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Node vectors, [N, D], and the same as scores are made of: from the *origin*, so that rounding shrinks."""

    h: FloatArray
    moved: FloatArray
    measure: Measure

    @classmethod
    def of(cls, points: Points) -> Vectors:
        """Where lengths do not count, directions have to be taken from zero."""
        vectors = np.ascontiguousarray(points.vectors.detach().numpy())
        moved = vectors if points.measure.unit else vectors - points.origin.numpy()
        return cls(vectors, moved, points.measure)

    def sized(self, ends: IntArray, squares: FloatArray, reach: FloatArray) -> Sized:
        """Edges by what :func:`edge_squares` gives of them."""
        if not self.measure.unit:
            return Sized(ends, squares, reach * CLOSE)
        lengths: FloatArray = np.maximum(np.sqrt(squares), np.float32(EPS))
        return Sized(ends, lengths, reach / (lengths * lengths))


class Room(threading.local):
    """Memory for products, kept between calls of a thread: to be given fresh memory costs as much as to fill it."""

    def __init__(self) -> None:
        self.kept = np.empty(0, np.float32)

    def take(self, rows: int, columns: int) -> FloatArray:
        """An uninitialized array, [rows, columns]; the last one is no longer valid."""
        if len(self.kept) < rows * columns:
            self.kept = np.empty(rows * columns, np.float32)
        return self.kept[: rows * columns].reshape(rows, columns)

    def give_back(self) -> None:
        """Keep no more than what is quick to read."""
        if self.kept.nbytes > 2 * GRAM_BYTES:
            self.kept = np.empty(0, np.float32)


ROOM = Room()


@compiled
def take_queries(query_ends: IntArray, num_nodes: int, most_nodes: int, least: int) -> tuple[IntArray, Int32Array]:
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


@compiled(parallel=True)
def packed(h: FloatArray, nodes: IntArray) -> FloatArray:
    """Vectors of some nodes, `COLUMNS` side by side, [blocks, D, COLUMNS]; zeros where nodes end."""
    depth = h.shape[1]
    right = np.zeros(((len(nodes) + COLUMNS - 1) // COLUMNS, depth, COLUMNS), np.float32)
    for block in numba.prange(len(right)):
        for i in range(block * COLUMNS, min((block + 1) * COLUMNS, len(nodes))):
            for d in range(depth):
                right[block, d, i - block * COLUMNS] = h[nodes[i], d]
    return right


def multiplied(h: FloatArray, nodes: IntArray, right: FloatArray) -> FloatArray:
    """Products of some nodes with those in ``right``, [U, P]; zeros where nodes end."""
    gram = ROOM.take(len(nodes) + -len(nodes) % WHOLE, COLUMNS * len(right))
    _multiply(h, nodes, right, gram)
    return gram


@compiled(parallel=True)
def _multiply(h: FloatArray, nodes: IntArray, right: FloatArray, gram: FloatArray) -> None:
    left = np.zeros((len(gram), h.shape[1]), np.float32)
    for i in numba.prange(len(nodes)):
        for d in range(h.shape[1]):
            left[i, d] = h[nodes[i], d]
    groups = (len(gram) + ROW_GROUP - 1) // ROW_GROUP
    for task in numba.prange(groups * len(right)):
        block, low = task % len(right), task // len(right) * ROW_GROUP
        for row in range(low, min(low + ROW_GROUP, len(gram)), ROWS):
            product_tile(left, row, right, block, gram)


class Matcher:
    """Matches query edges, some at a time; what the edges of each side alone decide is made once."""

    def __init__(self, vectors: Vectors, queries: LocalEdges, keys: LocalEdges, held: int = GRAM_BYTES) -> None:
        self.vectors, self.queries, self.keys = vectors, queries, keys
        self.held = held  # bytes of products at a time
        # products of the ends of some queries, kept for the next call: a view of `ROOM`
        self.first, self.ends, self.gram = 0, np.empty((0, 2), np.int32), np.empty((0, 0), np.float32)
        squares, reach = edge_squares(vectors.moved, keys.ends)  # [K]
        scale, offset = vectors.measure.scoring(torch.from_numpy(squares))
        scores = (scale / 4).numpy(), offset.numpy()  # an edge product is a quarter of four of nodes
        self.key_nodes, ends = keys.distinct_ends
        self.scored = ScoredKeys(ends, *scores, keys.ptr, keys.columns)
        self.answering = vectors.sized(keys.ends, squares, reach)

    @cached_property
    def asking(self) -> Sized:
        """All query edges."""
        return self.vectors.sized(self.queries.ends, *edge_squares(self.vectors.moved, self.queries.ends))

    @cached_property
    def right(self) -> FloatArray:
        """Vectors of the nodes of the keys, packed."""
        return packed(self.vectors.moved, self.key_nodes)

    def match(self, low: int, high: int) -> tuple[FloatArray, Int32Array]:
        """Best similarity and winner of the queries ``low`` to ``high`` in each local graph, [high - low, L]."""
        num_local, shape = self.keys.num_local, (high - low, self.keys.num_local)
        if not len(self.keys):
            return np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32)
        best, winners = np.empty(shape, np.float32), np.empty(shape, np.int32)
        start = low
        while start < high:
            ends = self._ends_from(start)[: high - start]
            padded = np.concatenate([ends, np.zeros((-len(ends) % LANES, 2), np.int32)])
            part = slice(start - low, start - low + len(ends))
            segment_argmax(self.gram, padded, self.scored, best[part], winners[part])
            start += len(ends)
        every = ListedRows(np.arange(high - low + 1) * num_local, np.zeros(high - low, np.int64), np.arange(num_local))
        self.finish(slice(low, high), every, best.reshape(-1), winners.reshape(-1))
        return best, winners

    def finish(self, some: slice | Int32Array, rows: ListedRows, best: FloatArray, winners: Int32Array) -> None:
        """Turn scores of some queries into similarities; where that would lose digits, score again, as in the paper."""
        asking = Sized(self.asking.ends[some], self.asking.size[some], self.asking.limit[some])
        if self.vectors.measure.unit:
            to_cosines(self.vectors.h, asking, self.answering, rows, winners, best)
        else:
            to_distances(self.vectors.h, asking, self.answering, self.scored, rows, winners, best)

    def _ends_from(self, low: int) -> Int32Array:
        """Rows of ``gram`` of the ends of the queries from ``low`` on, of as many as products are held of, [B, 2]."""
        if not self.first <= low < self.first + len(self.ends):
            most_nodes, least = self.held // (4 * COLUMNS * len(self.right)), 4 * LANES * numba.get_num_threads()
            nodes, self.ends = take_queries(self.queries.ends[low:], len(self.vectors.moved), most_nodes, least)
            self.first, self.gram = low, multiplied(self.vectors.moved, nodes, self.right)
        return self.ends[low - self.first :]


@compiled(parallel=True)  # no fastmath: -inf must survive
def segment_argmax(gram: FloatArray, ends: Int32Array, keys: ScoredKeys, best: FloatArray, winners: Int32Array) -> None:
    """Best key of each query in each local graph, `LANES` queries at a time; ties: lowest key."""
    num_queries, num_local = best.shape
    for block in numba.prange(len(ends) // LANES):
        low = block * LANES
        count = min(LANES, num_queries - low)
        product = np.empty((gram.shape[1], LANES), np.float32)
        for lane in range(0, LANES, WIDTH):
            edges_to_lanes(gram, ends, low + lane, lane, product)
        scores, names = np.empty((WIDTH, LANES), np.float32), np.empty((WIDTH, LANES), np.int32)
        for first in range(0, num_local, WIDTH):
            some = min(WIDTH, num_local - first)
            for i in range(some):
                start, end = keys.ptr[first + i], keys.ptr[first + i + 1]
                argmax_lanes(product, keys.ends, keys.scale, keys.offset, keys.members, start, end, scores, names, i)
            full = count // WIDTH * WIDTH if some == WIDTH else 0  # lanes that are written as whole tiles
            for lane in range(0, full, WIDTH):
                transpose_tile(scores, 0, lane, best, low + lane, first)
                transpose_tile(names, 0, lane, winners, low + lane, first)
            for q in range(full, count):
                for i in range(some):
                    best[low + q, first + i] = scores[i, q]
                    winners[low + q, first + i] = names[i, q]
