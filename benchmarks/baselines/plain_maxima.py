"""The maxima of edge matching as plain loops that the compiler may vectorize: what `lanes.py` has to beat.

Same arguments and same results as `similarity/cpu/matching.py`. Shapes: Q query edges, L local graphs, P nodes of keys.
"""

from __future__ import annotations

import numba
import numpy as np

from se_gnn.graph.arrays import FloatArray, Int32Array
from se_gnn.similarity.cpu.lanes import LANES
from se_gnn.similarity.cpu.matching import ScoredKeys

STRIP = 64  # columns that are turned at a time


@numba.njit(parallel=True, cache=True)
def segment_argmax(gram: FloatArray, ends: Int32Array, keys: ScoredKeys, best: FloatArray, winners: Int32Array) -> None:
    """Best key of each query in each local graph, `LANES` queries at a time; ties: lowest key."""
    key_ends, scale, offset, ptr, members = keys
    num_queries, num_local = best.shape
    for block in numba.prange(len(ends) // LANES):
        low = block * LANES
        product = np.empty((gram.shape[1], LANES), np.float32)
        for first in range(0, gram.shape[1], STRIP):
            for lane in range(LANES):
                one, other = gram[ends[low + lane, 0]], gram[ends[low + lane, 1]]
                for p in range(first, min(first + STRIP, gram.shape[1])):
                    product[p, lane] = one[p] + other[p]
        top, names = np.empty(LANES, np.float32), np.empty(LANES, np.int32)
        for t in range(num_local):
            top[:], names[:] = -np.inf, -1
            for key in members[ptr[t] : ptr[t + 1]]:
                i, j, factor, shift = key_ends[key, 0], key_ends[key, 1], scale[key], offset[key]
                for lane in range(LANES):
                    score = (product[i, lane] + product[j, lane]) * factor + shift
                    better = score > top[lane]
                    top[lane] = score if better else top[lane]
                    names[lane] = key if better else names[lane]
            for lane in range(min(LANES, num_queries - low)):
                best[low + lane, t], winners[low + lane, t] = top[lane], names[lane]
