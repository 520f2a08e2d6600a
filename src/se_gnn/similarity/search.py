"""The K nearest among many labeled nodes, exactly, without comparing all.

Bounds (`kernels/bounds_cpu.py`, from :mod:`se_gnn.similarity.short` vectors) prove of most labeled nodes that they are
not among the K nearest; the rest are compared as always (`kernels/pairs_cpu.py`), but for edges that cannot match. So
the K nearest, their order and every bit of their similarities are those of a comparison with all labeled nodes. On a
CUDA device: :mod:`se_gnn.similarity.search_gpu`. Shapes: T targets, L labeled nodes, K nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic import rows
from se_gnn.device import has_triton
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.bound_lanes import LONG, SHORT
from se_gnn.similarity.kernels.bounds_cpu import Bounds, Candidates
from se_gnn.similarity.kernels.centers import Centers
from se_gnn.similarity.kernels.numba_cpu import Matcher, Vectors
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.pair_bounds import Edges, Nodes, Terms
from se_gnn.similarity.kernels.pairs_cpu import pair_means
from se_gnn.similarity.kernels.rescoring import edge_squares
from se_gnn.similarity.measure import EPS
from se_gnn.similarity.memory import items_within, memory_budget
from se_gnn.similarity.nearest import nearest_labeled
from se_gnn.similarity.overall import combine
from se_gnn.similarity.plan import ComparisonPlan
from se_gnn.similarity.short import UNDERFLOW, Directions, rounding

BLOCK_BYTES = 1 << 26  # candidates held at a time
FEWEST_LABELED = 1000  # with fewer labeled nodes, or fewer pairs, what is prepared would cost more than it saves
FEWEST_PAIRS = 1 << 25
LARGEST = 1e15  # number in a vector, so that no product overflows
FEWEST_TOGETHER = 12  # targets that are not put in order any further
SHARE = 8  # K is at most one in so many labeled nodes
PROBES, IN_A_PROBE = 8, 4  # targets that are tried first, so many in a row

# What things cost, in nanoseconds on one core; only their ratios count.
FIRST = 2.5  # a pair of nodes, by node similarity and centers
BY_SHORT = 0.3  # a pair of edges, by short vectors
BY_LONG = 1.6  # by long ones
EXACT = 0.023  # a pair of edges of two nodes that are compared alone, per dimension
MATCH = 0.45  # a pair of edges, where all are compared with all
PRODUCT = 0.025  # a product of two nodes there, per dimension
PAIR = 55.0  # a pair of nodes there, besides its edges
MARGIN = 0.8  # share of the full cost up to which the search is worth it: what is estimated is not known


def nearest_by_bounds(
    h: Tensor,
    plan: ComparisonPlan,
    num_nearest: int,
    *,
    max_memory: int | str | None = None,
    origin: Tensor | None = None,
) -> Compared | None:
    """The K nearest labeled nodes of each target, [T, K], nearest first; None: comparing all is the better way.

    That is decided by counts alone: of labeled nodes and targets, and of what the bounds left over for some targets.
    Distances are computed from ``origin``, [D]; None: that of ``h``.
    """
    num_labeled, num_targets = len(plan.labeled), len(plan.targets)
    budget = memory_budget(max_memory, h.device)
    if h.device.type == "cuda":
        return _nearest_on_cuda(h, plan, num_nearest, budget, origin)
    many = num_labeled >= FEWEST_LABELED and num_labeled * num_targets >= FEWEST_PAIRS
    few_wanted = SHARE * num_nearest <= num_labeled and num_nearest <= num_labeled - 2
    known = h.device.type == "cpu" and h.dtype == torch.float32 and not plan.same and plan.node_weight > 0
    if not (many and few_wanted and known and _plain(plan) and bool((h.abs() < LARGEST).all())):
        return None
    if _prepared_bytes(plan) > budget // 2:
        return None
    search = Search(h, plan, num_nearest, budget=budget, origin=origin)
    return search.nearest() if search.pays() else None


def _nearest_on_cuda(
    h: Tensor, plan: ComparisonPlan, num_nearest: int, budget: int, origin: Tensor | None
) -> Compared | None:
    known = h.dtype == torch.float32 and not plan.same and not plan.both and has_triton()
    if not (known and SHARE * num_nearest <= len(plan.labeled) and _plain(plan)):
        return None
    from se_gnn.similarity import search_gpu  # only on machines with Triton

    return search_gpu.nearest_by_bounds(h, plan, num_nearest, budget, origin)


def _prepared_bytes(plan: ComparisonPlan) -> int:
    """Memory that short vectors of the edges take."""
    assert isinstance(plan.forward, OneWay)
    matching = plan.forward.matching
    return 4 * (SHORT + LONG + 2) * (matching.num_queries + len(matching.key_ids))


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

    def __init__(
        self,
        h: Tensor,
        plan: ComparisonPlan,
        num_nearest: int,
        *,
        budget: int = BLOCK_BYTES,
        origin: Tensor | None = None,
    ) -> None:
        self.h, self.plan, self.budget = h.detach(), plan, budget
        self.vectors = Vectors.of(self.h, plan.measure, plan.measure.origin(h) if origin is None else origin)
        self.ways = [way for way in (plan.forward, plan.backward) if isinstance(way, OneWay)]  # there, and back
        self.matchers = [Matcher(self.vectors, way.matching) for way in self.ways]
        way, matching = self.ways[0], self.ways[0].matching
        wrong = np.float32(rounding(h.shape[1]))
        terms = Terms(np.float32(plan.node_weight), plan.measure.unit, plan.both, wrong)
        targets, labeled = (self._points(local.nodes) for local in (plan.targets, plan.labeled))
        directions = Directions.of(labeled, unit=plan.measure.unit)
        edges = self._edges(directions, matching.query_ends, way.ptr, way.columns)
        keys = self._edges(directions, matching.key_node_ends, matching.ptr, matching.members)
        asking = _nodes(directions, plan.targets.nodes, targets)
        self.order = together(asking.long)
        self.bounds = Bounds(
            targets=asking,
            labeled=_nodes(directions, plan.labeled.nodes, labeled),
            edges=edges,
            keys=keys,
            centers=Centers.of(edges, keys, terms),
            num_nearest=num_nearest,
            terms=terms,
        )

    def _points(self, nodes: IntArray) -> FloatArray:
        """Vectors of nodes whose products node similarity is bounded by, [T, D]."""
        return self.plan.measure.points(torch.from_numpy(self.vectors.moved[nodes])).numpy()

    def _edges(self, directions: Directions, ends: IntArray, ptr: IntArray, members: Int32Array) -> Edges:
        """Edges made short, with how much rounding may add for each node.

        ``noise``: squared distances are wrong by a share of the squared lengths of the ends of edges; where lengths do
        not count, a match is found by scores that are wrong by so many times what a product of unit vectors is.
        ``far``: edges far from 0 are rounded before their difference is taken, where lengths count.
        """
        moved, h = self.vectors.moved, self.vectors.h
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
            ptr=ptr,
            members=members,
            noise=_largest(ptr, members, noise),
            far=_largest(ptr, members, far),
        )

    def pays(self) -> bool:
        """Whether this takes less work than to compare all, as far as some of the targets tell."""
        num_targets, full = len(self.plan.targets), self._full_work()
        starts = range(0, num_targets, max(1, num_targets // PROBES))
        probes = [self.order[low : low + IN_A_PROBE] for low in starts]
        spare = MARGIN * full * sum(len(some) for some in probes)
        for some in probes:
            spare -= self._work(some)
            if spare <= 0:  # where nothing can be told apart, one look is enough
                return False
        return True

    def _work(self, some: IntArray) -> float:
        """What it takes to find the nearest of some targets."""
        edges, keys = self.plan.targets.sizes, self.plan.labeled.sizes
        found = self.bounds.candidates(some)
        matched = float((np.repeat(edges[some], np.diff(found.ptr)) * keys[found.positions]).sum())
        exact = EXACT * self.h.shape[1] * len(self.ways) * matched
        return FIRST * len(keys) * len(some) + BY_SHORT * found.short + BY_LONG * found.long + exact

    def _full_work(self) -> float:
        """What it takes to compare one target with all labeled nodes, where all targets are compared."""
        full, depth = 0.0, self.h.shape[1]
        for way in self.ways:
            cover = way.matching.cover
            steps = len(cover.at_hub) + len(cover.hubs) + len(cover.others)
            full += MATCH * way.matching.num_queries * steps
            full += PRODUCT * depth * len(np.unique(way.matching.query_ends)) * len(way.matching.key_nodes)
        return full / len(self.plan.targets) + PAIR * len(self.plan.labeled)

    def nearest(self) -> Compared:
        """The K nearest of every target, nearest first, [T, K]."""
        num_targets = len(self.plan.targets)
        each = 32 * self.bounds.width * (1 + sum(self.bounds.words))  # bytes per target, with copies
        step = items_within(min(self.budget, BLOCK_BYTES), each, num_targets)
        blocks = [self._nearest(self.order[low : low + step]) for low in range(0, num_targets, step)]
        places = torch.from_numpy(np.argsort(self.order))
        return Compared(*(torch.cat([getattr(block, name) for block in blocks])[places] for name in Compared.__slots__))

    def _nearest(self, some: IntArray) -> Compared:
        """The same of some targets."""
        found = self.bounds.candidates(some)
        return _best(found.ptr, self.compared(some, found), self.bounds.num_nearest)

    def compared(self, some: IntArray, found: Candidates) -> Compared:
        """Some targets compared with their candidates."""
        plan, ptr, positions = self.plan, found.ptr, found.positions
        owners = np.repeat(some, np.diff(ptr))
        structure = torch.from_numpy(pair_means(self.matchers[0], self.ways[0], some, ptr, positions, found.there))
        if plan.both:
            order = np.lexsort((owners, positions))
            back_ptr = np.concatenate([[0], np.cumsum(np.bincount(positions, minlength=len(plan.labeled)))])
            back, everyone = np.empty(len(positions), np.float32), np.arange(len(plan.labeled))
            back[order] = pair_means(
                self.matchers[1], self.ways[1], everyone, back_ptr, owners[order], found.back[order]
            )
            structure = (structure + torch.from_numpy(back)) / 2
        defined = (plan.targets.sizes[owners] > 0) & (plan.labeled.sizes[positions] > 0)
        structure = structure.masked_fill(torch.from_numpy(~defined), -torch.inf)
        targets, labeled = plan.nodes(self.h.device)
        node = plan.measure.listed_pairs(
            rows(self.h, targets[torch.from_numpy(some)]), rows(self.h, labeled), ptr, positions
        )
        return Compared(torch.from_numpy(positions), combine(node, structure, plan.node_weight), node, structure)


def _nodes(directions: Directions, ids: IntArray, points: FloatArray) -> Nodes:
    made = directions.nodes(points)
    return Nodes(ids, made.squares, points, made.long)


def together(points: FloatArray) -> IntArray:
    """An order in which points, [T, D], that lie close come close: halves by where they spread most, and so on.

    What one target looks at is then still in the cache for the next.
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


def _best(ptr: IntArray, compared: Compared, count: int) -> Compared:
    """The ``count`` nearest of each row, nearest first; of equals the first position comes first."""
    num_targets, sizes = len(ptr) - 1, np.diff(ptr)
    owners = torch.from_numpy(np.repeat(np.arange(num_targets), sizes))
    places = torch.from_numpy(np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes))
    overall = torch.full((num_targets, int(sizes.max(initial=count))), -torch.inf)
    overall[owners, places] = compared.overall
    best = nearest_labeled(overall, count) + torch.from_numpy(ptr[:-1, None])
    return Compared(*(getattr(compared, name)[best] for name in Compared.__slots__))


def _largest(ptr: IntArray, members: Int32Array, values: FloatArray) -> FloatArray:
    """The largest value among the members of each row; 0 where there is none."""
    largest = np.zeros(len(ptr) - 1, np.float32)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(values[members], ptr[filled])
    return largest
