"""Scores of best matches become similarities; where float32 would lose digits, computed as the paper writes them.

Shapes: Q query edges, K key edges, L local graphs, D dimensions.
"""

from __future__ import annotations

import numba
import numpy as np

from se_gnn.deterministic.sums import apart_from_edge, apart_of_rows, dot_of_edges
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.cpu.lanes import LANES
from se_gnn.similarity.edges import edge_entry
from se_gnn.similarity.measure import EPS

CLOSE = np.float32(1 / 16)  # a squared distance below this share of the squared lengths is computed again
SURE = np.float32(1 / 1024)  # and below this share of that, so are all keys of the local graph
CANCELED = np.float32(16)  # a cosine is computed again where the ends of the edges are so much longer than the edges


@numba.njit(parallel=True, cache=True, nogil=True)
def edge_squares(h: FloatArray, ends: IntArray) -> tuple[FloatArray, FloatArray]:
    """Of each edge the squared length, and the mean of those of its ends, which is never less."""
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


@numba.njit(parallel=True, cache=True, nogil=True)
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


@numba.njit(parallel=True, cache=True, nogil=True)
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
