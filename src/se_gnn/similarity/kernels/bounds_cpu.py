r"""Which labeled nodes may be among the K nearest of a target: upper and lower bounds of similarity.

1. Every labeled node has a first bound, from node similarity and from the centers of edges (`centers.py`).
2. A few more than K, those with the largest, are bounded from below by long vectors of their edges (`pair_bounds.py`):
   K labeled nodes are at least as similar as the K-th of these, the *least*.
3. All others whose first bound reaches the least are bounded by short vectors, then by long ones, which may raise it.

Those whose bound reaches the least in the end are the candidates. Shapes: T targets, L labeled nodes, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.centers import Centers
from se_gnn.similarity.kernels.lanes import COLUMNS, LONG, ROWS, WIDTH, product_tile, which_reach
from se_gnn.similarity.kernels.node_products import packed
from se_gnn.similarity.kernels.pair_bounds import (
    BITS,
    Edges,
    at_least,
    at_most,
    fill,
    long_bounds,
    room_for,
    short_bound,
)
from se_gnn.similarity.short import UNIT

GROUP = 2 * ROWS  # targets whose products are formed together
BUCKETS = 512  # of labeled nodes, the best of which are likely near
SHARE = 4  # one in so many more than K of them


class Nodes(NamedTuple):
    r"""Nodes as bounds are made of them.

    Shapes:
        - **ids**, **squares:** :math:`(T,)`, **points:** :math:`(T, D)`, **long:** :math:`(T, LONG)`
    """

    ids: IntArray
    squares: FloatArray
    points: FloatArray
    long: FloatArray


class _At(NamedTuple):
    """The centers of each target, and how far labeled nodes are from each: see :class:`Centers`."""

    apart: FloatArray
    ptr: IntArray
    at: Int32Array
    sizes: FloatArray
    radii: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    r"""Labeled nodes that may be among the K nearest of each target, by position, ascending, as CSR rows.

    ``short`` and ``long`` count the pairs of edges that were looked at. Bit k of ``there`` says whether the k-th edge of
    the labeled node may be the best match of an edge of the target; ``back`` is the same of the way back.

    Shapes:
        - **ptr:** :math:`(T + 1,)`, **positions:** :math:`(n,)`, **there**, **back:** :math:`(n, words)`
    """

    ptr: IntArray
    positions: IntArray
    there: IntArray
    back: IntArray
    short: int
    long: int


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds of the similarity of targets and labeled nodes.

    Args:
        targets, labeled: the nodes of both sides.
        edges, keys: their edges.
        centers: of edges.
        num_nearest: K.
        node_weight: lambda.
        unit: the measure is the cosine, else minus the distance.
        both: both directions of matching count.
        rounding: what a sum may be wrong by, relative to the lengths of its vectors.
    """

    targets: Nodes
    labeled: Nodes
    edges: Edges
    keys: Edges
    centers: Centers
    num_nearest: int
    node_weight: float
    unit: bool
    both: bool
    rounding: float

    def candidates(self, some: IntArray) -> Candidates:
        """Those of some targets, by position."""
        num_labeled = len(self.labeled.ids)
        width = min(2 * self.num_nearest + 64, num_labeled)
        right = packed(self.labeled.long, np.arange(num_labeled))
        found, counts, work = self._run(some, width, right)
        ptr = np.concatenate([[0], np.cumsum(counts)])
        fitting = counts <= width
        inside, outside = (np.arange(width) < counts[:, None]) & fitting[:, None], np.repeat(~fitting, counts)
        listed = []
        for values in found:
            joined = np.empty((ptr[-1], *values.shape[2:]), np.int64)
            joined[~outside] = values[inside]
            listed.append(joined)
        for i in np.flatnonzero(~fitting):  # many that are alike: a longer row
            rows, _, _ = self._run(some[i : i + 1], int(counts[i]), right)
            for joined, values in zip(listed, rows, strict=True):
                joined[ptr[i] : ptr[i + 1]] = values[0]
        return Candidates(ptr, *listed, *(int(count) for count in work.sum(axis=0)))

    def _run(self, some: IntArray, width: int, right: FloatArray) -> tuple[tuple[IntArray, ...], IntArray, IntArray]:
        """Positions and bits, [T, width, ...], how many there are, and the work that it took."""
        count = len(some)
        found = np.empty((count, width), np.int64)
        words = [-(-int(np.diff(edges.ptr).max(initial=1)) // BITS) for edges in (self.keys, self.edges)]
        there, back = (np.empty((count, width, size), np.int64) for size in (words[0], words[1] * self.both))
        counts, work = np.zeros(count, np.int64), np.zeros((count, 2), np.int64)
        num_chunks = min(-(-count // GROUP), 16 * numba.get_num_threads())
        chunks = GROUP * np.linspace(0, -(-count // GROUP), num=num_chunks + 1).astype(np.int64)
        place = np.full(1 + max(self.targets.ids.max(initial=0), self.labeled.ids.max(initial=0)), -1, np.int64)
        place[self.labeled.ids] = np.arange(len(self.labeled.ids))
        left = np.zeros((chunks[-1], LONG), np.float32)
        left[:count] = self.targets.long[some]
        at = _At(*(getattr(self.centers, name) for name in _At._fields))
        _search(
            some, place[self.targets.ids[some]], self.targets, self.labeled, self.edges, self.keys, at,
            self.num_nearest, np.float32(self.node_weight), self.unit, self.both, np.float32(self.rounding),
            left, right, chunks, found, there, back, counts, work,
        )  # fmt: skip
        return (found, there, back), counts, work


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _first_bounds(
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
            distance = np.sqrt(max(together - np.float32(2) * (row[i] + spare * together), np.float32(0)))
            upper = -(node_weight * distance + rest * short[i])
            row[i] = upper + np.float32(256 * UNIT) * (abs(upper) + np.float32(1))
    for i in range(count, len(row)):
        row[i] = -np.inf


@numba.njit(cache=True, nogil=True)
def _kth_largest(values: FloatArray, count: int, k: int, held: FloatArray) -> np.float32:
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
    return held[k - 1]


@numba.njit(cache=True, nogil=True)
def _likely_least(row: FloatArray, k: int, best: FloatArray, held: FloatArray) -> np.float32:
    """A value that at least k of a row reach and few more: the k-th largest of the best in each of some buckets."""
    for j in range(len(best)):
        best[j] = -np.inf
    for low in range(0, len(row), len(best)):
        for j in range(min(len(best), len(row) - low)):
            best[j] = max(best[j], row[low + j])
    return _kth_largest(best, len(best), k, held)


@numba.njit(cache=True, nogil=True)
def _listed(row: FloatArray, least: np.float32, places: Int32Array) -> int:
    """Places of the values of a row that are not below ``least``, ascending; how many."""
    count, limits = 0, np.full(WIDTH, least, np.float32)
    for low in range(0, len(row), WIDTH):
        reached = which_reach(row, 0, low, limits)  # type: ignore[call-arg]
        if reached:
            for j in range(WIDTH):
                if (reached >> j) & 1:
                    places[count] = low + j
                    count += 1
    return count


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(a: FloatArray, b: FloatArray) -> np.float32:
    total = np.float32(0)
    for d in range(len(a)):
        total += a[d] * b[d]
    return total


@numba.njit(parallel=True, cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _search(
    some: IntArray,
    own_place: IntArray,
    targets: Nodes,
    labeled: Nodes,
    edges: Edges,
    keys: Edges,
    centers: _At,
    num_nearest: int,
    node_weight: np.float32,
    unit: bool,
    both: bool,
    rounding: np.float32,
    left: FloatArray,
    right: FloatArray,
    chunks: IntArray,
    found: IntArray,
    there: IntArray,
    back: IntArray,
    counts: IntArray,
    work: IntArray,
) -> None:
    """The candidates of some targets."""
    num_labeled, width = len(labeled.ids), found.shape[1]
    longest, longest_key = 0, 0
    for t in some:
        longest = max(longest, edges.ptr[t + 1] - edges.ptr[t])
    for i in range(num_labeled):
        longest_key = max(longest_key, keys.ptr[i + 1] - keys.ptr[i])
    num_likely = min(num_nearest + num_nearest // SHARE + 4, num_labeled - 1)
    whole = num_labeled + -num_labeled % WIDTH
    buckets = min(max(BUCKETS, 4 * num_likely), whole)
    for c in numba.prange(len(chunks) - 1):
        lanes, back_lanes = room_for(longest, longest_key), room_for(longest_key if both else 0, longest if both else 0)
        gram = np.empty((GROUP, len(right) * COLUMNS), np.float32)
        short = np.empty(num_labeled, np.float32)
        best, held = np.empty(buckets, np.float32), np.empty(max(num_likely, num_nearest), np.float32)
        places, kept = np.empty(whole, np.int32), np.empty(whole, np.int32)
        above, below = np.empty(whole, np.float32), np.empty(whole, np.float32)
        bits, back_bits = np.empty((whole, there.shape[2]), np.int64), np.empty((whole, back.shape[2]), np.int64)
        for base in range(chunks[c], chunks[c + 1], GROUP):
            group = left[base : base + GROUP]
            for block in range(len(right)):
                for r in range(0, GROUP, ROWS):
                    product_tile(group, r, right, block, gram)  # type: ignore[call-arg]
            for n in range(base, min(base + GROUP, len(some))):
                t = some[n]
                row = gram[n - base, :whole]
                size = edges.ptr[t + 1] - edges.ptr[t]
                own_weight = node_weight if size > 0 else np.float32(1)  # without edges the node alone counts
                rest = np.float32(1) - own_weight
                at, end = centers.ptr[t], centers.ptr[t + 1]
                scale = np.float32(0.5 if unit else 1) * np.float32(0.5 if both else 1)  # nothing is known of the way back
                shares = centers.sizes[at:end] * (scale / np.float32(max(size, 1)))
                _first_bounds(
                    row, targets.squares[t], labeled.squares, centers.apart, centers.at[at:end],
                    shares, centers.radii[at:end], own_weight, np.float32(4) * rounding, unit, short,
                )  # fmt: skip
                if own_place[n] >= 0:
                    row[own_place[n]] = -np.inf
                fill(lanes, edges, t)
                least, count, num_short, num_long = -np.float32(np.inf), 0, 0, 0
                first = _likely_least(row, num_likely, best, held)
                for turn in range(2):  # those that are likely near, then all others that reach the least
                    num_listed = _listed(row, first if turn == 0 else least, places)
                    for p in range(num_listed):
                        i = places[p]
                        key_size = keys.ptr[i + 1] - keys.ptr[i]
                        pairs = size * key_size
                        alone = pairs == 0 or rest == 0
                        together = targets.squares[t] + labeled.squares[i]
                        node_spare = np.float32(3) * rounding * (np.float32(1) if unit else together)
                        above_edges, below_edges = np.float32(0), np.float32(0)
                        known, known_back = np.float32(np.inf), np.float32(np.inf)
                        spare_below = rounding * (edges.noise[t] * keys.noise[i] if unit else edges.noise[t] + keys.noise[i])
                        spare = min(spare_below, np.float32(4) * rounding) if unit else spare_below
                        apart = np.float32(4 * UNIT) * (edges.far[t] + keys.far[i])
                        needed = -np.float32(np.inf)
                        bits[count] = -1
                        back_bits[count] = -1
                        score = _product(targets.points[t], labeled.points[i])
                        node_above = at_most(score, together, node_spare, np.float32(0), unit)
                        node_below = at_least(score, together, node_spare, np.float32(0), unit)
                        if not alone:
                            if turn == 1:
                                needed = (least - own_weight * node_above) / rest
                                needed -= np.float32(64 * UNIT) * (abs(needed) + (abs(least) + np.float32(1)) / rest)
                                num_short += pairs
                                known = short_bound(lanes, size, keys, i, spare, apart, unit)
                                if both:
                                    num_short += pairs
                                    fill(back_lanes, keys, i)
                                    known_back = short_bound(back_lanes, key_size, edges, t, spare, apart, unit)
                                    if (known + known_back) / np.float32(2) < needed:
                                        continue
                                elif known < needed:
                                    continue
                            num_long += pairs
                            above_edges, below_edges = long_bounds(
                                lanes, size, keys, i, spare, spare_below, apart, unit,
                                np.float32(2) * needed - known_back if both else needed, known, bits[count],
                            )  # fmt: skip
                            if below_edges == -np.inf:
                                continue
                            if both:
                                if turn == 0:
                                    fill(back_lanes, keys, i)
                                num_long += pairs
                                above_back, below_back = long_bounds(
                                    back_lanes, key_size, edges, t, spare, spare_below, apart, unit,
                                    np.float32(2) * needed - above_edges, known_back, back_bits[count],
                                )  # fmt: skip
                                if below_back == -np.inf:
                                    continue
                                above_edges = (above_edges + above_back) / np.float32(2)
                                below_edges = (below_edges + below_back) / np.float32(2)
                        wrong = np.float32((size + key_size) * 2 * UNIT) * max(abs(above_edges), np.float32(1))
                        weight = np.float32(1) if alone else own_weight
                        upper = weight * node_above + (np.float32(1) - weight) * (above_edges + wrong)
                        above[count] = upper + np.float32(8 * UNIT) * (abs(upper) + np.float32(1))
                        wrong = np.float32((size + key_size) * 2 * UNIT) * max(abs(below_edges), np.float32(1))
                        lower = weight * node_below
                        if weight < 1:
                            lower += (np.float32(1) - weight) * (below_edges - wrong)
                        below[count] = lower - np.float32(8 * UNIT) * (abs(lower) + np.float32(1))
                        kept[count] = i
                        count += 1
                        if turn == 0:
                            row[i] = -np.inf  # known
                    least = _kth_largest(below, count, num_nearest, held)
                num_found = 0
                for p in range(count):  # in the order of their positions
                    if above[p] >= least:
                        slot = num_found
                        while slot > 0 and kept[places[slot - 1]] > kept[p]:
                            places[slot] = places[slot - 1]
                            slot -= 1
                        places[slot] = p
                        num_found += 1
                for p in range(min(num_found, width)):
                    found[n, p] = kept[places[p]]
                    there[n, p] = bits[places[p]]
                    back[n, p] = back_bits[places[p]]
                counts[n], work[n, 0], work[n, 1] = num_found, num_short, num_long
