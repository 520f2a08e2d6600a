"""The K nearest among many labeled nodes on a CUDA device, exactly, without matching the edges of all pairs exactly.

Every pair has an upper bound of its similarity. Those with the largest are compared first; whoever's bound lies below
the K-th similarity found cannot be among the K nearest, the others are compared, too. Bounds come in two ways: from
node similarity, then from short vectors of those it leaves; or from a coarse comparison of all pairs. Some targets tell
which way takes less, or that comparing all exactly does. Shapes: T targets, L labeled nodes, K nearest, P pairs.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.similarity.kernels.coarse_gpu import CoarseBounds, coarse_bounds
from se_gnn.similarity.kernels.halves_gpu import EdgeHalves, EdgePoints
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.pairs_gpu import ShortEdges, pair_bounds, pair_means
from se_gnn.similarity.kernels.triton_gpu import shares_products
from se_gnn.similarity.memory import items_within
from se_gnn.similarity.nearest import nearest_labeled
from se_gnn.similarity.overall import combine
from se_gnn.similarity.plan import ComparisonPlan
from se_gnn.similarity.search import Compared

FEWEST_LABELED = 1000  # with fewer labeled nodes, or fewer pairs, comparing all is quick
FEWEST_PAIRS = 1 << 28
BLOCK_BYTES = 1 << 31  # bounds held at a time
MOST_PAIRS = 1 << 26  # whose short vectors are compared at a time
LOOKED_AT = 4  # times K: so many are looked at to find those that are likely near
SPARE = 8  # one in so many more than K of them
PROBED = 256  # targets that are tried first
MOST_LEFT = 8  # times K: the coarse comparison is of no use where it leaves more
NARROWEST = 64  # labeled nodes that a coarse comparison must have room for
UNIT = 2.0**-24  # rounding of float32

# What things cost, in picoseconds on one H200; only their ratios count.
PAIR = 60.0  # a pair of nodes, by node similarity
BOUND = 400.0  # a pair of nodes, by short vectors
BOUND_EDGES = 0.4  # and each pair of their edges
EXACT = 0.03  # a pair of edges of two nodes compared alone, per dimension
MATCH = 0.016  # a pair of edges where all are compared with all, per dimension
COARSE = 0.007  # the same with one product
SUM = 2.2  # an edge of a target, for each labeled node


def nearest_by_bounds(
    h: Tensor, plan: ComparisonPlan, num_nearest: int, budget: int, origin: Tensor | None = None
) -> Compared | None:
    """The K nearest labeled nodes of each target, [T, K], nearest first; None: comparing all is the better way.

    Where that forms the products of edges once for many local graphs, it is (and has other bits than single pairs).
    """
    assert isinstance(plan.forward, OneWay)
    num_labeled, num_targets = len(plan.labeled), len(plan.targets)
    many = num_labeled >= FEWEST_LABELED and num_labeled * num_targets >= FEWEST_PAIRS
    with_edges = plan.targets.sizes.any() and plan.labeled.sizes.any()
    if not (many and with_edges and bool(torch.isfinite(h).all())) or shares_products(plan.forward.matching):
        return None
    return Search(h, plan, num_nearest, budget=budget, origin=origin).nearest()


class Search:
    """Finds the K nearest labeled nodes of the targets of a plan; one direction, edges that all count alike."""

    def __init__(
        self, h: Tensor, plan: ComparisonPlan, num_nearest: int, *, budget: int, origin: Tensor | None = None
    ) -> None:
        assert isinstance(plan.forward, OneWay)
        self.h, self.plan, self.num_nearest, self.budget = h.detach().contiguous(), plan, num_nearest, budget
        matching, device = plan.forward.matching, h.device
        index = matching.on(device)
        self.rows = plan.forward.rows(device)
        points = EdgePoints.of(self.h, index, plan.measure, plan.measure.origin(h) if origin is None else origin)
        self.halves = EdgeHalves.of(points, index, matching)
        self.sizes = tuple(torch.tensor(local.sizes, device=device) for local in (plan.targets, plan.labeled))
        self.typical = float(plan.targets.sizes.mean()), float(plan.labeled.sizes.mean())
        self.longest = int(plan.targets.sizes.max(initial=0))
        self.all_defined = bool(plan.targets.sizes.all() and plan.labeled.sizes.all())
        self.short: ShortEdges | None = None
        self.coarse: CoarseBounds | None = None

    def nearest(self) -> Compared | None:
        """The K nearest of every target, nearest first, [T, K]; None: comparing all is the better way."""
        way = self._better_way()
        if way == "coarse":
            width, num_labeled = self._coarse_width(), len(self.plan.labeled)
            self.short = None
            self.coarse = coarse_bounds(self.halves, self.rows, num_labeled, self.plan.measure, width=width)
            way = "coarse" if self._counts()[1] < MOST_LEFT * self.num_nearest else None
        if way is None:
            return None
        num_targets, num_labeled = len(self.plan.targets), len(self.plan.labeled)
        step = items_within(min(self.budget, BLOCK_BYTES), 4 * num_labeled, num_targets)
        blocks = [
            self._nearest(torch.arange(low, min(low + step, num_targets), device=self.h.device))
            for low in range(0, num_targets, step)
        ]
        return Compared(*(torch.cat([getattr(block, name) for block in blocks]) for name in Compared.__slots__))

    def _better_way(self) -> str | None:
        """``short`` or ``coarse``, whichever takes less work than to compare all, as far as some targets tell."""
        plan, (edges, keys), depth = self.plan, self.typical, self.h.shape[1]
        num_targets, num_labeled = len(plan.targets), len(plan.labeled)
        matched = self.halves.first.shape[0] * len(self.halves.members)
        summed = SUM * num_targets * edges * num_labeled
        full = MATCH * depth * matched + summed
        exact = EXACT * depth * edges * keys
        costs = {"coarse": COARSE * depth * matched + summed / 2 + 1.2 * exact * self.num_nearest * num_targets}
        if self._coarse_width() < NARROWEST:
            del costs["coarse"]
        self.short = ShortEdges.of(self.halves, plan.measure)
        looked, compared = self._counts()
        costs["short"] = num_targets * (looked * (BOUND + BOUND_EDGES * edges * keys) + compared * exact)
        way = min(costs, key=lambda name: costs[name])
        return way if costs[way] + PAIR * num_targets * num_labeled < full else None

    def _coarse_width(self) -> int:
        """How many labeled nodes a coarse comparison has room for at a time, beside its result; 0: none."""
        num_targets, num_labeled = len(self.plan.targets), len(self.plan.labeled)
        room = self.budget - 2 * num_targets * num_labeled
        width = max(0, room) // (2 * max(1, len(self.halves.first)))
        return min(width, num_labeled) // 16 * 16 if width < num_labeled else num_labeled

    def _counts(self) -> tuple[float, float]:
        """Pairs per target that short vectors are compared of, and that edges are matched of."""
        some = np.unique(np.linspace(0, len(self.plan.targets) - 1, PROBED).astype(np.int64))
        first = _First(self, torch.from_numpy(some).to(self.h.device))
        owners, positions = first.others()
        left, _ = first.bounded(owners, positions)
        looked = len(owners) + first.tried.numel()
        return looked / len(some), first.near.shape[1] + len(left) / len(some)

    def _nearest(self, targets: Tensor) -> Compared:
        first = _First(self, targets)
        owners, positions = first.bounded(*first.others())
        others = self.compared(targets, owners, positions, first.node)
        return _joined(first.compared, owners, others, self.num_nearest)

    def upper(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Node similarity and a bound of the overall similarity, [T, L] each; -inf of a node and itself."""
        plan = self.plan
        nodes, labeled = plan.nodes(self.h.device)
        node = plan.measure.all_pairs(self.h[nodes[targets]], self.h[labeled])
        if self.coarse is None:
            upper = plan.node_weight * node + (1 - plan.node_weight) * plan.measure.of_equals
        else:
            upper = plan.node_weight * node + (1 - plan.node_weight) * self.coarse.of(targets)
        if not self.all_defined:
            upper = torch.where(self._defined(targets[:, None], slice(None)), upper, node)
        upper += 8 * UNIT * (upper.abs() + 1)
        own = torch.searchsorted(labeled, nodes[targets]).clamp_max(len(labeled) - 1)
        is_own = labeled[own] == nodes[targets]
        upper[is_own.nonzero()[:, 0], own[is_own]] = -torch.inf
        return node, upper

    def _defined(self, targets: Tensor, positions: Tensor | slice) -> Tensor:
        return (self.sizes[0][targets] > 0) & (self.sizes[1][positions] > 0)

    def bounds(self, targets: Tensor, owners: Tensor, positions: Tensor, node: Tensor) -> Tensor:
        """Bounds by short vectors of some pairs: rows of ``targets`` and labeled nodes, [P]."""
        assert self.short is not None
        lam, asking = self.plan.node_weight, targets[owners]
        structure = pair_bounds(self.short, self.halves, self.rows, asking, positions, self.plan.measure, self.typical)
        node = node[owners, positions]
        upper = lam * node + (1 - lam) * structure.clamp_max(self.plan.measure.of_equals)
        upper += 8 * UNIT * (upper.abs() + 1)
        return upper if self.all_defined else torch.where(self._defined(asking, positions), upper, node)

    def compared(self, targets: Tensor, owners: Tensor, positions: Tensor, node: Tensor) -> Compared:
        """Some pairs as they are, [P]."""
        asking = targets[owners]
        structure = pair_means(self.halves, self.rows, asking, positions, self.plan.measure, self.typical, self.longest)
        if not self.all_defined:
            structure = structure.masked_fill(~self._defined(asking, positions), -torch.inf)
        node = node[owners, positions]
        return Compared(positions, combine(node, structure, self.plan.node_weight), node, structure)


