"""The K nearest among many labeled nodes, exactly, without comparing all.

Bounds (:mod:`se_gnn.similarity.short`, `kernels/bounds_cpu.py`) prove of most labeled nodes that they are not among the
K nearest; the rest are compared as always (`kernels/pairs_cpu.py`). So the K nearest, their order and every bit of
their similarities are those of a comparison with all labeled nodes. Shapes: T targets, L labeled nodes, K nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import has_triton
from se_gnn.fixed_order import rows
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.kernels.bounds_cpu import BoundedSide, Bounds, Likely
from se_gnn.similarity.kernels.numba_cpu import Matcher, Vectors, edge_squares
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.pairs_cpu import pair_means
from se_gnn.similarity.memory import items_within, memory_budget
from se_gnn.similarity.nearest import nearest_labeled
from se_gnn.similarity.overall import combine
from se_gnn.similarity.plan import ComparisonPlan
from se_gnn.similarity.short import Directions, rounding

BLOCK_BYTES = 1 << 27  # products of nodes held at a time
FEWEST_LABELED = 1000  # with fewer labeled nodes, or fewer pairs, what is prepared would cost more than it saves
FEWEST_PAIRS = 1 << 25
SHARE = 8  # K is at most one in so many labeled nodes
PROBES, IN_A_PROBE = 8, 4  # targets that are tried first, so many in a row

# What things cost, in nanoseconds on one core; only their ratios count.
FIRST = 12.0  # a pair of nodes, by node similarity alone
BOUND = 0.4  # a pair of edges, by short vectors
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
    budget = memory_budget(max_memory, h.device)
    if h.device.type == "cuda":
        return _nearest_on_cuda(h, plan, num_nearest, budget)
    many = num_labeled >= FEWEST_LABELED and num_labeled * num_targets >= FEWEST_PAIRS
    few_wanted = SHARE * num_nearest <= num_labeled and num_nearest <= num_labeled - 2
    known = h.device.type == "cpu" and h.dtype == torch.float32 and not plan.same and plan.node_weight > 0
    if not (many and few_wanted and known and _plain(plan) and bool(torch.isfinite(h).all())):
        return None
    search = Search(h, plan, num_nearest, budget=budget)
    return search.nearest() if search.pays() else None


def _nearest_on_cuda(h: Tensor, plan: ComparisonPlan, num_nearest: int, budget: int) -> Compared | None:
    known = h.dtype == torch.float32 and not plan.same and not plan.both and has_triton()
    if not (known and SHARE * num_nearest <= len(plan.labeled) and _plain(plan)):
        return None
    from se_gnn.similarity import search_gpu  # only on machines with Triton

    return search_gpu.nearest_by_bounds(h, plan, num_nearest, budget)


def _plain(plan: ComparisonPlan) -> bool:
    """Whether all edges match all, count alike, and have no vectors but those of their ends."""
    ways = [way for way in (plan.forward, plan.backward) if way is not None]
    return plan.own is None and all(isinstance(way, OneWay) and way.weights is None for way in ways)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Some labeled nodes of each target, by position, with their similarities: [T, m], or in CSR rows."""

    positions: Tensor
    overall: Tensor
    node: Tensor
    structure: Tensor  # -inf where one of the two nodes has no edges


