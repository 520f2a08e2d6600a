"""A first bound of the similarity of one target and all labeled nodes, and which of them reach a value.

Shapes: L labeled nodes, C centers.
"""

from __future__ import annotations

import numba
import numpy as np

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array
from se_gnn.similarity.kernels.bound_lanes import FAST, PLAIN, which_reach
from se_gnn.similarity.short import UNDERFLOW, UNIT

LOWEST = np.finfo(np.float32).min


@numba.njit(**FAST)
def first_bounds(
    row: FloatArray,
    square: np.float32,
    squares: FloatArray,
    apart: FloatArray,
    at: Int32Array,
    shares: FloatArray,
    radii: FloatArray,
    node_weight: np.float32,
    spare: np.float32,
    unit: bool,
    short: FloatArray,
) -> None:
    """Products of nodes, in ``row``, become upper bounds of overall similarity."""
    count, rest = len(squares), np.float32(1) - node_weight
    for i in range(count):
        short[i] = 0
    for g in range(len(at)):
        line, share, radius = apart[at[g]], shares[g], radii[g]
        if unit:
            for i in range(count):
                beyond = max(line[i] - radius, np.float32(0))
                short[i] += share * (beyond * beyond)
        else:
            for i in range(count):
                short[i] += share * max(line[i] - radius, np.float32(0))
    if unit:
        for i in range(count):
            upper = node_weight * min(row[i], np.float32(1)) + rest * (np.float32(1) - short[i]) + spare
            row[i] = upper + np.float32(256 * UNIT) * (abs(upper) + np.float32(1))
    else:
        for i in range(count):
            together = square + squares[i]
            wrong = spare * (together + np.float32(UNDERFLOW))
            distance = np.sqrt(max(together - np.float32(2) * (row[i] + wrong), np.float32(0)))
            upper = -(node_weight * distance + rest * short[i])
            row[i] = upper + np.float32(256 * UNIT) * (abs(upper) + np.float32(1))
    for i in range(count, len(row)):
        row[i] = -np.inf


@numba.njit(**PLAIN)
def kth_largest(values: FloatArray, count: int, k: int, held: FloatArray) -> np.float32:
    """The k-th largest of the first ``count`` values, by insertion; -inf if there are fewer."""
    for i in range(k):
        held[i] = -np.inf
    for i in range(count):
        value = values[i]
        if not value > held[k - 1]:
            continue
        slot = k - 1
        while slot > 0 and value > held[slot - 1]:
            held[slot] = held[slot - 1]
            slot -= 1
        held[slot] = value
    last: np.float32 = held[k - 1]
    return last


@numba.njit(**PLAIN)
def likely_least(row: FloatArray, k: int, best: FloatArray, held: FloatArray) -> np.float32:
    """A value that at least k of a row reach and few more: the k-th largest of the best in each of some buckets."""
    for j in range(len(best)):
        best[j] = -np.inf
    for low in range(0, len(row), len(best)):
        for j in range(min(len(best), len(row) - low)):
            best[j] = max(best[j], row[low + j])
    last: np.float32 = kth_largest(best, len(best), k, held)
    return last


@numba.njit(**PLAIN)
def listed(row: FloatArray, least: np.float32, places: Int32Array, limits: FloatArray) -> int:
    """Places of the values of a row, but for -inf, that are not below ``least``, ascending; how many."""
    count = 0
    for j in range(WIDTH):
        limits[j] = max(least, LOWEST)
    for low in range(0, len(row), WIDTH):
        reached: int = which_reach(row, 0, low, limits)  # type: ignore[call-arg]
        if reached:
            for j in range(WIDTH):
                if (reached >> j) & 1:
                    places[count] = low + j
                    count += 1
    return count
