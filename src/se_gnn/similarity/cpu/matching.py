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
from se_gnn.similarity.items import KeyEdges, QueryEdges
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


def roots(squares: FloatArray) -> FloatArray:
    """Lengths from their squares; none is 0."""
    lengths: FloatArray = np.maximum(np.sqrt(squares), np.float32(EPS))
    return lengths


@compiled(parallel=True)
def to_distances(
    h: FloatArray,
    query_ends: IntArray,
    key_ends: IntArray,
    ptr: IntArray,
    members: Int32Array,
    row_ptr: IntArray,
    first: IntArray,
    listed: IntArray,
    query_squares: FloatArray,
    query_limits: FloatArray,
    key_limits: FloatArray,
    winners: Int32Array,
    best: FloatArray,
) -> None:
    """Scores to -||a - b||; where the edges are close, from their difference, once for each key.

    Where they are so close that the rounding of scores may have hidden a closer key, all keys are looked at.
    """
    num_queries = len(query_ends)
    for block in numba.prange((num_queries + LANES - 1) // LANES):
        scored = np.full(len(key_ends), -1, np.int64)  # by which query
        values = np.empty(len(key_ends), np.float32)
        wanted = np.empty(len(key_ends) + 1, np.int32)  # keys to be scored
        low, high = block * LANES, min((block + 1) * LANES, num_queries)
        longest = 0
        for q in range(low, high):
            longest = max(longest, row_ptr[q + 1] - row_ptr[q])
        close = np.empty(longest, np.int64)  # columns whose winner is close
        a = np.empty((1, h.shape[1]), np.float32)
        for q in range(low, high):
            row, names = best[row_ptr[q] : row_ptr[q + 1]], winners[row_ptr[q] : row_ptr[q + 1]]
            local = listed[first[q] : first[q] + len(row)]  # local graph of each column
            for t in range(len(row)):
                row[t] = -np.sqrt(max(query_squares[q] - np.float32(2) * row[t], np.float32(0)))
            num_close = 0
            for t in range(len(row)):
                close[num_close] = t
                num_close += row[t] * row[t] < query_limits[q] + key_limits[max(names[t], 0)]
            for d in range(h.shape[1]):
                a[0, d] = edge_entry(h, query_ends, q, d)
            for every in range(2):  # first the winners, then every key of the local graphs where they may be wrong
                num_wanted = num_left = 0
                for t in close[:num_close]:
                    start, end = (ptr[local[t]], ptr[local[t] + 1]) if every else (0, 1)
                    for m in range(start, end):
                        key = members[m] if every else names[t]
                        wanted[num_wanted] = key
                        num_wanted += scored[key] != q
                        scored[key] = q
                for key in wanted[:num_wanted]:
                    values[key] = -np.sqrt(apart_from_edge(a, 0, h, key_ends[key, 0], key_ends[key, 1]))
                for t in close[:num_close]:
                    limit = query_limits[q] + key_limits[names[t]]
                    row[t] = values[names[t]]
                    if every:
                        row[t] = -np.inf
                        for m in range(ptr[local[t]], ptr[local[t] + 1]):
                            if values[members[m]] > row[t]:
                                row[t], names[t] = values[members[m]], members[m]
                    elif row[t] < 0 and row[t] * row[t] < limit * SURE:
                        close[num_left] = t
                        num_left += 1
                num_close = num_left


@compiled(parallel=True)
def to_cosines(
    h: FloatArray,
    query_ends: IntArray,
    key_ends: IntArray,
    query_lengths: FloatArray,
    key_lengths: FloatArray,
    query_stretch: FloatArray,
    key_stretch: FloatArray,
    row_ptr: IntArray,
    winners: Int32Array,
    best: FloatArray,
) -> None:
    """Scores to cosines; where the ends of an edge nearly cancel, from the vectors of the edges."""
    for q in numba.prange(len(query_ends)):
        row, names = best[row_ptr[q] : row_ptr[q + 1]], winners[row_ptr[q] : row_ptr[q + 1]]
        for t in range(len(row)):
            key = max(names[t], 0)
            if names[t] >= 0 and query_stretch[q] * key_stretch[key] > CANCELED:
                product = dot_of_edges(h, query_ends[q, 0], query_ends[q, 1], key_ends[key, 0], key_ends[key, 1])
                row[t] = product / (query_lengths[q] * key_lengths[key])
            else:
                row[t] /= query_lengths[q]


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


@dataclass(frozen=True, slots=True, eq=False)
class NodeProducts:
    """Products of the ends of queries with the ends of keys: all that scores are made of.

    Shapes:
        - **gram:** :math:`(U, P)` or more, **ends:** :math:`(Q, 2)` rows of ``gram``
    """

    gram: FloatArray
    ends: Int32Array


class Room(threading.local):
    """Memory for products, kept between calls of a thread: to be given fresh memory costs as much as to fill it."""

    def __init__(self) -> None:
        self.kept: dict[str, FloatArray] = {}

    def take(self, name: str, rows: int, columns: int) -> FloatArray:
        """An uninitialized array, [rows, columns]; the last one of that name is no longer valid."""
        held = self.kept.get(name)
        if held is None or len(held) < rows * columns:
            held = self.kept[name] = np.empty(rows * columns, np.float32)
        return held[: rows * columns].reshape(rows, columns)

    def give_back(self) -> None:
        """Keep no more than what is quick to read."""
        self.kept = {name: held for name, held in self.kept.items() if held.nbytes <= 2 * GRAM_BYTES}


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
    gram = ROOM.take("gram", len(nodes) + -len(nodes) % WHOLE, COLUMNS * len(right))
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


@compiled(parallel=True)
def exchange(gram: FloatArray, out: FloatArray) -> None:
    """Rows and columns exchanged."""
    for column in numba.prange(gram.shape[1] // WIDTH):
        for row in range(0, len(gram), WIDTH):
            transpose_tile(gram, row, column * WIDTH, out, column * WIDTH, row)


@dataclass(frozen=True, slots=True, eq=False)
class ListedRows:
    r"""Rows of a matrix with a column for some local graphs each, one after the other in memory.

    Row q has the entries ``ptr[q]`` to ``ptr[q + 1]``; they are of the local graphs at ``first[q]`` and on in
    ``listed``.

    Shapes:
        - **ptr:** :math:`(Q + 1,)`, **first:** :math:`(Q,)`, **listed:** as long as needed
    """

    ptr: IntArray
    first: IntArray
    listed: IntArray

    @classmethod
    def full(cls, num_rows: int, num_local: int) -> ListedRows:
        """Every row has a column for each local graph."""
        return cls(np.arange(num_rows + 1) * num_local, np.zeros(num_rows, np.int64), np.arange(num_local))


class Matcher:
    """Matches query edges, some at a time; what the key edges alone decide is made once."""

    def __init__(
        self,
        vectors: Vectors,
        queries: QueryEdges,
        keys: KeyEdges,
        products: NodeProducts | None = None,
        held: int | None = None,
        query_squares: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        self.vectors, self.queries, self.keys, self.products = vectors, queries, keys, products
        self.query_squares = query_squares
        self.held = GRAM_BYTES if held is None else held  # bytes of products at a time
        self.key_ends = keys.node_ends
        self.key_squares, self.key_reach = edge_squares(vectors.moved, self.key_ends)  # [K]
        scale, offset = vectors.measure.scoring(torch.from_numpy(self.key_squares))
        self.scale, self.offset = (scale / 4).numpy(), offset.numpy()  # an edge product is a quarter of four of nodes
        self.right: FloatArray | None = None

    def match(self, low: int, high: int) -> tuple[FloatArray, Int32Array]:
        """Best similarity and winner of the queries ``low`` to ``high`` in each local graph, [high - low, L]."""
        keys, shape = self.keys, (high - low, self.keys.num_local)
        if not len(keys):
            return np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32)
        best, winners = np.empty(shape, np.float32), np.empty(shape, np.int32)
        rows = ListedRows.full(*shape)
        local = keys.ends, self.scale, self.offset, keys.ptr, keys.members
        for part, some in self._products(low, high):
            padded = np.concatenate([some.ends, np.zeros((-len(some.ends) % LANES, 2), np.int32)])
            segment_argmax(some.gram, padded, *local, best[part], winners[part])
        known = None if self.query_squares is None else tuple(part[low:high] for part in self.query_squares)
        self.finish(self.queries.ends[low:high], rows, best.reshape(-1), winners.reshape(-1), known)
        return best, winners

    def finish(
        self,
        query_ends: IntArray,
        rows: ListedRows,
        best: FloatArray,
        winners: Int32Array,
        query_squares: tuple[FloatArray, ...] | None = None,
    ) -> None:
        """Turn scores into similarities; where that would lose digits, score again, as the paper writes it."""
        ends, keys = (query_ends, self.key_ends), self.keys
        squares, reach = query_squares or edge_squares(self.vectors.moved, query_ends)  # [Q]
        if self.vectors.measure.unit:
            lengths = roots(squares), roots(self.key_squares)
            stretch: FloatArray = reach / (lengths[0] * lengths[0])
            key_stretch: FloatArray = self.key_reach / (lengths[1] * lengths[1])
            to_cosines(self.vectors.h, *ends, *lengths, stretch, key_stretch, rows.ptr, winners, best)
        else:
            limits = reach * CLOSE, self.key_reach * CLOSE
            listed = (rows.ptr, rows.first, rows.listed)
            to_distances(self.vectors.h, *ends, keys.ptr, keys.members, *listed, squares, *limits, winners, best)

    def _products(self, low: int, high: int) -> Iterator[tuple[slice, NodeProducts]]:
        """Products for some of the queries at a time, with where they stand."""
        if self.products is not None:
            yield slice(None), NodeProducts(self.products.gram, self.products.ends[low:high])
            return
        moved, start = self.vectors.moved, low
        if self.right is None:
            self.right = packed(moved, self.keys.nodes)
        most_nodes = self.held // (4 * COLUMNS * len(self.right))
        while low < high:
            least = 4 * LANES * numba.get_num_threads()
            nodes, ends = take_queries(self.queries.ends[low:high], len(moved), most_nodes, least)
            part = slice(low - start, low - start + len(ends))
            yield part, NodeProducts(multiplied(moved, nodes, self.right), ends)
            low += len(ends)


@compiled(parallel=True)  # no fastmath: -inf must survive
def segment_argmax(
    gram: FloatArray,
    ends: Int32Array,
    key_ends: Int32Array,
    scale: FloatArray,
    offset: FloatArray,
    ptr: IntArray,
    members: Int32Array,
    best: FloatArray,
    winners: Int32Array,
) -> None:
    """Best key of each query in each local graph, `LANES` queries at a time; ties: lowest key."""
    num_queries, num_local = best.shape
    for block in numba.prange(len(ends) // LANES):
        low = block * LANES
        count = min(LANES, num_queries - low)
        product = np.empty((gram.shape[1], LANES), np.float32)
        for lane in range(0, LANES, WIDTH):
            edges_to_lanes(gram, ends, low + lane, lane, product)
        scores, keys = np.empty((WIDTH, LANES), np.float32), np.empty((WIDTH, LANES), np.int32)
        for first in range(0, num_local, WIDTH):
            some = min(WIDTH, num_local - first)
            for i in range(some):
                start, end = ptr[first + i], ptr[first + i + 1]
                argmax_lanes(product, key_ends, scale, offset, members, start, end, scores, keys, i)
            full = count // WIDTH * WIDTH if some == WIDTH else 0  # lanes that are written as whole tiles
            for lane in range(0, full, WIDTH):
                transpose_tile(scores, 0, lane, best, low + lane, first)
                transpose_tile(keys, 0, lane, winners, low + lane, first)
            for q in range(full, count):
                for i in range(some):
                    best[low + q, first + i] = scores[i, q]
                    winners[low + q, first + i] = keys[i, q]