class Search:
    """Finds the K nearest labeled nodes of the targets of a plan."""

    def __init__(self, h: Tensor, plan: ComparisonPlan, num_nearest: int, *, budget: int = BLOCK_BYTES) -> None:
        self.h, self.plan, self.budget = h.detach(), plan, budget
        self.vectors = Vectors.of(self.h, plan.measure)
        self.ways = [way for way in (plan.forward, plan.backward) if isinstance(way, OneWay)]  # there, and back
        self.matchers = [Matcher(self.vectors, way.matching) for way in self.ways]
        way, matching = self.ways[0], self.ways[0].matching
        targets, labeled = (self._points(local.nodes) for local in (plan.targets, plan.labeled))
        self.points = targets, labeled
        directions = Directions.of(labeled, unit=plan.measure.unit)
        self.bounds = Bounds(
            targets=self._side(directions, targets, plan.targets, matching.query_ends, way.ptr, way.columns),
            labeled=self._side(
                directions, labeled, plan.labeled, matching.key_node_ends, matching.ptr, matching.members
            ),
            num_nearest=num_nearest,
            node_weight=plan.node_weight,
            unit=plan.measure.unit,
            both=plan.both,
            rounding=rounding(h.shape[1]),
        )

    def _points(self, nodes: IntArray) -> FloatArray:
        """Vectors of nodes whose products node similarity is bounded by, [T, D]."""
        return self.plan.measure.points(torch.from_numpy(self.vectors.moved[nodes])).numpy()

    def _side(
        self,
        directions: Directions,
        points: FloatArray,
        local: LocalGraphs,
        ends: IntArray,
        ptr: IntArray,
        members: Int32Array,
    ) -> BoundedSide:
        """Nodes and edges made short, with how much rounding may add for each node.

        ``noise``: squared distances are wrong by a share of the squared lengths of the ends of edges. ``far``: edges
        far from 0 are rounded before their difference is taken. Where lengths do not count, neither is needed.
        """
        moved, h = self.vectors.moved, self.vectors.h
        noise = far = np.zeros(len(ends), np.float32)
        if not directions.unit:
            _, noise = edge_squares(moved, ends)
            far = np.sqrt(np.einsum("nd,nd->n", h, h))[ends].max(axis=1, initial=0)
        return BoundedSide(
            ids=local.nodes,
            node_squares=np.einsum("nd,nd->n", points, points),
            edges=directions.edges(moved, ends),
            ptr=ptr,
            members=members,
            noise=_largest(ptr, members, noise),
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
            first = self._first(low, high)
            ptr, others, looked = self.bounds.others(low, first.products, first.least, first.looked)
            near = first.looked.near
            matched = (edges[low:high, None] * keys[near]).sum()
            matched += (np.repeat(edges[low:high], np.diff(ptr)) * keys[others]).sum()
            exact = EXACT * depth * len(self.ways)
            work += FIRST * len(keys) * (high - low) + BOUND * (first.looked.work + looked) + exact * float(matched)
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
        first = self._first(low, high)
        ptr, positions, _ = self.bounds.others(low, first.products, first.least, first.looked)
        return _joined(first.likely, ptr, self.compared(low, ptr, positions), self.bounds.num_nearest)

    def _first(self, low: int, high: int) -> _First:
        products = self.points[0][low:high] @ self.points[1].T  # [T, L], but for rounding
        looked = self.bounds.likely(low, products)
        near = looked.near.astype(np.int64)
        found = self.compared(low, np.arange(len(near) + 1) * near.shape[1], near.reshape(-1))
        likely = Compared(*(getattr(found, name).view(near.shape) for name in Compared.__slots__))
        least = likely.overall.topk(self.bounds.num_nearest, dim=1).values[:, -1]
        return _First(products, looked, likely, np.ascontiguousarray(least.numpy()))

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


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """Targets compared with the labeled nodes that are likely near: K are at least as similar as ``least``, [T]."""

    products: FloatArray
    looked: Likely
    likely: Compared
    least: FloatArray


def _joined(likely: Compared, ptr: IntArray, others: Compared, count: int) -> Compared:
    """The ``count`` nearest of both, nearest first; of equals the first position comes first."""
    num_targets, sizes = len(ptr) - 1, np.diff(ptr)
    owners = torch.from_numpy(np.repeat(np.arange(num_targets), sizes))
    places = torch.from_numpy(np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes))
    table = {}
    for name in Compared.__slots__:
        one, more = getattr(likely, name), getattr(others, name)
        padded = torch.full((num_targets, int(sizes.max(initial=0))), 0, dtype=one.dtype)
        padded = padded.fill_(-torch.inf) if name == "overall" else padded
        padded[owners, places] = more
        table[name] = torch.cat([one, padded], dim=1)
    order = torch.sort(table["positions"], dim=1, stable=True).indices
    overall = table["overall"].gather(1, order)
    best = order.gather(1, nearest_labeled(overall, count))
    return Compared(**{name: values.gather(1, best) for name, values in table.items()})


def _largest(ptr: IntArray, members: Int32Array, values: FloatArray) -> FloatArray:
    """The largest value among the members of each row; 0 where there is none."""
    largest = np.zeros(len(ptr) - 1, np.float32)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(values[members], ptr[filled])
    return largest
