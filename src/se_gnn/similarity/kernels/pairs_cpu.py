"""Structure similarity of chosen pairs on the CPU: each target with its own candidates, Eq. (5)-(6), both ways at once.

Shapes: T targets, C candidates of each, L labeled nodes, E distinct edges, D dimensions; of one pair, M edges of the
target and P edges of the candidate.

All M x P similarities of a pair are formed in registers, a tile at a time; the best of each row and of each column is
all that is kept. A distance is taken from the middle of the target's edges, so that little is lost to rounding; where
edges are close even so, the winner is scored again from the difference. Edges that both local graphs hold are at
distance 0 without a look. A pair has the same bits whoever else is compared, on any number of threads.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Directions, Measure
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.kernels.lanes import ACROSS, LANES, ROWS, WIDTH, argmax_rows, match_tile, transpose_tile
from se_gnn.similarity.kernels.rounding import CLOSE, SURE, TINY

GROUP = 96  # edges of a candidate that are looked at together: whole tiles and whole lanes


def pair_structure(
    h: Tensor,
    edges: IntArray,
    targets: LocalGraphs,
    labeled: LocalGraphs,
    candidates: IntArray,
    measure: Measure,
    directions: Directions,
) -> Tensor:
    """s^e of each target with the labeled nodes at ``candidates``, [T, C]; -inf where one of the two has no edges."""
    used = np.zeros(len(edges), dtype=bool)
    used[targets.edge_ids] = True
    used[labeled.edge_ids] = True
    ids = np.flatnonzero(used)
    middles = _middles(np.ascontiguousarray(h.detach().numpy()), edges[ids], measure == "cosine")  # [E, D]
    rows = (targets.ptr, targets.positions(ids), labeled.ptr, labeled.positions(ids))
    structure = np.full(candidates.shape, -np.inf, np.float32)
    _compare_pairs(middles, *rows, candidates, measure == "distance", directions == "both", structure)
    return torch.from_numpy(structure)


# fastmath: sums run in vector lanes, in an order that the compiler chooses. What follows is called from here alone, so
# that there is one copy, and one order, of each (see `numba_cpu.py`).
@numba.njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _middles(h: FloatArray, ends: IntArray, unit: bool) -> FloatArray:
    """Edge representations, Eq. (3), [E, D]; where ``unit``, of length 1."""
    middles = np.empty((len(ends), h.shape[1]), np.float32)
    for e in numba.prange(len(ends)):
        total = np.float32(0)
        for d in range(h.shape[1]):
            value = (h[ends[e, 0], d] + h[ends[e, 1], d]) / np.float32(2)
            middles[e, d] = value
            total += value * value
        if unit:
            length = max(np.sqrt(total), TINY)
            for d in range(h.shape[1]):
                middles[e, d] /= length
    return middles


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _center(middles: FloatArray, edges: Int32Array, center: FloatArray) -> None:
    """The mean of some edges."""
    for edge in edges:
        for d in range(len(center)):
            center[d] += middles[edge, d]
    for d in range(len(center)):
        center[d] /= np.float32(len(edges))


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _gather(middles: FloatArray, edges: Int32Array, center: FloatArray, rows: FloatArray, halves: FloatArray) -> None:
    """Vectors of some edges from the center, and half their squared lengths."""
    for i in range(len(edges)):
        total = np.float32(0)
        for d in range(len(center)):
            value = middles[edges[i], d] - center[d]
            rows[i, d] = value
            total += value * value
        halves[i] = total / np.float32(2)


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _to_distances(
    middles: FloatArray,
    edges: Int32Array,
    others: Int32Array,
    halves: FloatArray,
    other_halves: FloatArray,
    winners: Int32Array,
    scores: FloatArray,
) -> None:
    """Scores -||a - b||^2 / 2 of ``edges`` with their winners among ``others`` to -||a - b||; of close ones, anew."""
    two = np.float32(2)
    for i in range(len(edges)):
        square, limit = -two * scores[i], two * CLOSE * (halves[i] + other_halves[winners[i]])
        if square < limit:
            place = np.searchsorted(others, edges[i])
            if place < len(others) and others[place] == edges[i]:
                square = np.float32(0)
            else:
                square = np.float32(np.inf)
                start, end = winners[i], winners[i] + 1
                for _ in range(2):  # the winner, then all where rounding may have hidden a closer one
                    for k in range(start, end):
                        total = np.float32(0)
                        for d in range(middles.shape[1]):
                            apart = middles[edges[i], d] - middles[others[k], d]
                            total += apart * apart
                        square = min(square, total)
                    if square == 0 or square >= limit * SURE:
                        break
                    start, end = 0, len(others)
        scores[i] = -np.sqrt(square)


@numba.njit(cache=True, fastmath={"reassoc", "contract"})
def _mean(scores: FloatArray, count: int) -> float:
    total = 0.0
    for i in range(count):
        total += scores[i]
    return total / count


@numba.njit(parallel=True, cache=True)  # no fastmath: -inf must survive
def _compare_pairs(
    middles: FloatArray,
    ptr: IntArray,
    edges: Int32Array,
    labeled_ptr: IntArray,
    labeled_edges: Int32Array,
    candidates: IntArray,
    distance: bool,
    both: bool,
    structure: FloatArray,
) -> None:
    """Mean similarity of the best matches there and, where ``both``, back."""
    depth, across = middles.shape[1], ACROSS // WIDTH
    for t in numba.prange(len(candidates)):
        own = edges[ptr[t] : ptr[t + 1]]
        longest = 0
        for label in candidates[t]:
            longest = max(longest, labeled_ptr[label + 1] - labeled_ptr[label])
        if not (len(own) and longest):
            continue
        center = np.zeros(depth, np.float32)  # of a cosine, too
        if distance:
            _center(middles, own, center)
        num_vectors = (len(own) + WIDTH - 1) // WIDTH
        queries, halves = np.empty((len(own), depth), np.float32), np.zeros((num_vectors, WIDTH), np.float32)
        _gather(middles, own, center, queries, halves.ravel())
        packed = np.zeros(((num_vectors + across - 1) // across, depth, ACROSS), np.float32)
        for i in range(len(own)):
            for d in range(depth):
                packed[i // ACROSS, d, i % ACROSS] = queries[i, d]
        if not distance:
            halves[:] = 0
        halves.ravel()[len(own) :] = np.inf  # so that what only fills a vector never wins
        best, keys = np.empty((num_vectors, WIDTH), np.float32), np.empty((num_vectors, WIDTH), np.int32)
        rows, key_halves = np.zeros((GROUP, depth), np.float32), np.empty(longest + ROWS, np.float32)
        back, names = np.empty((GROUP, WIDTH), np.float32), np.empty((GROUP, WIDTH), np.int32)
        lanes, lane_names = np.empty((WIDTH, LANES), np.float32), np.empty((WIDTH, LANES), np.int32)
        every = np.arange(WIDTH).astype(np.int32)
        shape = ((longest + GROUP - 1) // GROUP * GROUP // LANES, LANES)
        back_best, back_queries = np.empty(shape, np.float32), np.empty(shape, np.int32)
        for c in range(candidates.shape[1]):
            label = candidates[t, c]
            others = labeled_edges[labeled_ptr[label] : labeled_ptr[label + 1]]
            if not len(others):
                continue
            best[:] = -np.inf
            keys[:] = -1
            for low in range(0, len(others), GROUP):
                some, lower = others[low : low + GROUP], key_halves[low:]
                _gather(middles, some, center, rows, lower)
                if not distance:
                    lower[: len(some)] = 0
                lower[len(some) : len(some) + ROWS] = np.inf
                if both:
                    back[:] = -np.inf
                    names[:] = -1
                for block in range(len(packed)):
                    vectors = min(across, num_vectors - block * across)
                    for row in range(0, len(some), ROWS):
                        match_tile(  # type: ignore[call-arg]
                            rows, row, packed, block, vectors, both, lower, halves, low, best, keys, back, names
                        )
                if both:
                    for first in range(0, len(some), LANES):
                        for part in range(0, LANES, WIDTH):
                            transpose_tile(back, first + part, 0, lanes, 0, part)  # type: ignore[call-arg]
                            transpose_tile(names, first + part, 0, lane_names, 0, part)
                        group = (low + first) // LANES
                        back_best[group] = -np.inf
                        back_queries[group] = -1
                        argmax_rows(lanes, lane_names, every, 0, WIDTH, back_best, back_queries, group)  # type: ignore[call-arg]
            there, way_back = best.ravel(), back_best.ravel()
            if distance:
                _to_distances(middles, own, others, halves.ravel(), key_halves, keys.ravel(), there)
            mean = _mean(there, len(own))
            if both:
                if distance:
                    _to_distances(middles, others, own, key_halves, halves.ravel(), back_queries.ravel(), way_back)
                mean = (mean + _mean(way_back, len(others))) / 2
            structure[t, c] = mean
