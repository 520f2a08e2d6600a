r"""The nearest among many cases, exactly, without comparing all.

Bounds prove of most cases that they are not among the nearest; the rest are compared as always (`pairs.py`). So the
nearest, their order and every bit of their similarities are those of a comparison with all cases.

1. Every case has a first bound, from node similarity and from the centers of edges.
2. A few more than are wanted, those with the largest, are compared: as many cases as are wanted are at least as similar
   as the last of these, the *least*.
3. All others whose first bound reaches the least are bounded by short vectors of their edges, then by longer ones;
   those whose bound still reaches it are compared as well.

Shapes: T queries, L cases, d nearest, n pairs, D dimensions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from se_gnn.device import items_within
from se_gnn.graph.arrays import FloatArray, IntArray, row_starts
from se_gnn.similarity.backend import Nearest, top
from se_gnn.similarity.comparison import Comparison, combine
from se_gnn.similarity.cpu.bounds import (
    LONG,
    SHORT,
    UNIT,
    Centers,
    Edges,
    ShortVectors,
    Terms,
    directions,
    first_bounds,
    pair_bounds,
    rounding,
    shorter,
)
from se_gnn.similarity.cpu.matching import Vectors

BLOCK_BYTES = 1 << 26  # bounds held at a time
FEWEST_CASES = 1000  # with fewer cases, or fewer pairs, preparing the search would cost more than it saves
FEWEST_PAIRS = 1 << 25
LARGEST = 1e15  # number in a vector, so that no product overflows
TOGETHER = 12  # queries that come in any order
SHARE = 8  # at most one case in 8 may be wanted
PROBES, IN_A_PROBE = 8, 4  # queries that are tried first: 8 times 4 in a row
BUCKETS = 512  # of cases, the best of which are likely near
SPARE = 4  # a quarter more cases than are wanted count as likely near

# What things cost, in nanoseconds on one core; only their ratios count.
FIRST = 2.5  # a pair of nodes, by node similarity and centers
BOUND = 0.035  # a pair of edges, by short vectors, per number of these
EXACT = 0.023  # a pair of edges of two nodes that are compared alone, per dimension
MATCH = 0.45  # a pair of edges, where all are compared with all
PRODUCT = 0.025  # a product of two nodes there, per dimension
PAIR = 55.0  # a pair of nodes there, besides its edges
MARGIN = 0.8  # share of the full cost up to which the search is worth it: what is estimated is not known


def nearest_by_bounds(comparison: Comparison, count: int, budget: int) -> Nearest | None:
    """The ``count`` nearest cases of each query, [T, count], nearest first; None: comparing all is the better way.

    That is decided by counts alone: of cases and queries, and of what the bounds left over for some queries.
    """
    num_cases, num_queries = len(comparison.cases), len(comparison.queries)
    many = num_cases >= FEWEST_CASES and num_cases * num_queries >= FEWEST_PAIRS
    few_wanted = SHARE * count <= num_cases and count <= num_cases - 2
    known = not comparison.both and comparison.node_weight > 0 and comparison.plain
    if not (many and few_wanted and known and bool((comparison.h.abs() < LARGEST).all())):
        return None
    edges = len(comparison.queries.queries) + len(comparison.cases.keys)
    if 4 * ((SHORT + LONG + 4) * edges + LONG * (num_cases + num_queries)) > budget // 2:
        return None
    search = Search(comparison, count, budget=budget)
    return search.nearest() if search.pays() else None


class Search:
    """Finds the nearest cases of the queries of a comparison; one direction, edges that all count the same."""

    def __init__(self, comparison: Comparison, count: int, *, budget: int = BLOCK_BYTES) -> None:
        self.comparison, self.count, self.budget = comparison, count, budget
        self.queries, self.cases, measure = comparison.queries, comparison.cases, comparison.measure
        self.depth, vectors, (self.way,) = comparison.h.shape[1], Vectors.of(comparison.points), comparison.there()
        self.terms = Terms(np.float32(comparison.node_weight), measure.unit, rounding(self.depth))
        asking, answering = (
            measure.points(torch.from_numpy(vectors.moved[side.nodes])).numpy() for side in (self.queries, self.cases)
        )
        axes = directions(answering)
        edges, keys = (Edges.of(side, vectors, axes, unit=measure.unit) for side in self.way)
        quick = edges._replace(short=shorter(edges.short)), keys._replace(short=shorter(keys.short))
        self.levels = [quick, (edges, keys)]
        self.centers = Centers.of(*quick, self.terms)
        self.asking, self.answering = (
            ShortVectors.of(points, np.repeat(np.arange(len(points)), 2).reshape(-1, 2), axes)
            for points in (asking, answering)
        )
        # queries that lie close come close: what one of them looks at is then still in the cache for the next
        self.order = np.asarray(KDTree(self.asking.short, leafsize=TOGETHER).indices, np.int64)

    def pays(self) -> bool:
        """Whether this takes less work than to compare all, as far as some of the queries tell."""
        num_queries, full = len(self.queries), self._full_work()
        starts = range(0, num_queries, max(1, num_queries // PROBES))
        probes = [self.order[low : low + IN_A_PROBE] for low in starts]
        spare = MARGIN * full * sum(len(some) for some in probes)
        for some in probes:
            spare -= self._work(some)
            if spare <= 0:  # if no bound separates anything, one look is enough
                return False
        return True

    def _work(self, some: IntArray) -> float:
        """What it takes to find the nearest of some queries."""
        found = self.candidates(some)
        matched = self._pairs_of_edges(some, *found.near) + self._pairs_of_edges(some, *found.others)
        return FIRST * len(self.cases) * len(some) + BOUND * found.looked + EXACT * self.depth * matched

    def _pairs_of_edges(self, some: IntArray, rows: IntArray, positions: IntArray) -> int:
        return int((self.queries.sizes[some[rows]] * self.cases.sizes[positions]).sum())

    def _full_work(self) -> float:
        """What it takes to compare one query with all cases, where all queries are compared."""
        queries, keys = self.way
        full = MATCH * len(queries) * len(keys.columns)
        full += PRODUCT * self.depth * len(queries.distinct_ends[0]) * len(keys.distinct_ends[0])
        return full / len(self.queries) + PAIR * len(self.cases)

    def nearest(self) -> Nearest:
        """The nearest cases of every query, nearest first, [T, d]."""
        num_queries = len(self.queries)
        step = items_within(min(self.budget // 8, BLOCK_BYTES), 8 * len(self.cases), num_queries)
        blocks = [self._nearest(self.order[low : low + step]) for low in range(0, num_queries, step)]
        return Nearest.joined(blocks, dim=0).taken(torch.from_numpy(np.argsort(self.order)))

    def _nearest(self, some: IntArray) -> Nearest:
        """The same of some queries; ties go to the first position."""
        found = self.candidates(some)
        rows, positions = (np.concatenate(both) for both in zip(found.near, found.others))
        order = np.lexsort((positions, rows))
        both = Nearest.joined([found.compared, self._compared(some, *found.others)], dim=0)
        both = both.taken(torch.from_numpy(order))
        best = top(self._table(rows[order], both.overall, len(some)), self.count)
        return both.taken(best + torch.from_numpy(_starts(rows, len(some))[:-1, None]))

    def candidates(self, some: IntArray) -> Candidates:
        """Those of some queries."""
        upper = self.upper(some)
        buckets = min(max(BUCKETS, 4 * self.count), upper.shape[1])
        best = upper[:, : upper.shape[1] // buckets * buckets].reshape(len(some), -1, buckets).max(axis=1)
        likely = min(self.count + self.count // SPARE + 4, buckets - 1)
        near = _reaching(upper, np.partition(best, -likely, axis=1)[:, -likely])
        compared = self._compared(some, *near)
        least = self._table(near[0], compared.overall, len(some)).topk(self.count, dim=1).values[:, -1].numpy()
        upper[near] = -np.inf  # known
        (rows, positions), looked = _reaching(upper, least), 0
        for edges, keys in self.levels:
            looked += edges.short.shape[1] * self._pairs_of_edges(some, rows, positions)
            reach = ~(self._bounds(edges, keys, some, rows, positions) < least[rows])
            rows, positions = rows[reach], positions[reach]
        return Candidates(near, compared, (rows, positions), looked)

    def upper(self, some: IntArray) -> FloatArray:
        """Bounds of the overall similarity of some queries and all cases, [T, L]; -inf of a node and itself."""
        products: Tensor = torch.from_numpy(self.asking.short[some]) @ torch.from_numpy(self.answering.short).T
        upper: FloatArray = products.numpy()
        first_bounds(upper, some, self.asking.squares, self.answering.squares, self.centers, self.terms)
        upper[self.queries.nodes[some][:, None] == self.cases.nodes] = -np.inf
        return upper

    def _bounds(self, edges: Edges, keys: Edges, some: IntArray, rows: IntArray, positions: IntArray) -> FloatArray:
        """Bounds of the overall similarity of some pairs by short vectors, [n]."""
        ptr, weight = _starts(rows, len(some)), self.terms.node_weight
        node = self.comparison.listed_nodes(some, ptr, positions).numpy()
        structure = pair_bounds(edges, keys, self.terms, some, ptr, positions)
        upper: FloatArray = np.where(np.isnan(structure), node, weight * node + (1 - weight) * structure)
        upper += np.float32(8 * UNIT) * (np.abs(upper) + 1)
        return upper

    def _compared(self, some: IntArray, rows: IntArray, positions: IntArray) -> Nearest:
        """Some pairs as they are, [n]."""
        pairs = some, _starts(rows, len(some)), positions
        node, structure = self.comparison.listed_nodes(*pairs), self.comparison.listed_structure(*pairs)
        return Nearest(
            torch.from_numpy(positions), combine(node, structure, self.comparison.node_weight), node, structure
        )

    def _table(self, rows: IntArray, values: Tensor, count: int) -> Tensor:
        """Values of some pairs, by row, side by side, and -inf up to the width of the table."""
        starts = _starts(rows, count)
        table = torch.full((count, int(np.diff(starts).max(initial=self.count))), -torch.inf)
        table[torch.from_numpy(rows), torch.from_numpy(np.arange(len(rows)) - starts[rows])] = values
        return table


class Candidates(NamedTuple):
    """Cases that may be among the nearest of some queries: rows of these and positions of the cases, [n] each."""

    near: tuple[IntArray, IntArray]  # those that are compared first
    compared: Nearest
    others: tuple[IntArray, IntArray]
    looked: int  # numbers of pairs of edges that bounds were made of


def _starts(rows: IntArray, count: int) -> IntArray:
    return row_starts(np.bincount(rows, minlength=count))


def _reaching(upper: FloatArray, least: FloatArray) -> tuple[IntArray, IntArray]:
    """Rows and columns of all bounds that are not below the least of their row, but for -inf."""
    rows, columns = np.nonzero(~(upper < np.maximum(least, np.finfo(np.float32).min)[:, None]))
    return rows, columns
