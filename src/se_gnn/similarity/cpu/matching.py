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

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.backend import Points
from se_gnn.similarity.cpu.lanes import (
    COLUMNS,
    LANES,
    ROWS,
    argmax_lanes,
    argmax_rows,
    edges_to_lanes,
    product_tile,
    transpose_tile,
)
from se_gnn.similarity.cpu.scores import CLOSE, edge_squares, roots, to_cosines, to_distances
from se_gnn.similarity.items import KeyEdges, QueryEdges
from se_gnn.similarity.measure import Measure

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


@numba.njit(cache=True, nogil=True)
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


@numba.njit(parallel=True, cache=True, nogil=True)
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


@numba.njit(parallel=True, cache=True, nogil=True)
def _multiply(h: FloatArray, nodes: IntArray, right: FloatArray, gram: FloatArray) -> None:
    left = np.zeros((len(gram), h.shape[1]), np.float32)
    for i in numba.prange(len(nodes)):
        for d in range(h.shape[1]):
            left[i, d] = h[nodes[i], d]
    groups = (len(gram) + ROW_GROUP - 1) // ROW_GROUP
    for task in numba.prange(groups * len(right)):
        block, low = task % len(right), task // len(right) * ROW_GROUP
        for row in range(low, min(low + ROW_GROUP, len(gram)), ROWS):
            product_tile(left, row, right, block, gram)  # type: ignore[call-arg]


@numba.njit(parallel=True, cache=True, nogil=True)
def exchange(gram: FloatArray, out: FloatArray) -> None:
    """Rows and columns exchanged."""
    for column in numba.prange(gram.shape[1] // WIDTH):
        for row in range(0, len(gram), WIDTH):
            transpose_tile(gram, row, column * WIDTH, out, column * WIDTH, row)  # type: ignore[call-arg]


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
        at = keys.cover
        cover = (at.at_hub_ptr, at.at_hub, at.hub_ptr, at.hubs, at.other_ptr, at.others)
        for part, some in self._products(low, high):
            padded = np.concatenate([some.ends, np.zeros((-len(some.ends) % LANES, 2), np.int32)])
            segment_argmax(some.gram, padded, keys.ends, self.scale, self.offset, *cover, best[part], winners[part])
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


@numba.njit(parallel=True, cache=True, nogil=True)  # no fastmath: -inf must survive
def segment_argmax(
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
