"""Products of nodes on the CPU: what the scores of all pairs of edges are made of.

Shapes: Q query edges, U distinct ends of the queries, P distinct ends of the keys, D dimensions.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numba
import numpy as np

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.lanes import COLUMNS, LANES, ROWS, product_tile, transpose_tile

GRAM_BYTES = 1 << 25  # products held at a time: what the third-level cache keeps
WHOLE = 48  # rows come in whole tiles, of the product and of what exchanges them with columns
ROW_GROUP = 32 * ROWS  # rows of a product that one thread takes at a time


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
