r"""The nearest among many cases, exactly, without comparing all.

Bounds prove of most cases that they are not among the nearest; the rest are compared as always (`pairs.py`). So the
nearest, their order and every bit of their similarities are those of a comparison with all cases.

1. Every case has a first bound, from node similarity and from the centers of edges.
2. A few more than are wanted, those with the largest, are bounded from below by long vectors of their edges: as many
   cases as are wanted are at least as similar as the last of these, the *least*.
3. All others whose first bound reaches the least are bounded by short vectors, then by long ones, which may raise it.

Those whose bound reaches the least in the end are the candidates. Shapes: T queries, L cases, d nearest, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import torch

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH
from se_gnn.device import items_within
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.similarity.backend import Nearest, top
from se_gnn.similarity.comparison import Comparison, combine
from se_gnn.similarity.cpu.bounds import fill, first_bounds, kth_largest, likely_least, listed, pair_bounds, room_for
from se_gnn.similarity.cpu.lanes import COLUMNS, LONG, ROWS, SHORT, product_tile
from se_gnn.similarity.cpu.matching import Vectors, edge_squares, packed
from se_gnn.similarity.cpu.short import UNDERFLOW, Centers, Directions, Edges, Nodes, Terms, rounding
from se_gnn.similarity.items import LocalEdges
from se_gnn.similarity.measure import EPS

BLOCK_BYTES = 1 << 26  # candidates held at a time
FEWEST_CASES = 1000  # with fewer cases, or fewer pairs, preparing the search would cost more than it saves
FEWEST_PAIRS = 1 << 25
LARGEST = 1e15  # number in a vector, so that no product overflows
FEWEST_TOGETHER = 12  # queries in a part that is not divided any further
SHARE = 8  # at most one case in 8 may be wanted
PROBES, IN_A_PROBE = 8, 4  # queries that are tried first: 8 times 4 in a row
GROUP = 2 * ROWS  # queries whose products are formed together
BUCKETS = 512  # of cases, the best of which are likely near
SPARE = 4  # a quarter more cases than are wanted count as likely near

# What things cost, in nanoseconds on one core; only their ratios count.
FIRST = 2.5  # a pair of nodes, by node similarity and centers
BY_SHORT = 0.3  # a pair of edges, by short vectors
BY_LONG = 1.6  # by long ones
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
    known = not comparison.symmetric and comparison.node_weight > 0 and comparison.plain
    if not (many and few_wanted and known and bool((comparison.h.abs() < LARGEST).all())):
        return None
    prepared = 4 * (SHORT + LONG + 2) * (len(comparison.queries.queries) + len(comparison.cases.keys))
    if prepared > budget // 2:
        return None
    search = Search(comparison, count, budget=budget)
    return search.nearest() if search.pays() else None


class Search:
    """Finds the nearest cases of the queries of a comparison."""

    def __init__(self, comparison: Comparison, count: int, *, budget: int = BLOCK_BYTES) -> None:
        self.comparison, self.count, self.budget, self.h = comparison, count, budget, comparison.h.detach()
        self.queries, self.cases = comparison.queries, comparison.cases
        self.vectors, measure = Vectors.of(comparison.points), comparison.measure
        self.ways = [comparison.there()[0], *([comparison.back()[0]] if comparison.both else [])]
        wrong = np.float32(rounding(self.h.shape[1]))
        self.terms = Terms(np.float32(comparison.node_weight), measure.unit, comparison.both, wrong)
        asking, answering = (self._points(side.nodes) for side in (self.queries, self.cases))
        directions = Directions.of(answering, unit=measure.unit)
        own, theirs = self.ways[0]
        self.edges = self._edges(directions, own)
        self.keys = self._edges(directions, theirs)
        self.centers = Centers.of(self.edges, self.keys, self.terms)
        self.query_nodes = _nodes(directions, self.queries.nodes, asking)
        self.case_nodes = _nodes(directions, self.cases.nodes, answering)
        self.order = together(self.query_nodes.long)
        self.width = min(2 * count + 64, len(self.cases))  # candidates of a query that there is room for at first

    def _points(self, nodes: IntArray) -> FloatArray:
        """Vectors of nodes whose products node similarity is bounded by, [T, D]."""
        return self.comparison.measure.points(torch.from_numpy(self.vectors.moved[nodes])).numpy()

    def _edges(self, directions: Directions, some: LocalEdges) -> Edges:
        """Edges made short, with how much rounding may add for each node.

        ``noise``: squared distances are wrong by a share of the squared lengths of the ends of edges; where lengths do
        not count, a match is found by scores that are wrong by so many times what a product of unit vectors is.
        ``far``: edges far from 0 are rounded before their difference is taken, where lengths count.
        """
        moved, h, ends = self.vectors.moved, self.vectors.h, some.ends
        made, (squares, noise) = directions.edges(moved, ends), edge_squares(moved, ends)
        if directions.unit:
            noise = np.sqrt(np.maximum(noise / np.maximum(squares, EPS * EPS), 1))
            far = np.zeros(len(ends), np.float32)
        else:
            noise = noise + np.float32(UNDERFLOW)
            far = np.sqrt(np.einsum("nd,nd->n", h, h))[ends].max(axis=1, initial=0)
        return Edges(
            short=made.short,
            long=made.long,
            squares=made.squares,
            offset=made.squares * np.float32(0 if directions.unit else -0.5),
            ptr=some.ptr,
            members=some.columns,
            noise=_largest(some, noise),
            far=_largest(some, far),
        )

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
        edges, keys = self.queries.sizes, self.cases.sizes
        found = self.candidates(some)
        matched = float((np.repeat(edges[some], np.diff(found.ptr)) * keys[found.positions]).sum())
        exact = EXACT * self.h.shape[1] * len(self.ways) * matched
        return FIRST * len(keys) * len(some) + BY_SHORT * found.short + BY_LONG * found.long + exact

    def _full_work(self) -> float:
        """What it takes to compare one query with all cases, where all queries are compared."""
        full, depth = 0.0, self.h.shape[1]
        for queries, keys in self.ways:
            full += MATCH * len(queries) * len(keys.columns)
            full += PRODUCT * depth * len(queries.distinct_ends[0]) * len(keys.distinct_ends[0])
        return full / len(self.queries) + PAIR * len(self.cases)

    def nearest(self) -> Nearest:
        """The nearest cases of every query, nearest first, [T, d]."""
        num_queries = len(self.queries)
        step = items_within(min(self.budget, BLOCK_BYTES), 32 * self.width, num_queries)  # bytes with copies
        blocks = [self._nearest(self.order[low : low + step]) for low in range(0, num_queries, step)]
        return Nearest.joined(blocks, dim=0).taken(torch.from_numpy(np.argsort(self.order)))

    def _nearest(self, some: IntArray) -> Nearest:
        """The same of some queries: their candidates are compared; ties go to the first position."""
        found, comparison = self.candidates(some), self.comparison
        pairs, sizes = (some, found.ptr, found.positions), np.diff(found.ptr)
        node, structure = comparison.listed_nodes(*pairs), comparison.listed_structure(*pairs)
        overall = combine(node, structure, comparison.node_weight)
        table = torch.full((len(some), int(sizes.max(initial=self.count))), -torch.inf)
        rows, columns = (
            np.repeat(np.arange(len(some)), sizes),
            np.arange(len(overall)) - np.repeat(found.ptr[:-1], sizes),
        )
        table[torch.from_numpy(rows), torch.from_numpy(columns)] = overall
        best = top(table, self.count) + torch.from_numpy(found.ptr[:-1, None])
        return Nearest(torch.from_numpy(found.positions), overall, node, structure).taken(best)

    def candidates(self, some: IntArray) -> Candidates:
        """Those of some queries, by position."""
        width, right = self.width, packed(self.case_nodes.long, np.arange(len(self.cases)))
        found, counts, work = self._run(some, width, right)
        ptr = np.concatenate([[0], np.cumsum(counts)])
        fitting = counts <= width
        positions = np.empty(ptr[-1], np.int64)
        positions[np.repeat(fitting, counts)] = found[(np.arange(width) < counts[:, None]) & fitting[:, None]]
        for i in np.flatnonzero(~fitting):  # many that are alike: a longer row
            positions[ptr[i] : ptr[i + 1]] = self._run(some[i : i + 1], int(counts[i]), right)[0]
        return Candidates(ptr, positions, int(work[:, 0].sum()), int(work[:, 1].sum()))

    def _run(self, some: IntArray, width: int, right: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
        """Positions, [T, width], how many there are, and the work that it took."""
        count = len(some)
        found = np.empty((count, width), np.int64)
        counts, work = np.zeros(count, np.int64), np.zeros((count, 2), np.int64)
        num_chunks = min(-(-count // GROUP), 16 * numba.get_num_threads())
        chunks = GROUP * np.linspace(0, -(-count // GROUP), num=num_chunks + 1).astype(np.int64)
        queries, cases = self.query_nodes, self.case_nodes
        place = np.full(1 + max(queries.ids.max(initial=0), cases.ids.max(initial=0)), -1, np.int64)
        place[cases.ids] = np.arange(len(cases.ids))
        left = np.zeros((chunks[-1], LONG), np.float32)
        left[:count] = queries.long[some]
        _search(
            some, place[queries.ids[some]], queries, cases, self.edges, self.keys, self.centers,
            self.count, self.terms, left, right, chunks, found, counts, work,
        )  # fmt: skip
        return found, counts, work


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    r"""Cases that may be among the nearest of each query, by position, ascending, as CSR rows.

    ``short`` and ``long`` count the pairs of edges that were looked at.

    Shapes:
        - **ptr:** :math:`(T + 1,)`, **positions:** :math:`(n,)`
    """

    ptr: IntArray
    positions: IntArray
    short: int
    long: int


@compiled(parallel=True)
def _search(
    some: IntArray,
    own_place: IntArray,
    queries: Nodes,
    cases: Nodes,
    edges: Edges,
    keys: Edges,
    centers: Centers,
    wanted: int,
    terms: Terms,
    left: FloatArray,
    right: FloatArray,
    chunks: IntArray,
    found: IntArray,
    counts: IntArray,
    work: IntArray,
) -> None:
    """The candidates of some queries; ``own_place`` is where each stands among the cases, or -1."""
    num_cases, width = len(cases.ids), found.shape[1]
    longest, longest_key = 0, 0
    for t in some:
        longest = max(longest, edges.ptr[t + 1] - edges.ptr[t])
    for i in range(num_cases):
        longest_key = max(longest_key, keys.ptr[i + 1] - keys.ptr[i])
    num_likely = min(wanted + wanted // SPARE + 4, num_cases - 1)
    whole = num_cases + -num_cases % WIDTH
    buckets = min(max(BUCKETS, 4 * num_likely), whole)
    for c in numba.prange(len(chunks) - 1):
        lanes, back_lanes = room_for(longest), room_for(longest_key if terms.both else 0)
        gram = np.empty((GROUP, len(right) * COLUMNS), np.float32)
        short = np.empty(num_cases, np.float32)
        best, held = np.empty(buckets, np.float32), np.empty(max(num_likely, wanted), np.float32)
        places, kept = np.empty(whole, np.int32), np.empty(whole, np.int32)
        above, below = np.empty(whole, np.float32), np.empty(whole, np.float32)
        for base in range(chunks[c], chunks[c + 1], GROUP):
            group = left[base : base + GROUP]
            for block in range(len(right)):
                for r in range(0, GROUP, ROWS):
                    product_tile(group, r, right, block, gram)
            for n in range(base, min(base + GROUP, len(some))):
                t = some[n]
                row, size = gram[n - base, :whole], edges.ptr[t + 1] - edges.ptr[t]
                own = slice(centers.ptr[t], centers.ptr[t + 1])
                weight = terms.node_weight if size > 0 else np.float32(1)  # without edges the node alone counts
                first_bounds(
                    row, queries.squares[t], cases.squares,
                    centers.apart, centers.at[own], centers.shares[own], centers.radii[own],
                    weight, np.float32(4) * terms.rounding, terms.unit, short,
                )  # fmt: skip
                if own_place[n] >= 0:
                    row[own_place[n]] = -np.inf
                fill(lanes, edges, t)
                count, least = 0, -np.float32(np.inf)
                reached = likely_least(row, num_likely, best, held)
                for _ in range(2):  # those that are likely near, then all others that reach the least
                    for p in range(listed(row, reached, places)):
                        i = places[p]
                        above[count], below[count], looked = pair_bounds(
                            lanes, back_lanes, queries, cases, edges, keys, terms, t, i, least
                        )
                        pairs = size * (keys.ptr[i + 1] - keys.ptr[i])
                        work[n, 0] += pairs * (least > -np.inf)
                        work[n, 1] += pairs * looked
                        row[i] = -np.inf  # known
                        if above[count] > -np.inf:
                            kept[count] = i
                            count += 1
                    least = kth_largest(below, count, wanted, held)
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
                counts[n] = num_found


def _nodes(directions: Directions, ids: IntArray, points: FloatArray) -> Nodes:
    made = directions.nodes(points)
    return Nodes(ids, made.squares, points, made.long)


def together(points: FloatArray) -> IntArray:
    """An order in which points, [T, D], that lie close come close: halves by where they spread most, and so on.

    What one query looks at is then still in the cache for the next.
    """
    parts, order = [np.arange(len(points))], []
    while parts:
        part = parts.pop()
        if len(part) <= FEWEST_TOGETHER:
            order.append(part)
            continue
        values = points[part]
        widest = int(values.var(axis=0).argmax())
        part = part[np.argsort(values[:, widest], kind="stable")]
        parts += [part[len(part) // 2 :], part[: len(part) // 2]]
    return np.concatenate([np.empty(0, np.int64), *order])


def _largest(edges: LocalEdges, values: FloatArray) -> FloatArray:
    """The largest value among the edges of each node; 0 where it has none."""
    largest = np.zeros(edges.num_local, np.float32)
    filled = np.flatnonzero(edges.sizes)
    if len(filled):
        largest[filled] = np.maximum.reduceat(values[edges.columns], edges.ptr[filled])
    return largest
