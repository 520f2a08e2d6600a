r"""Which labeled nodes may be among the K nearest of a target: upper and lower bounds of similarity.

1. Every labeled node has a first bound, from node similarity and from the centers of edges (`centers.py`).
2. A few more than K, those with the largest, are bounded from below by long vectors of their edges (`pair_bounds.py`):
   K labeled nodes are at least as similar as the K-th of these, the *least*.
3. All others whose first bound reaches the least are bounded by short vectors, then by long ones, which may raise it.

Those whose bound reaches the least in the end are the candidates. Shapes: T targets, L labeled nodes, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.similarity.kernels.bound_lanes import LONG
from se_gnn.similarity.kernels.centers import Centers
from se_gnn.similarity.kernels.first_bounds import first_bounds, kth_largest, likely_least, listed
from se_gnn.similarity.kernels.lanes import COLUMNS, ROWS, product_tile
from se_gnn.similarity.kernels.node_products import packed
from se_gnn.similarity.kernels.pair_bounds import BITS, Edges, Nodes, Terms, fill, pair_bounds, room_for

GROUP = 2 * ROWS  # targets whose products are formed together
BUCKETS = 512  # of labeled nodes, the best of which are likely near
SHARE = 4  # one in so many more than K of them


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    r"""Labeled nodes that may be among the K nearest of each target, by position, ascending, as CSR rows.

    ``short`` and ``long`` count the pairs of edges that were looked at. Bit k of ``there`` says whether the k-th edge
    of the labeled node may be the best match of an edge of the target; ``back`` is the same of the way back.

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
        terms: what similarity is made of.
    """

    targets: Nodes
    labeled: Nodes
    edges: Edges
    keys: Edges
    centers: Centers
    num_nearest: int
    terms: Terms

    @property
    def width(self) -> int:
        """Candidates of a target that there is room for at first."""
        return min(2 * self.num_nearest + 64, len(self.labeled.ids))

    @property
    def words(self) -> tuple[int, int]:
        """Whole numbers whose bits name the edges of a labeled node, and of a target where both directions count."""
        longest = [max(1, int(np.diff(edges.ptr).max(initial=0))) for edges in (self.keys, self.edges)]
        return -(-longest[0] // BITS), -(-longest[1] // BITS) * self.terms.both

    def candidates(self, some: IntArray) -> Candidates:
        """Those of some targets, by position."""
        width, right = self.width, packed(self.labeled.long, np.arange(len(self.labeled.ids)))
        found, counts, work = self._run(some, width, right)
        ptr = np.concatenate([[0], np.cumsum(counts)])
        fitting = counts <= width
        inside, outside = (np.arange(width) < counts[:, None]) & fitting[:, None], np.repeat(~fitting, counts)
        joined = [np.empty((ptr[-1], *values.shape[2:]), np.int64) for values in found]
        for whole, values in zip(joined, found, strict=True):
            whole[~outside] = values[inside]
        for i in np.flatnonzero(~fitting):  # many that are alike: a longer row
            rows, _, _ = self._run(some[i : i + 1], int(counts[i]), right)
            for whole, values in zip(joined, rows, strict=True):
                whole[ptr[i] : ptr[i + 1]] = values[0]
        positions, there, back = joined
        return Candidates(ptr, positions, there, back, int(work[:, 0].sum()), int(work[:, 1].sum()))

    def _run(self, some: IntArray, width: int, right: FloatArray) -> tuple[tuple[IntArray, ...], IntArray, IntArray]:
        """Positions and bits, [T, width, ...], how many there are, and the work that it took."""
        count = len(some)
        found = np.empty((count, width), np.int64)
        there, back = (np.empty((count, width, size), np.int64) for size in self.words)
        counts, work = np.zeros(count, np.int64), np.zeros((count, 2), np.int64)
        num_chunks = min(-(-count // GROUP), 16 * numba.get_num_threads())
        chunks = GROUP * np.linspace(0, -(-count // GROUP), num=num_chunks + 1).astype(np.int64)
        place = np.full(1 + max(self.targets.ids.max(initial=0), self.labeled.ids.max(initial=0)), -1, np.int64)
        place[self.labeled.ids] = np.arange(len(self.labeled.ids))
        left = np.zeros((chunks[-1], LONG), np.float32)
        left[:count] = self.targets.long[some]
        _search(
            some, place[self.targets.ids[some]], self.targets, self.labeled, self.edges, self.keys, self.centers,
            self.num_nearest, self.terms, left, right, chunks, found, there, back, counts, work,
        )  # fmt: skip
        return (found, there, back), counts, work


@numba.njit(parallel=True, cache=True, nogil=True)
def _search(
    some: IntArray,
    own_place: IntArray,
    targets: Nodes,
    labeled: Nodes,
    edges: Edges,
    keys: Edges,
    centers: Centers,
    num_nearest: int,
    terms: Terms,
    left: FloatArray,
    right: FloatArray,
    chunks: IntArray,
    found: IntArray,
    there: IntArray,
    back: IntArray,
    counts: IntArray,
    work: IntArray,
) -> None:
    """The candidates of some targets; ``own_place`` is where each stands among the labeled nodes, or -1."""
    num_labeled, width = len(labeled.ids), found.shape[1]
    longest, longest_key = 0, 0
    for t in some:
        longest = max(longest, edges.ptr[t + 1] - edges.ptr[t])
    for i in range(num_labeled):
        longest_key = max(longest_key, keys.ptr[i + 1] - keys.ptr[i])
    num_likely = min(num_nearest + num_nearest // SHARE + 4, num_labeled - 1)
    whole = num_labeled + -num_labeled % WIDTH
    buckets = min(max(BUCKETS, 4 * num_likely), whole)
    back_sizes = (longest_key, longest) if terms.both else (0, 0)
    for c in numba.prange(len(chunks) - 1):
        lanes, back_lanes = room_for(longest, longest_key), room_for(*back_sizes)
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
                row, size = gram[n - base, :whole], edges.ptr[t + 1] - edges.ptr[t]
                own = slice(centers.ptr[t], centers.ptr[t + 1])
                weight = terms.node_weight if size > 0 else np.float32(1)  # without edges the node alone counts
                first_bounds(
                    row, targets.squares[t], labeled.squares,
                    centers.apart, centers.at[own], centers.shares[own], centers.radii[own],
                    weight, np.float32(4) * terms.rounding, terms.unit, short,
                )  # fmt: skip
                if own_place[n] >= 0:
                    row[own_place[n]] = -np.inf
                fill(lanes, edges, t)
                count, least = 0, -np.float32(np.inf)
                reached = likely_least(row, num_likely, best, held)
                for _ in range(2):  # those that are likely near, then all others that reach the least
                    for p in range(listed(row, reached, places, lanes.limits)):
                        i = places[p]
                        above[count], below[count], looked = pair_bounds(
                            lanes, back_lanes, targets, labeled, edges, keys, terms, t, i, least,
                            bits[count], back_bits[count],
                        )  # fmt: skip
                        pairs = size * (keys.ptr[i + 1] - keys.ptr[i])
                        work[n, 0] += pairs * (least > -np.inf)
                        work[n, 1] += pairs * looked
                        row[i] = -np.inf  # known
                        if above[count] > -np.inf:
                            kept[count] = i
                            count += 1
                    least = kth_largest(below, count, num_nearest, held)
                    reached = least
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
                counts[n] = num_found
