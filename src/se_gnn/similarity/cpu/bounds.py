"""Bounds of similarity: a first one of a query and all cases, and closer ones of a pair by short vectors of edges.

The first bound of all pairs comes from node similarity and from the centers of edges. For a pair, the edges of one node
lie side by side, in lanes, and meet those of the other one after the other: what the best match of each is at most, by
vectors of `SHORT` coordinates; at most and at least, by vectors of `LONG`. Shapes: L cases, C centers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array
from se_gnn.similarity.cpu.lanes import FAST, LONG, PLAIN, SHORT, bound_long, bound_short
from se_gnn.similarity.cpu.short import UNDERFLOW, UNIT, Edges, Nodes, Terms

LOWEST = np.finfo(np.float32).min


class Lanes(NamedTuple):
    """Room for the edges of a node side by side, `WIDTH` in a block, and for what is found out about them."""

    short: FloatArray  # [blocks * SHORT, WIDTH]
    long: FloatArray  # [blocks * LONG, WIDTH]
    squares: FloatArray  # [blocks * WIDTH]
    there: FloatArray  # [blocks * WIDTH], 1, and 0 where edges end
    high: FloatArray  # [blocks, WIDTH], by short vectors
    sums: FloatArray  # [blocks], of the similarities that these stand for
    out: FloatArray  # [2, WIDTH], by long vectors


@compiled
def room_for(most: int) -> Lanes:
    """Room for up to ``most`` edges."""
    blocks = (most + WIDTH - 1) // WIDTH + 1
    return Lanes(
        np.zeros((blocks * SHORT, WIDTH), np.float32),
        np.zeros((blocks * LONG, WIDTH), np.float32),
        np.zeros(blocks * WIDTH, np.float32),
        np.zeros(blocks * WIDTH, np.float32),
        np.zeros((blocks, WIDTH), np.float32),
        np.zeros(blocks, np.float32),
        np.zeros((2, WIDTH), np.float32),
    )


@compiled(**PLAIN)
def fill(lanes: Lanes, edges: Edges, node: int) -> None:
    """Lay out the edges of a node; where they end, the last one again."""
    start, size = edges.ptr[node], edges.ptr[node + 1] - edges.ptr[node]
    for e in range(size + -size % WIDTH):
        block, lane = e // WIDTH, e % WIDTH
        name = edges.members[start + min(e, size - 1)]
        lanes.squares[e], lanes.there[e] = edges.squares[name], e < size
        for d in range(SHORT):
            lanes.short[block * SHORT + d, lane] = edges.short[name, d]
        for d in range(LONG):
            lanes.long[block * LONG + d, lane] = edges.long[name, d]


@compiled(**FAST)
def at_most(score: np.float32, square: np.float32, spare: np.float32, apart: np.float32, unit: bool) -> np.float32:
    """The similarity that a score stands for, plus what the score and the similarity may be wrong by."""
    if unit:
        return min(score, np.float32(1)) + spare
    distance: np.float32 = np.sqrt(max(square - np.float32(2) * (score + spare), np.float32(0)))
    return -max(distance - apart, np.float32(0))


@compiled(**FAST)
def at_least(score: np.float32, square: np.float32, spare: np.float32, apart: np.float32, unit: bool) -> np.float32:
    """The same less what they may be wrong by; the match that is found may be another that is as good but for that."""
    if unit:
        return score - np.float32(2) * spare
    distance: np.float32 = np.sqrt(max(square - np.float32(2) * score + np.float32(4) * spare, np.float32(0)))
    return -(distance + apart)


@compiled(**FAST)
def short_bound(
    lanes: Lanes, size: int, keys: Edges, other: int, spare: np.float32, apart: np.float32, unit: bool
) -> np.float32:
    """Upper bound of the mean similarity of some edges, in lanes, with their best matches among those of a node.

    Leaves the sum over each block in ``lanes.sums``.
    """
    start, end, total = keys.ptr[other], keys.ptr[other + 1], np.float32(0)
    for block in range((size + WIDTH - 1) // WIDTH):
        bound_short(lanes.short, block, keys.short, keys.offset, keys.members, start, end, lanes.high)
        some, low = np.float32(0), block * WIDTH
        for i in range(WIDTH):
            some += lanes.there[low + i] * at_most(lanes.high[block, i], lanes.squares[low + i], spare, apart, unit)
        lanes.sums[block] = some
        total += some
    return total / np.float32(size)


@compiled(**FAST)
def long_bounds(
    lanes: Lanes,
    size: int,
    keys: Edges,
    other: int,
    spare: np.float32,
    spare_below: np.float32,
    apart: np.float32,
    unit: bool,
    needed: np.float32,
    known: np.float32,
) -> tuple[np.float32, np.float32]:
    """Upper and lower bound of the same by long vectors; -inf both where the upper is found to be below ``needed``.

    ``known`` is an upper bound by short vectors, whose sums are in ``lanes.sums``; inf: there is none.
    """
    start, end = keys.ptr[other], keys.ptr[other + 1]
    count, above, below = np.float32(size), np.float32(0), np.float32(0)
    left = known * count
    for block in range((size + WIDTH - 1) // WIDTH):
        if (above + left) / count < needed:
            return -np.float32(np.inf), -np.float32(np.inf)
        left -= lanes.sums[block]
        bound_long(lanes.long, block, keys.long, keys.offset, keys.members, start, end, lanes.out)
        low = block * WIDTH
        for i in range(WIDTH):
            there, square = lanes.there[low + i], lanes.squares[low + i]
            above += there * at_most(lanes.out[0, i], square, spare, apart, unit)
            below += there * at_least(lanes.out[1, i], square, spare_below, apart, unit)
    return above / count, below / count


@compiled(**FAST)
def _product(a: FloatArray, b: FloatArray) -> np.float32:
    total = np.float32(0)
    for d in range(len(a)):
        total += a[d] * b[d]
    return total


@compiled(**FAST)
def _structure_bounds(
    lanes: Lanes,
    back_lanes: Lanes,
    edges: Edges,
    keys: Edges,
    terms: Terms,
    t: int,
    i: int,
    needed: np.float32,
) -> tuple[np.float32, np.float32, int]:
    """Upper and lower bound of structure similarity, and how often long vectors were looked at.

    Both are -inf where the upper is found to be below ``needed``. If that is -inf, short vectors cannot tell anything.
    """
    size, key_size = edges.ptr[t + 1] - edges.ptr[t], keys.ptr[i + 1] - keys.ptr[i]
    unit, lowest, half = terms.unit, -np.float32(np.inf), np.float32(0.5)
    below_spare = terms.rounding * (edges.noise[t] * keys.noise[i] if unit else edges.noise[t] + keys.noise[i])
    spare = min(below_spare, np.float32(4) * terms.rounding) if unit else below_spare  # worse is computed again
    apart = np.float32(4 * UNIT) * (edges.far[t] + keys.far[i])
    known, known_back = np.float32(np.inf), np.float32(np.inf)
    if terms.both:
        fill(back_lanes, keys, i)
    if needed > lowest:
        known = short_bound(lanes, size, keys, i, spare, apart, unit)
        if terms.both:
            known_back = short_bound(back_lanes, key_size, edges, t, spare, apart, unit)
        if (half * (known + known_back) if terms.both else known) < needed:
            return lowest, lowest, 0
    least = np.float32(2) * needed - known_back if terms.both else needed
    above, below = long_bounds(lanes, size, keys, i, spare, below_spare, apart, unit, least, known)
    if not terms.both or above == lowest:
        return above, below, 1
    least = np.float32(2) * needed - above
    back, back_below = long_bounds(back_lanes, key_size, edges, t, spare, below_spare, apart, unit, least, known_back)
    return half * (above + back), half * (below + back_below), 2


@compiled(**FAST)
def pair_bounds(
    lanes: Lanes,
    back_lanes: Lanes,
    queries: Nodes,
    cases: Nodes,
    edges: Edges,
    keys: Edges,
    terms: Terms,
    t: int,
    i: int,
    least: np.float32,
) -> tuple[np.float32, np.float32, int]:
    """Upper and lower bound of overall similarity, and how often long vectors were looked at.

    Both are -inf where the upper is found to be below ``least`` (-inf: none is known). The edges of the query are in
    ``lanes``.
    """
    size, key_size = edges.ptr[t + 1] - edges.ptr[t], keys.ptr[i + 1] - keys.ptr[i]
    one, lowest, unit = np.float32(1), -np.float32(np.inf), terms.unit
    together = queries.squares[t] + cases.squares[i]
    spare = np.float32(3) * terms.rounding * (one if unit else together + np.float32(UNDERFLOW))
    score = _product(queries.points[t], cases.points[i])
    upper = at_most(score, together, spare, np.float32(0), unit)
    lower = at_least(score, together, spare, np.float32(0), unit)
    rest, looked = one - terms.node_weight, 0
    if size > 0 and key_size > 0 and rest > 0:
        needed = lowest
        if least > lowest:
            needed = (least - terms.node_weight * upper) / rest
            needed -= np.float32(64 * UNIT) * (abs(needed) + (abs(least) + one) / rest)
        above, below, looked = _structure_bounds(lanes, back_lanes, edges, keys, terms, t, i, needed)
        if above == lowest:
            return lowest, lowest, looked
        wrong = np.float32((size + key_size) * 2 * UNIT)  # of a mean
        upper = terms.node_weight * upper + rest * (above + wrong * max(abs(above), one))
        lower = terms.node_weight * lower + rest * (below - wrong * max(abs(below), one))
    wrong = np.float32(8 * UNIT)
    return upper + wrong * (abs(upper) + one), lower - wrong * (abs(lower) + one), looked


@compiled(**FAST)
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
        for i in range(count):
            beyond = max(line[i] - radius, np.float32(0))
            short[i] += share * (beyond * beyond if unit else beyond)
    for i in range(count):
        if unit:
            upper = node_weight * min(row[i], np.float32(1)) + rest * (np.float32(1) - short[i]) + spare
        else:
            together = square + squares[i]
            wrong = spare * (together + np.float32(UNDERFLOW))
            distance = np.sqrt(max(together - np.float32(2) * (row[i] + wrong), np.float32(0)))
            upper = -(node_weight * distance + rest * short[i])
        row[i] = upper + np.float32(256 * UNIT) * (abs(upper) + np.float32(1))
    for i in range(count, len(row)):
        row[i] = -np.inf


@compiled(**PLAIN)
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


@compiled(**PLAIN)
def likely_least(row: FloatArray, k: int, best: FloatArray, held: FloatArray) -> np.float32:
    """A value that at least k of a row reach and few more: the k-th largest of the best in each of some buckets."""
    for j in range(len(best)):
        best[j] = -np.inf
    for low in range(0, len(row), len(best)):
        for j in range(min(len(best), len(row) - low)):
            best[j] = max(best[j], row[low + j])
    last: np.float32 = kth_largest(best, len(best), k, held)
    return last


@compiled(**PLAIN)
def listed(row: FloatArray, least: np.float32, places: Int32Array) -> int:
    """Places of the values of a row, but for -inf, that are not below ``least``, ascending; how many."""
    count, limit = 0, max(least, LOWEST)
    for i in range(len(row)):
        if not row[i] < limit:  # also where it is not a number
            places[count] = i
            count += 1
    return count
