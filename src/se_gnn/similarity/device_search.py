"""The K nearest among many labeled nodes, without comparing all, on a device: as :mod:`se_gnn.similarity.search`.

The steps are those of `kernels/bounds_cpu.py`, for many targets at a time: pairs that may be among the nearest are
listed, and lists get shorter. Similarities are those of the device's own kernels: the K nearest are the same up to
rounding. One direction of matching. Shapes: T targets, L labeled nodes, n pairs, D dimensions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.similarity.compared import Compared
from se_gnn.similarity.edge import edge_vectors
from se_gnn.similarity.kernels import pairs_any
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.pairs_any import PairEdges, Slack, at_least, at_most
from se_gnn.similarity.kernels.rounding import center
from se_gnn.similarity.kernels.structure import has_triton
from se_gnn.similarity.measure import EPS
from se_gnn.similarity.memory import items_within
from se_gnn.similarity.nearest import nearest_labeled
from se_gnn.similarity.overall import combine
from se_gnn.similarity.plan import ComparisonPlan
from se_gnn.similarity.short import NEVER_LESS, SAMPLE, UNIT, rounding

COARSE, FINE = 16, 64  # numbers of a short vector, the last of them the length of the rest
FIRST_LOOK, FEWEST = 4, 64  # times K, but never fewer: so many are looked at to find a limit
TOLD_BY = 4096  # labeled nodes that tell which are the highest
ROWS = 1 << 17  # edges made short at a time
BYTES_A_PAIR = 64  # of a target and a labeled node, while the first bounds are made
MOST_PAIRS = 1 << 26  # that are listed at a time
PROBE = 64  # targets that are tried first


class DeviceSearch:
    """Finds the K nearest labeled nodes of the targets of a plan, where the embeddings are."""

    def __init__(self, h: Tensor, plan: ComparisonPlan, num_nearest: int, *, budget: int) -> None:
        assert isinstance(plan.forward, OneWay)
        self.plan, self.num_nearest, self.budget = plan, num_nearest, budget
        self.unit, self.weight, way = plan.measure.unit, plan.node_weight, plan.forward
        self.h = h.detach()
        moved = self.h if self.unit else self.h - center(self.h)
        index = way.matching.on(h.device)
        queries, keys = (edge_vectors(moved, ends) for ends in (index.query_ends, index.key_node_ends))
        self.exact = PairEdges.of(way, queries, keys, plan.measure)
        axes = _axes(keys, unit=self.unit)
        self.coarse, self.fine = (
            PairEdges.of(
                way,
                _shortened(queries, axes, size, unit=self.unit),
                _shortened(keys, axes, size, unit=self.unit),
                plan.measure,
            )
            for size in (COARSE, FINE)
        )
        self.targets, self.labeled = plan.nodes(h.device)
        self.points = [plan.measure.points(moved[nodes]) for nodes in (self.targets, self.labeled)]
        self.squares = [part.square().sum(dim=1) for part in self.points]
        self.bare = [torch.from_numpy(local.sizes == 0).to(h.device) for local in (plan.targets, plan.labeled)]
        self.slack, self.node_slack = self._slack(moved, queries, keys)
        self.kernels: _Kernels = _kernels(h.device)

    def _slack(self, moved: Tensor, queries: Tensor, keys: Tensor) -> tuple[Slack, Slack]:
        """What rounding may add: as in `kernels/bounds_cpu.py`, with the longest vector for all."""
        part = rounding(moved.shape[1])
        if self.unit:
            return Slack(3 * part, 4 * part, 0.0), Slack(4 * part, 4 * part, 0.0)
        longest = [float(some.square().sum(dim=1).max()) if len(some) else 0.0 for some in (moved, queries, keys)]
        far = 8 * UNIT * float(self.h.norm(dim=1).max())
        edges, nodes = 8 * part * max(longest[1:]), 8 * part * longest[0]
        return Slack(edges, edges, far), Slack(nodes, nodes, 0.0)

    def pays(self) -> bool:
        """Whether this takes less work than to compare all, as far as some of the targets tell."""
        step = max(1, len(self.targets) // PROBE)
        found = self._possible(torch.arange(0, len(self.targets), step, device=self.h.device))
        edges, keys = self.plan.targets.sizes.mean(), self.plan.labeled.sizes.mean()
        looked = COARSE * found.coarse + FINE * found.fine + self.h.shape[1] * len(found.rows)
        bounded = float(edges * keys) * looked / found.targets
        full = self.plan.num_queries / len(self.targets) * float(keys) * len(self.labeled) * self.h.shape[1]
        return 2 * bounded < full

    def nearest(self) -> Compared:
        """The K nearest of every target, nearest first, [T, K]."""
        num_targets = len(self.targets)
        step = items_within(min(self.budget // BYTES_A_PAIR, MOST_PAIRS * 4), len(self.labeled), num_targets)
        everyone = torch.arange(num_targets, device=self.h.device)
        blocks = [self._nearest(everyone[low : low + step]) for low in range(0, num_targets, step)]
        return Compared(*(torch.cat([getattr(block, name) for block in blocks]) for name in Compared.__slots__))

    def _nearest(self, targets: Tensor) -> Compared:
        found = self._possible(targets)
        rows, columns = found.rows, found.columns
        asking, has_edges = targets[rows], ~(self.bare[0][targets[rows]] | self.bare[1][columns])
        structure = torch.full((len(rows),), -torch.inf, device=self.h.device)
        structure[has_edges] = self.kernels.means(self.exact, asking[has_edges], columns[has_edges], self.plan.measure)
        node = self.plan.measure.aligned(self.h[self.targets[asking]], self.h[self.labeled[columns]])
        overall = combine(node, structure, self.weight)
        table, places = _table(overall, rows, len(targets))
        best = places.gather(1, nearest_labeled(table, self.num_nearest))
        return Compared(columns[best], overall[best], node[best], structure[best])

    def _possible(self, targets: Tensor) -> _Found:
        """Pairs that may be among the nearest, by target, then by labeled node."""
        first = self._first(targets)  # [T, L]
        count = max(FIRST_LOOK * self.num_nearest, FEWEST)
        step = max(1, first.shape[1] // TOLD_BY)
        some = first[:, ::step]
        mark = some.topk(min(max(1, count // step), some.shape[1]), dim=1).values[:, -1]
        limit = torch.full((len(targets),), -torch.inf, device=first.device)
        high = first >= mark[:, None]
        kept = _Pairs.none(first.device)
        num_coarse = num_fine = 0
        for chosen in (high, ~high):
            listed = chosen & (first >= limit[:, None]) & torch.isfinite(first)
            for low, end in _spans(listed):
                rows, columns = torch.nonzero(listed[low:end] & (first[low:end] >= limit[low:end, None]), as_tuple=True)
                rows += low
                num_coarse += len(rows)
                upper, _ = self._look(self.coarse, targets, rows, columns, limit, first)
                near = upper >= limit[rows]
                rows, columns = rows[near], columns[near]
                num_fine += len(rows)
                upper, lower = self._look(self.fine, targets, rows, columns, limit, None)
                kept = kept.joined(_Pairs(rows, columns, upper, lower))
                limit = torch.maximum(limit, _highest(kept.lower, kept.rows, len(targets), self.num_nearest))
                kept = kept.part(kept.upper >= limit[kept.rows])
        order = torch.argsort(kept.rows * first.shape[1] + kept.columns)
        return _Found(kept.rows[order], kept.columns[order], num_coarse, num_fine, len(targets))

    def _first(self, targets: Tensor) -> Tensor:
        """Upper bounds from node similarity alone, as if the local graphs were the same; -inf of a node and itself."""
        score = self.points[0][targets] @ self.points[1].T
        if not self.unit:
            score -= (self.squares[0][targets][:, None] + self.squares[1][None]) / 2
        node = at_most(score, self.node_slack, unit=self.unit)
        upper = self.weight * node + (1 - self.weight) * (1.0 if self.unit else 0.0)
        alone = self.bare[0][targets][:, None] | self.bare[1][None]
        upper = _raised(torch.where(alone, node, upper))
        return upper.masked_fill_(self.targets[targets][:, None] == self.labeled[None], -torch.inf)

    def _look(
        self, edges: PairEdges, targets: Tensor, rows: Tensor, columns: Tensor, limit: Tensor, first: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Upper and lower bounds of pairs; where ``first`` bounds are given, node similarity is read from them."""
        asking = targets[rows]
        alone = self.bare[0][asking] | self.bare[1][columns]
        most = 1.0 if self.unit else 0.0
        if first is None:
            node = torch.empty(len(rows), device=self.h.device)
            for low in range(0, len(rows), ROWS):
                some = slice(low, low + ROWS)
                node[some] = (self.points[0][asking[some]] * self.points[1][columns[some]]).sum(dim=1)
            if not self.unit:
                node -= (self.squares[0][asking] + self.squares[1][columns]) / 2
            above, below = (bound(node, self.node_slack, unit=self.unit) for bound in (at_most, at_least))
        else:  # what the first bound adds to node similarity is taken off again, but for rounding
            above = first[rows, columns]
            above = torch.where(alone, above, (above - (1 - self.weight) * most) / self.weight)
            below = torch.full_like(above, -torch.inf)
        needed = (limit[rows] - self.weight * above) / max(1 - self.weight, EPS)
        needed = needed - 64 * UNIT * (needed.abs() + (limit[rows].abs() + 1) / max(1 - self.weight, EPS))
        upper, lower = above.clone(), below.clone()
        both = torch.nonzero(~alone).squeeze(1)
        high, low_ = self.kernels.bounds(
            edges, asking[both], columns[both], needed[both].nan_to_num(-torch.inf), self.slack, unit=self.unit
        )
        sizes = 2 * UNIT * (edges.most_queries + edges.most_keys)
        high, low_ = high + sizes * high.abs().clamp_min(1), low_ - sizes * low_.abs().clamp_min(1)
        upper[both] = self.weight * above[both] + (1 - self.weight) * high
        lower[both] = self.weight * below[both] + (1 - self.weight) * low_
        return _raised(upper), lower - 8 * UNIT * (lower.abs() + 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Kernels:
    bounds: Callable[..., tuple[Tensor, Tensor]]
    means: Callable[..., Tensor]


def _kernels(device: torch.device) -> _Kernels:
    if device.type == "cuda" and has_triton():
        from se_gnn.similarity.kernels import pairs_triton  # only on machines with Triton

        return _Kernels(pairs_triton.pair_bounds, pairs_triton.pair_means)
    return _Kernels(pairs_any.pair_bounds, pairs_any.pair_means)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Pairs of a target, by its row, and a labeled node, and how many were looked at to find them."""

    rows: Tensor
    columns: Tensor
    coarse: int
    fine: int
    targets: int


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    rows: Tensor
    columns: Tensor
    upper: Tensor
    lower: Tensor

    @classmethod
    def none(cls, device: torch.device) -> _Pairs:
        whole, number = torch.empty(0, dtype=torch.int64, device=device), torch.empty(0, device=device)
        return cls(whole, whole, number, number)

    def joined(self, more: _Pairs) -> _Pairs:
        return _Pairs(*(torch.cat([getattr(self, name), getattr(more, name)]) for name in _Pairs.__slots__))

    def part(self, chosen: Tensor) -> _Pairs:
        return _Pairs(*(getattr(self, name)[chosen] for name in _Pairs.__slots__))


def _raised(upper: Tensor) -> Tensor:
    """With what the last sums may be rounded by."""
    return upper + 8 * UNIT * (upper.abs() + 1)


def _spans(listed: Tensor) -> list[tuple[int, int]]:
    """Rows in spans of at most about `MOST_PAIRS` chosen entries."""
    total = torch.cumsum(listed.sum(dim=1), dim=0).cpu().numpy()
    marks = np.searchsorted(total, np.arange(MOST_PAIRS, total[-1] if len(total) else 0, MOST_PAIRS))
    bounds = np.unique(np.concatenate([[0], marks, [len(total)]])).tolist()
    return list(itertools.pairwise(bounds))


def _table(values: Tensor, rows: Tensor, num_rows: int) -> tuple[Tensor, Tensor]:
    """Values by row, side by side, -inf where there is none, and the place of each among all values, [T, m]."""
    order = torch.argsort(rows, stable=True)
    counts = torch.bincount(rows, minlength=num_rows)
    starts = torch.cumsum(counts, dim=0) - counts
    width = int(counts.max()) if num_rows else 0
    column = torch.arange(len(rows), device=rows.device) - starts[rows[order]]
    table = torch.full((num_rows, width), -torch.inf, device=values.device)
    places = torch.zeros((num_rows, width), dtype=torch.int64, device=values.device)
    table[rows[order], column], places[rows[order], column] = values[order], order
    return table, places


def _highest(values: Tensor, rows: Tensor, num_rows: int, count: int) -> Tensor:
    """The ``count``-th highest value of each row, [T]; -inf where there are fewer."""
    table, _ = _table(values, rows, num_rows)
    if table.shape[1] < count:
        return torch.full((num_rows,), -torch.inf, device=values.device)
    highest: Tensor = table.topk(count, dim=1).values[:, -1]
    return highest


def _axes(keys: Tensor, *, unit: bool) -> Tensor:
    """Orthonormal directions in which edges spread most, in float64, [D, at most FINE - 1], the first the most."""
    sample = keys[:: len(keys) // SAMPLE + 1].double().cpu()
    sample = torch.nn.functional.normalize(sample, dim=1, eps=EPS) if unit else sample
    _, axes = torch.linalg.eigh(sample.T @ sample)
    first: Tensor = axes.flip(1)[:, : FINE - 1].to(keys.device)
    return first


def _shortened(vectors: Tensor, axes: Tensor, width: int, *, unit: bool) -> Tensor:
    """As :class:`se_gnn.similarity.short.Directions`, with ``width`` numbers, [n, width]."""
    short = torch.zeros(len(vectors), width, device=vectors.device)
    count = min(width - 1, axes.shape[1])
    for low in range(0, len(vectors), ROWS):
        some = vectors[low : low + ROWS].double()
        some = some / some.norm(dim=1, keepdim=True).clamp_min(EPS) if unit else some
        along, square = some @ axes[:, :count], some.square().sum(dim=1)
        rest = (square - along.square().sum(dim=1)).clamp_min(0) + NEVER_LESS * square
        short[low : low + ROWS, :count] = along.float()
        short[low : low + ROWS, -1] = rest.sqrt().float()
    return short
