"""Upper bounds of similarity from short vectors: which labeled nodes may be among the K nearest of a target.

First every labeled node has a bound from node similarity alone, as if its local graph were the target's own. Where that
is high enough, its local graph is looked at. Shapes: T targets, L labeled nodes, S coordinates of a short vector.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numba
import numpy as np

from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.ranked_local import insertion_sort
from se_gnn.similarity.kernels.lanes import WIDTH, bound_lanes
from se_gnn.similarity.short import UNIT, ShortVectors

LOOKED_AT = 4  # times K: so many are looked at to find those that are likely near
FEWEST = 128  # but never fewer
BUCKETS = 512  # that they are found by
SPARE = 8  # one in so many more than K of them


@dataclass(frozen=True, slots=True, eq=False)
class BoundedSide:
    r"""Nodes and their edges as bounds are made of them.

    ``noise`` and ``far`` say how much rounding may add: see :mod:`se_gnn.similarity.search`.

    Shapes:
        - **ids**, **node_squares**, **noise**, **far:** :math:`(T,)`
        - **ptr:** :math:`(T + 1,)`, **members:** positions of the edges of each node in ``edges``
    """

    ids: IntArray
    node_squares: FloatArray
    edges: ShortVectors
    ptr: IntArray
    members: Int32Array
    noise: FloatArray
    far: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Upper bounds of the similarity of targets and labeled nodes.

    Args:
        targets, labeled: both sides.
        num_nearest: K.
        node_weight: lambda.
        unit: the measure is the cosine, else minus the distance.
        both: both directions of matching count.
        rounding: what a sum may be wrong by, relative to the lengths of its vectors.
    """

    targets: BoundedSide
    labeled: BoundedSide
    num_nearest: int
    node_weight: float
    unit: bool
    both: bool
    rounding: float

    def likely(self, low: int, products: FloatArray) -> Likely:
        """Labeled nodes that are likely near the targets from ``low`` on, a few more than K.

        Those with the largest bounds, of some that have the largest by node similarity alone; that is read from
        ``products`` of the vectors of nodes, [T, L].
        """
        tried = min(max(LOOKED_AT * self.num_nearest, FEWEST), products.shape[1])
        num_near = min(self.num_nearest + self.num_nearest // SPARE + 1, tried - 1)
        near, shape = np.empty((len(products), num_near), np.int32), (len(products), tried)
        looked = Likely(near, np.empty(shape, np.int32), np.empty(shape, np.float32))
        work = np.zeros(len(products), np.int64)
        self._run(low, products, np.empty(0, np.float32), looked, near, np.empty(0, np.int64), work)
        return dataclasses.replace(looked, work=int(work.sum()))

    def others(
        self, low: int, products: FloatArray, least: FloatArray, looked: Likely
    ) -> tuple[IntArray, IntArray, int]:
        """All others whose bound is not below ``least``, [T], as CSR rows, ascending, and the work it took."""
        counts, work = np.zeros(len(products), np.int64), np.zeros(len(products), np.int64)
        width = min(2 * self.num_nearest + 64, len(self.labeled.ids))
        found = np.empty((len(products), width), np.int32)
        self._run(low, products, least, looked, found, counts, work)
        ptr = np.concatenate([[0], np.cumsum(counts)])
        positions = np.empty(ptr[-1], np.int64)
        fitting = counts <= width
        positions[np.repeat(fitting, counts)] = found[(np.arange(width) < counts[:, None]) & fitting[:, None]]
        for i in np.flatnonzero(~fitting):  # many that are alike: a longer row
            row, one = np.empty((1, counts[i]), np.int32), slice(i, i + 1)
            again = np.zeros(1, np.int64), np.zeros(1, np.int64)
            self._run(low + int(i), products[one], least[one], looked.part(one), row, *again)
            positions[ptr[i] : ptr[i + 1]] = row[0]
        return ptr, positions, int(work.sum())

    def _run(
        self,
        low: int,
        products: FloatArray,
        least: FloatArray,
        looked: Likely,
        found: Int32Array,
        counts: IntArray,
        work: IntArray,
    ) -> None:
        count = len(products)
        chunks = np.linspace(0, count, num=min(count, 16 * numba.get_num_threads()) + 1).astype(np.int64)
        sides = [
            (
                side.ids, side.node_squares,
                side.edges.short, side.edges.squares, side.ptr, side.members, side.noise, side.far,
            )
            for side in (self.targets, self.labeled)
        ]  # fmt: skip
        _bounded(
            *sides[0], *sides[1], np.float32(self.node_weight), self.unit, self.both, np.float32(self.rounding),
            low, products, least, chunks, looked.near, looked.tried, looked.bounds, found, counts, work,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    r"""Labeled nodes that are likely near each target, and all that were looked at to find them, with their bounds.

    Shapes:
        - **near** (ascending, a labeled target itself left out): :math:`(T, n)`
        - **tried**, **bounds:** :math:`(T, m)`
    """

    near: Int32Array
    tried: Int32Array
    bounds: FloatArray
    work: int = 0  # pairs of edges looked at

    def part(self, some: slice) -> Likely:
        """Of some targets."""
        return Likely(self.near[some], self.tried[some], self.bounds[some])


# fastmath: what is computed here decides who is compared, with room for rounding, and never a result
@numba.njit(inline="always")
def _similarity(score: np.float32, square: np.float32, spare: np.float32, apart: np.float32, unit: bool) -> np.float32:
    """The similarity that a score stands for, plus what the score and the similarity may be wrong by."""
    if unit:
        return min(score, np.float32(1)) + spare
    distance: np.float32 = np.sqrt(max(square - np.float32(2) * (score + spare), np.float32(0)))
    return -max(distance - apart, np.float32(0))


@numba.njit(cache=True, nogil=True)
def _fill_lanes(short: FloatArray, members: Int32Array, start: int, end: int, lanes: FloatArray) -> None:
    """Edges side by side, WIDTH in a block; zeros where they end."""
    for block in range((end - start + WIDTH - 1) // WIDTH):
        for i in range(WIDTH):
            e = start + block * WIDTH + i
            for d in range(WIDTH):
                lanes[block * WIDTH + d, i] = short[members[e], d] if e < end else np.float32(0)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _structure_bound(
    lanes: FloatArray,
    squares: FloatArray,
    members: Int32Array,
    start: int,
    end: int,
    key_short: FloatArray,
    offset: FloatArray,
    key_members: Int32Array,
    key_start: int,
    key_end: int,
    spare: np.float32,
    apart: np.float32,
    unit: bool,
    needed: np.float32,
    out: FloatArray,
) -> np.float32:
    """Upper bound of the mean similarity of some edges, in lanes, with their best matches.

    Where it is sure to be below ``needed`` after some of the edges, the others count as equal to their matches.
    """
    most = np.float32(1) + spare if unit else np.float32(0)  # of equals
    size, total = np.float32(end - start), np.float32(0)
    for block in range((end - start + WIDTH - 1) // WIDTH):
        bound = (total + most * np.float32(end - start - block * WIDTH)) / size
        if bound < needed:
            return bound
        bound_lanes(lanes, block, key_short, offset, key_members, key_start, key_end, out)  # type: ignore[call-arg]
        low = start + block * WIDTH
        if end - low >= WIDTH:
            for i in range(WIDTH):
                total += _similarity(out[0, i], squares[members[low + i]], spare, apart, unit)
        else:
            for i in range(end - low):
                total += _similarity(out[0, i], squares[members[low + i]], spare, apart, unit)
    return total / size


@numba.njit(cache=True, nogil=True)
def _largest(values: FloatArray, count: int, held: FloatArray, places: Int32Array) -> None:
    """The places of the ``count`` largest values, by insertion."""
    kept = 0
    for i in range(len(values)):
        value = values[i]
        if kept == count and not value > held[count - 1]:
            continue
        slot = min(kept, count - 1)
        while slot > 0 and value > held[slot - 1]:
            held[slot], places[slot] = held[slot - 1], places[slot - 1]
            slot -= 1
        held[slot], places[slot] = value, i
        kept = min(kept + 1, count)


@numba.njit(cache=True, nogil=True)
def _about_largest(values: FloatArray, slots: IntArray, places: Int32Array) -> None:
    """The places of the largest values, as many as there is room for; of those that are nearly equal any."""
    high = low = values[0]
    for value in values:
        high, low = max(high, value), min(low, value)
    step = np.float32(BUCKETS) / max(high - low, np.float32(1e-30))
    for b in range(len(slots)):
        slots[b] = 0
    for value in values:
        slots[min(int((high - value) * step), BUCKETS)] += 1
    last, above = 0, 0  # the bucket in which the room ends, and how many come before it
    while above + slots[last] < len(places):
        above += slots[last]
        last += 1
    count, spare = 0, len(places) - above
    for i in range(len(values)):
        bucket = min(int((high - values[i]) * step), BUCKETS)
        if bucket < last or (bucket == last and spare > 0):
            spare -= bucket == last
            places[count] = i
            count += 1


@numba.njit(parallel=True, cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _bounded(
    ids: IntArray,
    node_squares: FloatArray,
    edge_short: FloatArray,
    edge_squares: FloatArray,
    edge_ptr: IntArray,
    columns: Int32Array,
    noise: FloatArray,
    far: FloatArray,
    labeled_ids: IntArray,
    labeled_squares: FloatArray,
    key_short: FloatArray,
    key_squares: FloatArray,
    key_ptr: IntArray,
    members: Int32Array,
    key_noise: FloatArray,
    key_far: FloatArray,
    node_weight: np.float32,
    unit: bool,
    both: bool,
    rounding: np.float32,
    low: int,
    products: FloatArray,
    least: FloatArray,
    chunks: IntArray,
    near: Int32Array,
    tried: Int32Array,
    bounds: FloatArray,
    found: Int32Array,
    counts: IntArray,
    work: IntArray,
) -> None:
    """Look at those with the largest first bounds (no ``least``), or at all others that reach the least."""
    likely = len(least) == 0
    num_labeled, rest = len(labeled_ids), np.float32(1) - node_weight
    most = np.float32(1) if unit else np.float32(0)  # the similarity of equals
    half = np.float32(0) if unit else np.float32(-0.5)
    offset, key_offset = half * edge_squares, half * key_squares
    longest = 0
    for t in range(low, low + len(products)):
        longest = max(longest, edge_ptr[t + 1] - edge_ptr[t])
    longest_key = 0
    if both:
        for i in range(num_labeled):
            longest_key = max(longest_key, key_ptr[i + 1] - key_ptr[i])
    num_tried, num_near = tried.shape[1], found.shape[1]
    for c in numba.prange(len(chunks) - 1):
        lanes = np.zeros((longest + WIDTH, WIDTH), np.float32)
        key_lanes = np.zeros((longest_key + WIDTH, WIDTH), np.float32)
        out = np.empty((1, WIDTH), np.float32)
        score, first = np.empty(num_labeled, np.float32), np.empty(num_labeled, np.float32)
        held, places = np.empty(num_tried, np.float32), np.empty(num_tried, np.int32)
        slots = np.empty(BUCKETS + 1, np.int64)
        passed = np.zeros(num_labeled, np.bool_)  # may be among the nearest, or is to be looked at
        for at in range(chunks[c], chunks[c + 1]):
            t = low + at
            start, end = edge_ptr[t], edge_ptr[t + 1]
            own = node_squares[t]
            for i in range(num_labeled):  # as if the local graphs were the same
                together = own + labeled_squares[i]
                spare = np.float32(16) * rounding * (np.float32(1) if unit else together)
                node = _similarity(products[at, i], together, spare, np.float32(0), unit)
                score[i] = node
                alone = end == start or key_ptr[i + 1] == key_ptr[i]
                upper = node if alone else node_weight * node + rest * most
                first[i] = upper + np.float32(8 * UNIT) * (abs(upper) + np.float32(1))
            if likely:
                _about_largest(first, slots, tried[at])
                for i in range(num_labeled):
                    passed[i] = False
                for k in range(num_tried):
                    passed[tried[at, k]] = True
            else:
                for i in range(num_labeled):
                    passed[i] = first[i] >= least[at]
                for k in range(num_tried):
                    passed[tried[at, k]] = False  # known already
            _fill_lanes(edge_short, columns, start, end, lanes)
            looked = 0
            for i in range(num_labeled):
                if not passed[i]:
                    continue
                key_start, key_end = key_ptr[i], key_ptr[i + 1]
                if end > start and key_end > key_start:
                    needed = -np.float32(np.inf)
                    if not likely and rest > 0:
                        needed = (least[at] - node_weight * score[i]) / rest
                        needed -= np.float32(64 * UNIT) * (abs(needed) + (abs(least[at]) + np.float32(1)) / rest)
                    spare = np.float32(16) * rounding if unit else np.float32(8) * rounding * (noise[t] + key_noise[i])
                    apart = np.float32(4 * UNIT) * (far[t] + key_far[i])
                    above = _structure_bound(
                        lanes, edge_squares, columns, start, end, key_short, key_offset, members, key_start, key_end,
                        spare, apart, unit, -np.float32(np.inf) if both else needed, out,
                    )  # fmt: skip
                    looked += (end - start) * (key_end - key_start)
                    if both:
                        _fill_lanes(key_short, members, key_start, key_end, key_lanes)
                        back = _structure_bound(
                            key_lanes, key_squares, members, key_start, key_end,
                            edge_short, offset, columns, start, end,
                            spare, apart, unit, np.float32(2) * needed - above, out,
                        )  # fmt: skip
                        above = (above + back) / np.float32(2)
                        looked += (end - start) * (key_end - key_start)
                    above += np.float32((end - start + key_end - key_start) * 2 * UNIT) * abs(above)
                    upper = node_weight * score[i] + rest * above
                    first[i] = upper + np.float32(8 * UNIT) * (abs(upper) + np.float32(1))
                if not likely:
                    passed[i] = first[i] >= least[at]
            work[at] = looked
            if likely:
                for k in range(num_tried):
                    i = tried[at, k]
                    bounds[at, k] = first[i] if labeled_ids[i] != ids[t] else -np.float32(np.inf)
                _largest(bounds[at], num_near, held, places)
                for k in range(num_near):
                    found[at, k] = tried[at, places[k]]
                insertion_sort(found[at], num_near)
            else:
                for k in range(num_tried):
                    passed[tried[at, k]] = bounds[at, k] >= least[at]
                for k in range(near.shape[1]):
                    passed[near[at, k]] = False  # compared already
                count = 0
                for i in range(num_labeled):
                    if passed[i] and labeled_ids[i] != ids[t]:
                        if count < num_near:
                            found[at, count] = i
                        count += 1
                counts[at] = count
