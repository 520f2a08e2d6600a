"""The K nearest among many labeled nodes, exactly, without comparing all.

Bounds (:mod:`se_gnn.similarity.short`, `kernels/bounds_cpu.py`) prove of most labeled nodes that they are not among the
K nearest; the rest are compared as always (`kernels/pairs_cpu.py`). So the K nearest, their order and every bit of
their similarities are those of a comparison with all labeled nodes. Shapes: T targets, L labeled nodes, K nearest.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.fixed_order import rows
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.compared import Compared
from se_gnn.similarity.kernels import lanes
from se_gnn.similarity.kernels.bounds_cpu import BoundedSide, Bounds, Possible
from se_gnn.similarity.kernels.numba_cpu import Matcher, Vectors, edge_squares
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.pairs_cpu import pair_means
from se_gnn.similarity.measure import EPS
from se_gnn.similarity.memory import items_within, memory_budget
from se_gnn.similarity.nearest import nearest_labeled
from se_gnn.similarity.overall import combine
from se_gnn.similarity.plan import ComparisonPlan
from se_gnn.similarity.short import Directions, ShortVectors, rounding

BLOCK_BYTES = 1 << 27  # products of nodes held at a time
FEWEST_LABELED = 1000  # with fewer labeled nodes, or fewer pairs, what is prepared would cost more than it saves
FEWEST_PAIRS = 1 << 25
BYTES_AN_EDGE = 4 * (lanes.COARSE + lanes.FINE + 2)  # of a labeled node's local graph
SHARE = 8  # K is at most one in so many labeled nodes
MOST_NOISE = 1e18  # whatever is more than that is not known at all
PROBES, IN_A_PROBE = 8, 4  # targets that are tried first, so many in a row

# What things cost, in nanoseconds on one core; only their ratios count.
FIRST = 4.0  # a pair of nodes, by node similarity alone
COARSE = 0.25  # a pair of edges, by coarse vectors
FINE = 0.9  # and by fine ones
EXACT = 0.02  # a pair of edges of two nodes that are compared alone, per dimension
MATCH = 0.45  # a pair of edges, where all are compared with all
PRODUCT = 0.025  # a product of two nodes there, per dimension
PAIR = 55.0  # a pair of nodes there, besides its edges
MARGIN = 0.8  # share of the full cost up to which the search is worth it: what is estimated is not known


def nearest_by_bounds(
    h: Tensor, plan: ComparisonPlan, num_nearest: int, *, max_memory: int | str | None = None
) -> Compared | None:
    """The K nearest labeled nodes of each target, [T, K], nearest first; None: comparing all is the better way.

    That is decided by counts alone: of labeled nodes and targets, and of what the bounds left over for some targets.
    """
    num_labeled, num_targets = len(plan.labeled), len(plan.targets)
    many = num_labeled >= FEWEST_LABELED and num_labeled * num_targets >= FEWEST_PAIRS
    few_wanted = SHARE * num_nearest <= num_labeled and num_nearest <= num_labeled - 2
    known = h.device.type == "cpu" and h.dtype == torch.float32 and not plan.same and plan.node_weight > 0
    if not (many and few_wanted and known and _plain(plan) and bool(torch.isfinite(h).all())):
        return None
    budget = memory_budget(max_memory, h.device)
    if len(plan.labeled.edge_ids) * BYTES_AN_EDGE > budget // 2:
        return None
    search = Search(h, plan, num_nearest, budget=budget)
    return search.nearest() if search.pays() else None


def _plain(plan: ComparisonPlan) -> bool:
    """Whether all edges match all, count alike, and have no vectors but those of their ends."""
    ways = [way for way in (plan.forward, plan.backward) if way is not None]
    return plan.own is None and all(isinstance(way, OneWay) and way.weights is None for way in ways)


class Search:
    """Finds the K nearest labeled nodes of the targets of a plan."""

    def __init__(self, h: Tensor, plan: ComparisonPlan, num_nearest: int, *, budget: int = BLOCK_BYTES) -> None:
        self.h, self.plan, self.budget = h.detach(), plan, budget
        self.vectors = Vectors.of(self.h, plan.measure)
        self.ways = [way for way in (plan.forward, plan.backward) if isinstance(way, OneWay)]  # there, and back
        self.matchers = [Matcher(self.vectors, way.matching) for way in self.ways]
        way, matching = self.ways[0], self.ways[0].matching
        directions = Directions.of(self.vectors.moved, matching.key_node_ends, unit=plan.measure.unit)
        self.short = tuple(directions.nodes(self.vectors.moved, local.nodes) for local in (plan.targets, plan.labeled))
        self.bounds = Bounds(
            targets=self._side(directions, self.short[0], plan.targets, matching.query_ends, way.ptr, way.columns),
            labeled=_side_by_side(
                self._side(
                    directions, self.short[1], plan.labeled, matching.key_node_ends, matching.ptr, matching.members
                )
            ),
            num_nearest=num_nearest,
            node_weight=plan.node_weight,
            unit=plan.measure.unit,
            both=plan.both,
            rounding=rounding(h.shape[1]),
        )

    def _side(
        self,
        directions: Directions,
        nodes: ShortVectors,
        local: LocalGraphs,
        ends: IntArray,
        ptr: IntArray,
        members: Int32Array,
    ) -> BoundedSide:
        """Nodes and edges made short, with how much rounding may add for each node.

        ``noise``: squared distances are wrong by a share of the squared lengths of the ends of edges, and the best
        match by cosine is found but for a share of how much longer the ends are. ``far``: edges far from 0 are rounded
        before their difference is taken; where lengths do not count, they are not.
        """
        moved, h = self.vectors.moved, self.vectors.h
        edges = directions.edges(moved, ends)
        squares, reach = edge_squares(moved, ends)
        if directions.unit:
            noise = np.sqrt(np.clip(reach / np.maximum(squares, np.float32(EPS * EPS)), 1, MOST_NOISE))
            offset, far = np.zeros(len(ends), np.float32), np.zeros(len(ends), np.float32)
        else:
            noise, offset = reach, np.float32(-0.5) * edges.squares
            far = np.sqrt(np.einsum("nd,nd->n", h, h))[ends].max(axis=1, initial=0)
        return BoundedSide(
            ids=local.nodes,
            points=self.plan.measure.points(torch.from_numpy(moved[local.nodes])).numpy(),
            squares=nodes.squares,
            coarse=edges.coarse,
            fine=edges.fine,
            offset=offset,
            ptr=ptr,
            members=members,
            noise=_largest(ptr, members, noise.astype(np.float32)),
            far=_largest(ptr, members, far),
        )

    def pays(self) -> bool:
        """Whether this takes less work than to compare all, as far as some of the targets tell."""
        plan, num_targets = self.plan, len(self.plan.targets)
        edges, keys = plan.targets.sizes, plan.labeled.sizes
        step, work, tried = max(1, num_targets // PROBES), 0.0, 0
        depth = self.h.shape[1]
        for low in range(0, num_targets, step):
            high = min(low + IN_A_PROBE, num_targets)
            found = self._possible(low, high)
            matched = (np.repeat(edges[low:high], np.diff(found.ptr)) * keys[found.positions]).sum()
            exact = EXACT * depth * len(self.ways) * float(matched)
            work += FIRST * len(keys) * (high - low) + COARSE * found.coarse + FINE * found.fine + exact
            tried += high - low
        full = 0.0
        for way in self.ways:
            cover = way.matching.cover
            steps = len(cover.at_hub) + len(cover.hubs) + len(cover.others)
            full += MATCH * way.matching.num_queries * steps
            full += PRODUCT * depth * len(np.unique(way.matching.query_ends)) * len(way.matching.key_nodes)
        full = full / num_targets + PAIR * len(keys)
        return work / tried < MARGIN * full

    def nearest(self) -> Compared:
        """The K nearest of every target, nearest first, [T, K]."""
        num_targets, num_labeled = len(self.plan.targets), len(self.plan.labeled)
        step = items_within(min(self.budget, BLOCK_BYTES), 4 * num_labeled, num_targets)
        blocks = [self._nearest(low, min(low + step, num_targets)) for low in range(0, num_targets, step)]
        return Compared(*(torch.cat([getattr(block, name) for block in blocks]) for name in Compared.__slots__))

    def _nearest(self, low: int, high: int) -> Compared:
        """The same of the targets ``low`` to ``high``."""
        found = self._possible(low, high)
        return _nearest_of(found.ptr, self.compared(low, found.ptr, found.positions), self.bounds.num_nearest)

    def _possible(self, low: int, high: int) -> Possible:
        """Which labeled nodes may be among the nearest of some targets."""
        return self.bounds.possible(low, self.short[0].fine[low:high] @ self.short[1].fine.T)

    def compared(self, low: int, ptr: IntArray, positions: IntArray) -> Compared:
        """Each target from ``low`` on compared with the labeled nodes at ``positions[ptr[t]:ptr[t + 1]]``."""
        plan, high = self.plan, low + len(ptr) - 1
        owners = np.repeat(np.arange(low, high), np.diff(ptr))
        structure = torch.from_numpy(pair_means(self.matchers[0], self.ways[0], low, ptr, positions))
        if plan.both:
            order = np.lexsort((owners, positions))
            back_ptr = np.concatenate([[0], np.cumsum(np.bincount(positions, minlength=len(plan.labeled)))])
            back = np.empty(len(positions), np.float32)
            back[order] = pair_means(self.matchers[1], self.ways[1], 0, back_ptr, owners[order])
            structure = (structure + torch.from_numpy(back)) / 2
        defined = (plan.targets.sizes[owners] > 0) & (plan.labeled.sizes[positions] > 0)
        structure = structure.masked_fill(torch.from_numpy(~defined), -torch.inf)
        targets, labeled = plan.nodes(self.h.device)
        node = plan.measure.listed_pairs(rows(self.h, targets[low:high]), rows(self.h, labeled), ptr, positions)
        return Compared(torch.from_numpy(positions), combine(node, structure, plan.node_weight), node, structure)


def _nearest_of(ptr: IntArray, some: Compared, count: int) -> Compared:
    """The ``count`` nearest of those in each row, nearest first; of equals the first position comes first."""
    num_targets, sizes = len(ptr) - 1, np.diff(ptr)
    owners = torch.from_numpy(np.repeat(np.arange(num_targets), sizes))
    places = torch.from_numpy(np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes))
    overall = torch.full((num_targets, int(sizes.max(initial=0))), -torch.inf)
    overall[owners, places] = some.overall
    best = nearest_labeled(overall, count) + torch.from_numpy(ptr[:-1])[:, None]
    return Compared(*(getattr(some, name)[best] for name in Compared.__slots__))


def _side_by_side(side: BoundedSide) -> BoundedSide:
    """The edges of each node one after the other in memory, an edge as often as it lies in a local graph."""
    rows = side.members
    return side._replace(
        coarse=side.coarse[rows],
        fine=side.fine[rows],
        offset=side.offset[rows],
        members=np.arange(len(rows), dtype=np.int32),
    )


def _largest(ptr: IntArray, members: Int32Array, values: FloatArray) -> FloatArray:
    """The largest value among the members of each row; 0 where there is none."""
    largest = np.zeros(len(ptr) - 1, np.float32)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(values[members], ptr[filled])
    return largest
