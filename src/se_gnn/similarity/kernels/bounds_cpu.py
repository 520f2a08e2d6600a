"""Bounds of similarity from short vectors: which labeled nodes may be among the K nearest of a target.

First every labeled node has an upper bound from node similarity alone, as if its local graph were the target's own. Of
those that are highest the local graphs are looked at: K of them are surely at least as similar as the K-th highest of
their lower bounds, the *limit*. What else may reach the limit is looked at too, coarsely, then finely, and raises it.
Shapes: T targets, L labeled nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.ranked_local import insertion_sort
from se_gnn.similarity.kernels.lanes import (
    COARSE,
    FINE,
    WIDTH,
    bound_coarse,
    bound_coarse_both,
    bound_fine,
    bound_fine_both,
)
from se_gnn.similarity.kernels.rounding import CANCELED
from se_gnn.similarity.short import UNIT

FIRST_LOOK = 4  # times K: about so many are looked at to find a limit
FEWEST = 64  # but never fewer
SAMPLE = 2048  # labeled nodes that tell which are the highest


class BoundedSide(NamedTuple):
    r"""Nodes and their edges as bounds are made of them.

    ``noise`` and ``far`` say how much rounding may add: see :mod:`se_gnn.similarity.search`.

    Shapes:
        - **ids**, **noise**, **far:** :math:`(T,)`, **points:** :math:`(T, D)`, **squares:** :math:`(T,)`
        - **coarse**, **fine**, **offset** (what an edge adds to its scores): of each edge
        - **ptr:** :math:`(T + 1,)`, **members:** rows of the edges of each node; of a labeled node side by side
    """

    ids: IntArray
    points: FloatArray
    squares: FloatArray
    coarse: FloatArray
    fine: FloatArray
    offset: FloatArray
    ptr: IntArray
    members: Int32Array
    noise: FloatArray
    far: FloatArray


class _Rules(NamedTuple):
    """What all bounds depend on."""

    node_weight: np.float32  # lambda
    unit: bool  # the measure is the cosine, else minus the distance
    both: bool  # both directions of matching count
    rounding: np.float32  # what a sum may be wrong by, relative to the lengths of its vectors


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds of the similarity of targets and labeled nodes.

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

    def possible(self, low: int, products: FloatArray) -> Possible:
        """Labeled nodes that may be among the K nearest of the targets from ``low`` on; no other is.

        ``products``: of the vectors of the nodes, made short, [T, L].
        """
        width = min(4 * self.num_nearest + 64, len(self.labeled.ids))
        found, counts, work = self._run(low, products, width)
        ptr = np.concatenate([[0], np.cumsum(counts)])
        positions = np.empty(ptr[-1], np.int64)
        fitting = counts <= width
        positions[np.repeat(fitting, counts)] = found[(np.arange(width) < counts[:, None]) & fitting[:, None]]
        for i in np.flatnonzero(~fitting):  # many that are alike: a longer row
            row, _, _ = self._run(low + int(i), products[i : i + 1], int(counts[i]))
            positions[ptr[i] : ptr[i + 1]] = row[0]
        return Possible(ptr, positions, coarse=int(work[:, 0].sum()), fine=int(work[:, 1].sum()))

    def _run(self, low: int, products: FloatArray, width: int) -> tuple[Int32Array, IntArray, IntArray]:
        count = len(products)
        found, counts, work = (
            np.empty((count, width), np.int32),
            np.empty(count, np.int64),
            np.empty((count, 2), np.int64),
        )
        chunks = np.linspace(0, count, num=min(count, 16 * numba.get_num_threads()) + 1).astype(np.int64)
        rules = _Rules(np.float32(self.node_weight), self.unit, self.both, np.float32(self.rounding))
        _possible(self.targets, self.labeled, rules, self.num_nearest, low, products, chunks, found, counts, work)
        return found, counts, work


@dataclass(frozen=True, slots=True, eq=False)
class Possible:
    """Labeled nodes by position, as CSR rows, ascending, with the pairs of edges that were looked at to find them."""

    ptr: IntArray
    positions: IntArray
    coarse: int
    fine: int


class _Room(NamedTuple):
    """What one thread works in: the edges of a target in lanes, and the bounds of its matches."""

    coarse: FloatArray
    fine: FloatArray
    shift: FloatArray
    out: FloatArray  # [2, WIDTH]: upper and lower
    back: FloatArray  # [2, edges of a labeled node]


# fastmath: what is computed here decides who is compared, with room for rounding, and never a result
@numba.njit(inline="always")
def _at_most(score: np.float32, spare: np.float32, apart: np.float32, unit: bool) -> np.float32:
    """The similarity that a score stands for, plus what both may be wrong by."""
    if unit:
        return min(score, np.float32(1)) + spare
    distance: np.float32 = np.sqrt(max(np.float32(-2) * (score + spare), np.float32(0)))
    return -max(distance - apart, np.float32(0))


@numba.njit(inline="always")
def _at_least(score: np.float32, spare: np.float32, apart: np.float32, unit: bool) -> np.float32:
    """The same, less what both may be wrong by."""
    if unit:
        return score - spare
    distance: np.float32 = np.sqrt(max(np.float32(-2) * (score - spare), np.float32(0)))
    return -(distance + apart)


@numba.njit(cache=True, nogil=True)
def _fill(side: BoundedSide, t: int, room: _Room) -> None:
    """The edges of a target side by side, WIDTH in a block; where they end there is none."""
    start, end = side.ptr[t], side.ptr[t + 1]
    for block in range((end - start + WIDTH - 1) // WIDTH):
        for i in range(WIDTH):
            at = start + block * WIDTH + i
            edge = side.members[min(at, end - 1)]
            for d in range(COARSE):
                room.coarse[block * COARSE + d, i] = side.coarse[edge, d]
            for d in range(FINE):
                room.fine[block * FINE + d, i] = side.fine[edge, d]
            room.shift[block, i] = side.offset[edge] if at < end else -np.float32(np.inf)


# inline: a call would take as long as a coarse look
@numba.njit(inline="always", fastmath={"reassoc", "contract"})
def _one_way(
    labeled: BoundedSide,
    i: int,
    num_edges: int,
    rules: _Rules,
    spare: np.float32,
    less: np.float32,
    apart: np.float32,
    needed: np.float32,
    fine: bool,
    room: _Room,
) -> tuple[np.float32, np.float32]:
    """Upper and lower bound of the mean similarity of a target's edges with their best matches.

    Where the upper bound is sure to be below ``needed`` after some of the edges, the others count as equal to their
    matches, and the lower bound is none.
    """
    start, end = labeled.ptr[i], labeled.ptr[i + 1]
    most = np.float32(1) + spare if rules.unit else np.float32(0)  # of equals
    upper, lower = most * np.float32(num_edges), np.float32(0)
    needed *= np.float32(num_edges)
    for block in range((num_edges + WIDTH - 1) // WIDTH):
        if upper < needed:
            lower = -np.float32(np.inf)
            break
        if fine:
            bound_fine(room.fine, room.shift, block, labeled.fine, labeled.offset, start, end, room.out, room.back)
        else:
            bound_coarse(
                room.coarse, room.shift, block, labeled.coarse, labeled.offset, start, end, room.out, room.back
            )
        for k in range(min(WIDTH, num_edges - block * WIDTH)):
            upper += _at_most(room.out[0, k], spare, apart, rules.unit) - most
        if fine:
            for k in range(min(WIDTH, num_edges - block * WIDTH)):
                lower += _at_least(room.out[1, k], less, apart, rules.unit)
    return upper / np.float32(num_edges), lower / np.float32(num_edges)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _both_ways(
    labeled: BoundedSide,
    i: int,
    num_edges: int,
    rules: _Rules,
    spare: np.float32,
    less: np.float32,
    apart: np.float32,
    fine: bool,
    room: _Room,
) -> tuple[np.float32, np.float32]:
    """The same of both directions: the mean of theirs."""
    start, end = labeled.ptr[i], labeled.ptr[i + 1]
    for k in range(end - start):
        room.back[0, k] = room.back[1, k] = -np.float32(np.inf)
    upper = lower = upper_back = lower_back = np.float32(0)
    for block in range((num_edges + WIDTH - 1) // WIDTH):
        if fine:
            bound_fine_both(room.fine, room.shift, block, labeled.fine, labeled.offset, start, end, room.out, room.back)
        else:
            bound_coarse_both(
                room.coarse, room.shift, block, labeled.coarse, labeled.offset, start, end, room.out, room.back
            )
        for k in range(min(WIDTH, num_edges - block * WIDTH)):
            upper += _at_most(room.out[0, k], spare, apart, rules.unit)
            lower += _at_least(room.out[1, k], less, apart, rules.unit) if fine else np.float32(0)
    for k in range(end - start):
        upper_back += _at_most(room.back[0, k], spare, apart, rules.unit)
        lower_back += _at_least(room.back[1, k], less, apart, rules.unit) if fine else np.float32(0)
    own, other = np.float32(2 * num_edges), np.float32(2 * (end - start))
    return upper / own + upper_back / other, lower / own + lower_back / other


@numba.njit(cache=True, nogil=True)
def _raise(held: FloatArray, kept: int, value: np.float32) -> int:
    """Put a value where it belongs among the largest so far, in falling order; how many there are now."""
    count = len(held)
    if kept == count and not value > held[count - 1]:
        return kept
    slot = min(kept, count - 1)
    while slot > 0 and value > held[slot - 1]:
        held[slot] = held[slot - 1]
        slot -= 1
    held[slot] = value
    return min(kept + 1, count)


@numba.njit(cache=True, nogil=True)
def _highest_from(values: FloatArray, count: int) -> np.float32:
    """A value that about ``count`` reach, told by some of them."""
    step = max(1, len(values) // SAMPLE)
    held, kept = np.empty(max(1, count // step), np.float32), 0
    for i in range(0, len(values), step):
        kept = _raise(held, kept, values[i])
    lowest: np.float32 = held[kept - 1]
    return lowest


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _first_bounds(
    targets: BoundedSide, t: int, labeled: BoundedSide, rules: _Rules, products: FloatArray, first: FloatArray
) -> None:
    """Upper bounds of one target from node similarity alone, as if the local graphs were the same."""
    own, weight, wide = targets.squares[t], rules.node_weight, np.float32(4) * rules.rounding
    alone = targets.ptr[t] == targets.ptr[t + 1]
    if alone:
        weight = np.float32(1)
    rest = (np.float32(1) - weight) * (np.float32(1) if rules.unit else np.float32(0))
    if rules.unit:
        for i in range(len(first)):
            upper = weight * (min(products[i], np.float32(1)) + wide) + rest
            first[i] = upper + np.float32(8 * UNIT) * (abs(upper) + np.float32(1))
    else:
        for i in range(len(first)):
            together = own + labeled.squares[i]
            square = together - np.float32(2) * (products[i] + wide * together)
            upper = -weight * np.sqrt(max(square, np.float32(0)))
            first[i] = upper + np.float32(8 * UNIT) * (abs(upper) + np.float32(1))


@numba.njit(cache=True, nogil=True)
def _alone(
    targets: BoundedSide, t: int, labeled: BoundedSide, i: int, rules: _Rules, product: np.float32
) -> np.float32:
    """Upper bound of the similarity of two nodes that are compared without their edges."""
    together = targets.squares[t] + labeled.squares[i]
    score = product if rules.unit else product - np.float32(0.5) * together
    spare = np.float32(4) * rules.rounding * (np.float32(1) if rules.unit else together)
    upper = _at_most(score, spare, np.float32(0), rules.unit)
    return upper + np.float32(8 * UNIT) * (abs(upper) + np.float32(1))


@numba.njit(inline="always", fastmath={"reassoc", "contract"})
def _look(
    targets: BoundedSide,
    t: int,
    labeled: BoundedSide,
    i: int,
    rules: _Rules,
    product: np.float32,
    limit: np.float32,
    fine: bool,
    room: _Room,
) -> tuple[np.float32, np.float32]:
    """Upper and lower bound of the similarity of a target and a labeled node; an upper bound below the limit ends it.

    The lower bound holds if it is looked at finely; then the ``product`` of the nodes is formed of their whole vectors.
    """
    unit, weight = rules.unit, rules.node_weight
    rest = np.float32(1) - weight
    together = targets.squares[t] + labeled.squares[i]
    if fine:
        product = np.float32(0)
        for d in range(targets.points.shape[1]):
            product += targets.points[t, d] * labeled.points[i, d]
    score = product if unit else product - np.float32(0.5) * together
    spare = np.float32(4) * rules.rounding * (np.float32(1) if unit else together)
    upper, lower = _at_most(score, spare, np.float32(0), unit), _at_least(score, spare, np.float32(0), unit)
    num_edges = targets.ptr[t + 1] - targets.ptr[t]
    if num_edges > 0 and labeled.ptr[i + 1] > labeled.ptr[i]:
        needed = -np.float32(np.inf)
        if rest > 0:
            needed = (limit - weight * upper) / rest
            needed -= np.float32(64 * UNIT) * (abs(needed) + (abs(limit) + np.float32(1)) / rest)
        if unit:  # ends that are longer than their edges add to what is lost, up to where edges are compared again
            longer = targets.noise[t] * labeled.noise[i]
            spare = rules.rounding * (np.float32(2) + min(longer, np.sqrt(CANCELED)))
            less = rules.rounding * (np.float32(2) + np.float32(2) * longer)
        else:
            spare = less = np.float32(4) * rules.rounding * (targets.noise[t] + labeled.noise[i])
        apart = np.float32(4 * UNIT) * (targets.far[t] + labeled.far[i])
        if rules.both:
            high, low = _both_ways(labeled, i, num_edges, rules, spare, less, apart, fine, room)
        else:
            high, low = _one_way(labeled, i, num_edges, rules, spare, less, apart, needed, fine, room)
        sums = np.float32((num_edges + labeled.ptr[i + 1] - labeled.ptr[i]) * 4 * UNIT)  # what they may be rounded by
        high += sums * max(abs(high), np.float32(1))
        low -= sums * max(abs(low), np.float32(1))
        upper, lower = weight * upper + rest * high, weight * lower + rest * low
    upper += np.float32(8 * UNIT) * (abs(upper) + np.float32(1))
    lower -= np.float32(8 * UNIT) * (abs(lower) + np.float32(1))
    return upper, lower


@numba.njit(parallel=True, cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _possible(
    targets: BoundedSide,
    labeled: BoundedSide,
    rules: _Rules,
    num_nearest: int,
    low: int,
    products: FloatArray,
    chunks: IntArray,
    found: Int32Array,
    counts: IntArray,
    work: IntArray,
) -> None:
    """Which labeled nodes may be among the nearest of each target; as many of them as ``found`` has room for."""
    num_labeled, nothing = len(labeled.ids), -np.float32(np.inf)
    longest = longest_key = 0
    for t in range(low, low + len(products)):
        longest = max(longest, targets.ptr[t + 1] - targets.ptr[t])
    for i in range(num_labeled):
        longest_key = max(longest_key, labeled.ptr[i + 1] - labeled.ptr[i])
    bare = np.flatnonzero(labeled.ptr[1:] == labeled.ptr[:-1])  # without edges: compared by node similarity alone
    num_first = max(FIRST_LOOK * num_nearest, FEWEST)
    num_blocks = (longest + WIDTH - 1) // WIDTH
    for c in numba.prange(len(chunks) - 1):
        room = _Room(
            np.empty((num_blocks * COARSE, WIDTH), np.float32),
            np.empty((num_blocks * FINE, WIDTH), np.float32),
            np.empty((num_blocks, WIDTH), np.float32),
            np.empty((2, WIDTH), np.float32),
            np.empty((2, longest_key), np.float32),
        )
        first, upper = np.empty(num_labeled, np.float32), np.empty(num_labeled, np.float32)
        listed, held = np.empty(num_labeled, np.int32), np.empty(num_nearest, np.float32)
        left, bounds = np.empty(num_labeled, np.int32), np.empty(num_labeled, np.float32)
        for at in range(chunks[c], chunks[c + 1]):
            t = low + at
            num_edges = targets.ptr[t + 1] - targets.ptr[t]
            _first_bounds(targets, t, labeled, rules, products[at], first)
            for k in range(len(bare)):
                first[bare[k]] = _alone(targets, t, labeled, bare[k], rules, products[at, bare[k]])
            mark = _highest_from(first, num_first)
            _fill(targets, t, room)
            limit, kept, num_listed = nothing, 0, 0
            work[at, 0] = work[at, 1] = 0
            for later in range(2):
                count = 0
                for i in range(num_labeled):
                    if (first[i] >= mark) == later or first[i] < limit or labeled.ids[i] == targets.ids[t]:
                        continue
                    work[at, 0] += num_edges * (labeled.ptr[i + 1] - labeled.ptr[i])
                    bounds[count], _ = _look(targets, t, labeled, i, rules, products[at, i], limit, False, room)
                    left[count] = i
                    count += not bounds[count] < limit
                for k in np.argsort(-bounds[:count]):  # the highest first: they raise the limit
                    if bounds[k] < limit:
                        break
                    i = left[k]
                    work[at, 1] += num_edges * (labeled.ptr[i + 1] - labeled.ptr[i])
                    above, below = _look(targets, t, labeled, i, rules, products[at, i], limit, True, room)
                    if not above < limit:
                        listed[num_listed], upper[num_listed] = i, above
                        num_listed += 1
                        kept = _raise(held, kept, below)
                        limit = held[num_nearest - 1] if kept == num_nearest else limit
            count = 0
            for k in range(num_listed):
                if not upper[k] < limit:
                    if count < found.shape[1]:
                        found[at, count] = listed[k]
                    count += 1
            counts[at] = count
            insertion_sort(found[at], min(count, found.shape[1]))
