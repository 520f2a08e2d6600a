"""The nearest among many cases on a CUDA device, exactly, without matching the edges of all pairs exactly.

Every pair has an upper bound of its similarity: from node similarity, and from short vectors of those it leaves. Those
with the largest are compared first; a case whose bound lies below the last of the similarities found cannot be among
the nearest, the others are compared, too. Some queries tell whether that takes less than comparing all. Shapes: T
queries, L cases, d nearest, P pairs.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import items_within
from se_gnn.similarity.backend import Nearest, top
from se_gnn.similarity.comparison import Comparison, combine
from se_gnn.similarity.cuda.backend import shares_products
from se_gnn.similarity.cuda.pairs import ShortEdges, pair_bounds, pair_means
from se_gnn.similarity.cuda.products import EdgeHalves, EdgePoints

FEWEST_CASES = 1000  # with fewer cases, or fewer pairs, comparing all is quick
FEWEST_PAIRS = 1 << 28
BLOCK_BYTES = 1 << 31  # bounds held at a time
MOST_PAIRS = 1 << 26  # whose short vectors are compared at a time
LOOKED_AT = 4  # times as many as are wanted: so many are looked at to find those that are likely near
SPARE = 8  # one in so many more than are wanted
PROBED = 256  # queries that are tried first
SHARE = 8  # at most one in so many cases is wanted
UNIT = 2.0**-24  # rounding of float32

# What things cost, in picoseconds on one H200; only their ratios count.
PAIR = 60.0  # a pair of nodes, by node similarity
BOUND = 400.0  # a pair of nodes, by short vectors
BOUND_EDGES = 0.4  # and each pair of their edges
EXACT = 0.03  # a pair of edges of two nodes compared alone, per dimension
MATCH = 0.016  # a pair of edges where all are compared with all, per dimension
SUM = 2.2  # an edge of a query, for each case


def nearest_by_bounds(comparison: Comparison, count: int, budget: int) -> Nearest | None:
    """The ``count`` nearest cases of each query, [T, count], nearest first; None: comparing all is the better way.

    Where that forms the products of edges once for many local graphs, it is (and has other bits than single pairs).
    """
    queries, cases = comparison.queries, comparison.cases
    many = len(cases) >= FEWEST_CASES and len(cases) * len(queries) >= FEWEST_PAIRS
    known = many and SHARE * count <= len(cases) and not comparison.both and comparison.plain
    with_edges = queries.sizes.any() and cases.sizes.any()
    if not (known and with_edges and bool(torch.isfinite(comparison.h).all())) or shares_products(cases.keys):
        return None
    search = Search(comparison, count, budget=budget)
    return search.nearest() if search.pays() else None


class Search:
    """Finds the nearest cases of the queries of a comparison; one direction, edges that all count the same."""

    def __init__(self, comparison: Comparison, count: int, *, budget: int) -> None:
        self.comparison, self.count, self.budget = comparison, count, budget
        self.queries, self.cases, self.measure = comparison.queries, comparison.cases, comparison.measure
        self.h = comparison.h.detach().contiguous()
        (way,), device = comparison.there(), self.h.device
        self.rows = way.queries.rows(device)
        self.halves = EdgeHalves.of(EdgePoints.of(comparison.points.detached(), *way), way.keys)
        self.sizes = tuple(torch.tensor(side.sizes, device=device) for side in (self.queries, self.cases))
        self.typical = float(self.queries.sizes.mean()), float(self.cases.sizes.mean())
        self.longest = int(self.queries.sizes.max(initial=0))
        self.all_defined = bool(self.queries.sizes.all() and self.cases.sizes.all())
        self.short = ShortEdges.of(self.halves, self.measure)

    def nearest(self) -> Nearest:
        """The nearest cases of every query, nearest first, [T, d]."""
        num_queries = len(self.queries)
        step = items_within(min(self.budget, BLOCK_BYTES), 4 * len(self.cases), num_queries)
        blocks = [
            self._nearest(torch.arange(low, min(low + step, num_queries), device=self.h.device))
            for low in range(0, num_queries, step)
        ]
        return Nearest.joined(blocks, dim=0)

    def pays(self) -> bool:
        """Whether this takes less work than to compare all, as far as some of the queries tell."""
        (edges, keys), depth = self.typical, self.h.shape[1]
        num_queries, num_cases = len(self.queries), len(self.cases)
        full = MATCH * depth * len(self.halves.first) * len(self.halves.members) + SUM * num_queries * edges * num_cases
        looked, compared = self._counts()
        bounded = looked * (BOUND + BOUND_EDGES * edges * keys)
        return num_queries * (PAIR * num_cases + bounded + EXACT * depth * edges * keys * compared) < full

    def _counts(self) -> tuple[float, float]:
        """Pairs per query that short vectors are compared of, and that edges are matched of."""
        some = np.unique(np.linspace(0, len(self.queries) - 1, PROBED).astype(np.int64))
        first = _First(self, torch.from_numpy(some).to(self.h.device))
        owners, positions = first.others()
        left, _ = first.bounded(owners, positions)
        looked = len(owners) + first.tried.numel()
        return looked / len(some), first.near.shape[1] + len(left) / len(some)

    def _nearest(self, some: Tensor) -> Nearest:
        first = _First(self, some)
        owners, positions = first.bounded(*first.others())
        others = self.compared(some, owners, positions, first.node)
        return _joined(first.compared, owners, others, self.count)

    def upper(self, some: Tensor) -> tuple[Tensor, Tensor]:
        """Node similarity and a bound of the overall similarity, [T, L] each; -inf of a node and itself."""
        lam = self.comparison.node_weight
        nodes, cases = (side.nodes_on(self.h.device) for side in (self.queries, self.cases))
        node = self.measure.all_pairs(self.h[nodes[some]], self.h[cases])
        upper = lam * node + (1 - lam) * self.measure.of_equals
        if not self.all_defined:
            upper = torch.where(self._defined(some[:, None], slice(None)), upper, node)
        upper += 8 * UNIT * (upper.abs() + 1)
        own = torch.searchsorted(cases, nodes[some]).clamp_max(len(cases) - 1)
        is_own = cases[own] == nodes[some]
        upper[is_own.nonzero()[:, 0], own[is_own]] = -torch.inf
        return node, upper

    def _defined(self, some: Tensor, positions: Tensor | slice) -> Tensor:
        return (self.sizes[0][some] > 0) & (self.sizes[1][positions] > 0)

    def bounds(self, some: Tensor, owners: Tensor, positions: Tensor, node: Tensor) -> Tensor:
        """Bounds by short vectors of some pairs: rows of ``some`` queries and cases, [P]."""
        lam, asking = self.comparison.node_weight, some[owners]
        structure = pair_bounds(self.short, self.halves, self.rows, asking, positions, self.measure, self.typical)
        node = node[owners, positions]
        upper = lam * node + (1 - lam) * structure.clamp_max(self.measure.of_equals)
        upper += 8 * UNIT * (upper.abs() + 1)
        return upper if self.all_defined else torch.where(self._defined(asking, positions), upper, node)

    def compared(self, some: Tensor, owners: Tensor, positions: Tensor, node: Tensor) -> Nearest:
        """Some pairs as they are, [P]."""
        asking = some[owners]
        structure = pair_means(self.halves, self.rows, asking, positions, self.measure, self.typical, self.longest)
        if not self.all_defined:
            structure = structure.masked_fill(~self._defined(asking, positions), -torch.inf)
        node = node[owners, positions]
        return Nearest(positions, combine(node, structure, self.comparison.node_weight), node, structure)


class _First:
    """Some queries compared with cases that are likely near: as many as are wanted reach ``least``, [T]."""

    def __init__(self, search: Search, some: Tensor) -> None:
        self.search, self.some = search, some
        self.node, self.upper = search.upper(some)
        count, width = search.count, self.upper.shape[1]
        self.tried = self.upper.topk(min(LOOKED_AT * count, width - 1), dim=1).indices
        self.known = search.bounds(some, *self._listed(self.tried), self.node).view(self.tried.shape)
        self.known.masked_fill_(self.upper.gather(1, self.tried) == -torch.inf, -torch.inf)  # the node itself
        best = self.known.topk(min(count + count // SPARE + 1, self.tried.shape[1]), dim=1).indices
        self.near = self.tried.gather(1, best)
        found = search.compared(some, *self._listed(self.near), self.node)
        overall, node, structure = (one.view(self.near.shape) for one in (found.overall, found.node, found.structure))
        overall = overall.masked_fill(self.upper.gather(1, self.near) == -torch.inf, -torch.inf)
        self.compared = Nearest(self.near, overall, node, structure)
        self.least = overall.topk(count, dim=1).values[:, -1]

    def _listed(self, places: Tensor) -> tuple[Tensor, Tensor]:
        owners = torch.arange(len(places), device=places.device).repeat_interleave(places.shape[1])
        return owners, places.reshape(-1)

    def others(self) -> tuple[Tensor, Tensor]:
        """Pairs whose bound by node similarity is not below the least, but for those tried."""
        reach = (self.upper >= self.least[:, None]).scatter_(1, self.tried, False)
        owners, positions = reach.nonzero(as_tuple=True)
        return owners, positions

    def bounded(self, owners: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Those of them, and of the ones that were tried, whose bound by short vectors is not below it either."""
        kept = []
        for low in range(0, len(owners), MOST_PAIRS):
            some = owners[low : low + MOST_PAIRS], positions[low : low + MOST_PAIRS]
            reach = self.search.bounds(self.some, *some, self.node) >= self.least[some[0]]
            kept.append(tuple(part[reach] for part in some))
        again = self.known >= self.least[:, None]
        place = torch.zeros_like(self.upper, dtype=torch.bool).scatter_(1, self.tried, again)
        kept.append(place.scatter_(1, self.near, False).nonzero(as_tuple=True))
        owners, positions = (torch.cat(parts) for parts in zip(*kept))
        order = torch.argsort(owners, stable=True)
        return owners[order], positions[order]


def _joined(near: Nearest, owners: Tensor, others: Nearest, count: int) -> Nearest:
    """The ``count`` nearest of both, nearest first; ties go to the first position."""
    num_queries = len(near.positions)
    sizes = torch.bincount(owners, minlength=num_queries)
    places = torch.arange(len(owners), device=owners.device) - (sizes.cumsum(0) - sizes)[owners]
    width, table = int(sizes.max()), {}
    for name in Nearest.__slots__:
        one, more = getattr(near, name), getattr(others, name)
        padded = torch.full((num_queries, width), 0, dtype=one.dtype, device=one.device)
        padded = padded.fill_(-torch.inf) if name == "overall" else padded
        padded[owners, places] = more
        table[name] = torch.cat([one, padded], dim=1)
    order = torch.sort(table["positions"], dim=1, stable=True).indices
    best = order.gather(1, top(table["overall"].gather(1, order), count))
    return Nearest(**{name: values.gather(1, best) for name, values in table.items()})