class _First:
    """Some targets compared with labeled nodes that are likely near: at least K are as similar as ``least``, [T]."""

    def __init__(self, search: Search, targets: Tensor) -> None:
        self.search, self.targets = search, targets
        self.node, self.upper = search.upper(targets)
        count, width = search.num_nearest, self.upper.shape[1]
        looked = count if search.short is None else LOOKED_AT * count
        self.tried = self.near = self.upper.topk(min(looked, width - 1), dim=1).indices
        self.known = torch.empty(0, device=targets.device)
        if search.short is not None:
            self.known = search.bounds(targets, *self._listed(self.tried), self.node).view(self.tried.shape)
            self.known.masked_fill_(self.upper.gather(1, self.tried) == -torch.inf, -torch.inf)  # the node itself
            best = self.known.topk(min(count + count // SPARE + 1, self.tried.shape[1]), dim=1).indices
            self.near = self.tried.gather(1, best)
        found = search.compared(targets, *self._listed(self.near), self.node)
        self.compared = Compared(*(getattr(found, name).view(self.near.shape) for name in Compared.__slots__))
        overall = self.compared.overall.masked_fill(self.upper.gather(1, self.near) == -torch.inf, -torch.inf)
        self.compared = Compared(self.near, overall, self.compared.node, self.compared.structure)
        self.least = overall.topk(count, dim=1).values[:, -1]

    def _listed(self, places: Tensor) -> tuple[Tensor, Tensor]:
        owners = torch.arange(len(places), device=places.device).repeat_interleave(places.shape[1])
        return owners, places.reshape(-1)

    def others(self) -> tuple[Tensor, Tensor]:
        """Pairs whose bound by all that is known of every pair is not below the least, but for those tried."""
        reach = (self.upper >= self.least[:, None]).scatter_(1, self.tried, False)
        owners, positions = reach.nonzero(as_tuple=True)
        return owners, positions

    def bounded(self, owners: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Those of them, and of the ones that were tried, whose bound by short vectors is not below it either."""
        search = self.search
        if search.short is None:
            return owners, positions
        kept = []
        for low in range(0, len(owners), MOST_PAIRS):
            some = owners[low : low + MOST_PAIRS], positions[low : low + MOST_PAIRS]
            reach = search.bounds(self.targets, *some, self.node) >= self.least[some[0]]
            kept.append(tuple(part[reach] for part in some))
        again = self.known >= self.least[:, None]
        place = torch.zeros_like(self.upper, dtype=torch.bool).scatter_(1, self.tried, again)
        kept.append(place.scatter_(1, self.near, False).nonzero(as_tuple=True))
        owners, positions = (torch.cat(parts) for parts in zip(*kept))
        order = torch.argsort(owners, stable=True)
        return owners[order], positions[order]


def _joined(near: Compared, owners: Tensor, others: Compared, count: int) -> Compared:
    """The ``count`` nearest of both, nearest first; of equals the first position comes first."""
    num_targets = len(near.positions)
    sizes = torch.bincount(owners, minlength=num_targets)
    places = torch.arange(len(owners), device=owners.device) - (sizes.cumsum(0) - sizes)[owners]
    width, table = int(sizes.max()), {}
    for name in Compared.__slots__:
        one, more = getattr(near, name), getattr(others, name)
        padded = torch.full((num_targets, width), 0, dtype=one.dtype, device=one.device)
        padded = padded.fill_(-torch.inf) if name == "overall" else padded
        padded[owners, places] = more
        table[name] = torch.cat([one, padded], dim=1)
    order = torch.sort(table["positions"], dim=1, stable=True).indices
    best = order.gather(1, nearest_labeled(table["overall"].gather(1, order), count))
    return Compared(**{name: values.gather(1, best) for name, values in table.items()})
