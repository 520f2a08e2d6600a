"""Node, structure and overall similarity of queries and cases, Eq. (2)-(7), for one set of embeddings.

Edge matching does not depend on the query: `M[e, l]`, the similarity of edge e with its best match in the local graph
of case l, is found once per edge, and `S = P M` with `P` the row-normalized membership of edges in the local graphs of
the queries. Edges that match only edges of their own part (the same role seen from the center, the same type) are
matched part by part, as if a part were the whole local graph: `S = sum over parts p of share_p * (P_p M_p)`, with the
share of a query's edges, or of their weights, that part p has. Where a query has edges of a part and a case has none,
each of these edges counts as `sim(e, -e)`, its similarity with its opposite.

Shapes: T queries, L cases, Q query edges, D dimensions, n listed pairs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.deterministic import rows
from se_gnn.device import memory_budget
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray, row_starts
from se_gnn.similarity.backend import Backend, Points, backend_for
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import Items, LocalEdges, Way
from se_gnn.similarity.measure import Measure


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    r"""Edges of T queries matched in the local graphs of up to K cases each, in either of two layouts.

    A table has a row for each distinct edge and a column for each case, and serves all queries that share an edge; with
    many cases it would be huge. Lists have a row for each edge of each query, and a column for each of its cases.

    Shapes:
        - **positions** (of the cases; -1: none): :math:`(T, K)`
        - **ptr:** :math:`(T + 1,)`, **rows** (of each edge of each query): :math:`(\sum_t |E_t|,)`
        - **similarity**, **matched_ids:** :math:`(Q, L)`, or :math:`(\sum_t |E_t|, K)`
    """

    positions: IntArray
    ptr: IntArray
    rows: Int32Array
    similarity: FloatArray
    matched_ids: Int32Array
    listed: bool

    def among(self, positions: IntArray) -> Matches:
        """The matches in some of the cases, from a table that holds those in all of them."""
        return dataclasses.replace(self, positions=positions)

    def of(self, i: int) -> tuple[FloatArray, IntArray]:
        """Similarities of the edges of the i-th query with their matches in its cases, and the ids, [M, K] each.

        Where there is no case, or a case has no edge that may match: -inf or what `sim(e, -e)` is, and -1.
        """
        rows = self.rows[self.ptr[i] : self.ptr[i + 1]]
        columns = np.arange(self.positions.shape[1]) if self.listed else self.positions[i]
        nobody = self.positions[i] < 0
        values, matched = (table[rows[:, None], columns] for table in (self.similarity, self.matched_ids))
        values[:, nobody], matched[:, nobody] = -np.inf, -1
        return values, matched.astype(np.int64)

    def importance(self) -> FloatArray:
        """Mean similarity of each edge with its matches in the cases that have edges, Eq. (10); NaN: none has."""
        importance = np.empty(len(self.rows), np.float32)
        _importance(self.similarity, self.ptr, self.rows, self.positions, self.listed, importance)
        return importance


@compiled(parallel=True)
def _importance(
    similarity: FloatArray,
    ptr: IntArray,
    rows: Int32Array,
    positions: IntArray,
    listed: bool,
    importance: FloatArray,
) -> None:
    for i in numba.prange(len(ptr) - 1):
        for m in range(ptr[i], ptr[i + 1]):
            total, count = np.float32(0), 0
            for k in range(positions.shape[1]):
                if positions[i, k] >= 0:
                    value = similarity[rows[m], k if listed else positions[i, k]]
                    if value > -np.inf:
                        total += value
                        count += 1
            importance[m] = total / np.float32(count) if count else np.nan


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Queries and cases with the vectors that they are compared by.

    Args:
        h: embeddings, [N, D]; ids of nodes are rows of it.
        points: vectors that edges are made of: those of the nodes, or their own.
        queries, cases: the two sides.
        both: whether the mean of both directions counts; else edges of the queries are matched, and no others.
        node_weight: lambda, Eq. (7).
        rows: ids of the edges that have vectors of their own, ascending; None: they have none.
        names: ids of the edges of the graph, where both sides number them anew; None: they do not.
        symmetric: both sides are the same nodes, so that the way back is the transpose of the way there.
    """

    h: Tensor
    points: Points
    queries: Items
    cases: Items
    both: bool
    node_weight: float
    rows: IntArray | None = None
    names: IntArray | None = None
    symmetric: bool = False

    @property
    def measure(self) -> Measure:
        """sim(a, b)."""
        return self.points.measure

    @property
    def backend(self) -> Backend:
        """What compares."""
        return backend_for(self.points.vectors)

    def there(self) -> tuple[Way, ...]:
        """Edges of the queries matched in the local graphs of the cases, part by part."""
        return self.queries.ways(self.cases, self.rows)

    def back(self) -> tuple[Way, ...]:
        """Edges of the cases matched in the local graphs of the queries, part by part."""
        return self.cases.ways(self.queries, self.rows)

    @property
    def plain(self) -> bool:
        """Whether all edges may match all, count the same, and have no vectors but those of their ends."""
        return self.rows is None and self.queries.local.parts is None and self.queries.weights is None

    def block(self, low: int, high: int) -> Comparison:
        """The same queries with the cases ``low`` to ``high`` alone."""
        assert not self.symmetric
        return dataclasses.replace(self, cases=self.cases.block(low, high))

    def node(self) -> Tensor:
        """s^n, Eq. (2), [T, L], with gradients."""
        queries, cases = (side.nodes_on(self.h.device) for side in (self.queries, self.cases))
        return self.measure.all_pairs(rows(self.h, queries), rows(self.h, cases))

    def listed_nodes(self, asking: IntArray, ptr: IntArray, positions: IntArray) -> Tensor:
        """s^n of the queries at ``asking`` and the cases listed for each, [n], with the bits of :meth:`node`."""
        queries, cases = (side.nodes_on(self.h.device) for side in (self.queries, self.cases))
        some = queries[torch.from_numpy(asking).to(self.h.device)]
        return self.measure.listed_pairs(rows(self.h, some), rows(self.h, cases), ptr, positions)

    def structure(self, max_memory: int | str | None, edge_weights: Tensor | None = None) -> Tensor:
        """s^e, Eq. (6), [T, L], with gradients; -inf where one of the two nodes has no edges and so no structure.

        ``edge_weights``, [E]: how much each edge counts in the mean, times the weight that it carries, with gradients.
        """
        if edge_weights is not None or (self.points.vectors.requires_grad and torch.is_grad_enabled()):
            mean = partial(self._learned, edge_weights=edge_weights)
        else:
            mean = partial(self._means, max_memory=max_memory)
        return self._both_ways(mean(self.queries, self.there()), mean)

    def structure_and_matches(self, max_memory: int | str | None) -> tuple[Tensor, Matches]:
        """The same with the best matches of the queries' edges; no gradients."""
        there, matches = self._matched()
        return self._both_ways(there, partial(self._means, max_memory=max_memory)), matches

    def listed_structure(self, asking: IntArray, ptr: IntArray, positions: IntArray) -> Tensor:
        """s^e of the queries at ``asking`` and the cases listed for each, [n]; no gradients."""
        owners = np.repeat(asking, np.diff(ptr))
        structure = self._listed_means(self.queries, self.there(), asking, ptr, positions)
        if self.both:  # symmetric or not: listed pairs have no transpose
            order = np.lexsort((owners, positions))  # by their cases, then by their queries
            back_ptr = row_starts(np.bincount(positions, minlength=len(self.cases)))
            everyone, back = np.arange(len(self.cases)), torch.empty_like(structure)
            means = self._listed_means(self.cases, self.back(), everyone, back_ptr, owners[order])
            back[torch.from_numpy(order).to(back.device)] = means
            structure = (structure + back) / 2
        known = (self.queries.sizes[owners] > 0) & (self.cases.sizes[positions] > 0)
        return structure.masked_fill(torch.from_numpy(~known).to(structure.device), -torch.inf)

    def _listed_means(
        self, side: Items, ways: tuple[Way, ...], asking: IntArray, ptr: IntArray, answers: IntArray
    ) -> Tensor:
        """The mean of Eq. (6) of listed pairs in one direction."""
        points = self.points.detached()
        means = [self.backend.listed_means(points, way, asking, ptr, answers) for way in ways]
        return self._joined_parts(side, ways, means, pairs=(np.repeat(asking, np.diff(ptr)), answers))

    def listed_matches(self, positions: IntArray) -> tuple[FloatArray, Int32Array]:
        """Best matches of each edge of each query in the local graphs of the cases at ``positions``, [T, K]; -1: none.

        Similarities and ids of the matched edges, with a row for each edge of each query: [sum of edges, K] each.
        """
        points, width, entries = self.points.detached(), positions.shape[1], self.queries.local
        similarity = np.full((len(entries.edge_ids), width), -np.inf, np.float32)
        matched = np.full(similarity.shape, -1, np.int32)
        everyone, ptr = np.arange(len(self.queries)), np.arange(len(self.queries) + 1) * width
        answers = np.maximum(positions, 0).ravel()
        for i, way in enumerate(self.there()):
            best, winners = self.backend.listed_matches(points, way, everyone, ptr, answers)
            inside = np.ones(len(entries.edge_ids), dtype=bool)
            if self.queries.part_names:
                inside = np.asarray(entries.parts == self.queries.part_names[i])
                owners = np.repeat(everyone, np.diff(way.queries.ptr))
                alone = torch.from_numpy(self.cases.sizes[answers].reshape(-1, width)[owners] == 0).to(best.device)
                columns = torch.from_numpy(way.queries.columns.astype(np.int64)).to(best.device)
                lowest = opposites(points, way.queries)[columns].repeat_interleave(width)
                best = torch.where((winners >= 0) | alone.view(-1), best, lowest)
            names = self._named(np.append(way.keys.ids, -1))
            similarity[inside] = best.cpu().numpy().reshape(-1, width)
            matched[inside] = names[winners.cpu().numpy()].reshape(-1, width)
        return similarity, matched

    def _named(self, edges: IntArray) -> Int32Array:
        """Ids in the graph of some edges, by the numbers that they have here; -1 stays."""
        names = edges if self.names is None else np.where(edges >= 0, self.names[edges], -1)
        return names.astype(np.int32)

    def _means(self, asking: Items, ways: tuple[Way, ...], max_memory: int | str | None) -> Tensor:
        """The mean of Eq. (6) in one direction; no gradients."""
        points, budget = self.points.detached(), memory_budget(max_memory, self.points.device)
        return self._joined_parts(asking, ways, [self.backend.means(points, way, budget) for way in ways])

    def _learned(self, asking: Items, ways: tuple[Way, ...], edge_weights: Tensor | None) -> Tensor:
        """The mean of Eq. (6) in one direction, with gradients; edges count with their weights, [E], if given."""
        if edge_weights is None and self.measure.unit:
            learned: Tensor = _LearnedMean.apply(self.points.vectors, self, asking, ways)  # type: ignore[no-untyped-call]
            return learned
        weights = [None if edge_weights is None else _counts(way.queries, edge_weights) for way in ways]
        means = [edge_mean(match_edges(self.points, way)[0], way, own) for way, own in zip(ways, weights)]
        return self._joined_parts(asking, ways, means, weights)

    def _matched(self) -> tuple[Tensor, Matches]:
        """The mean of Eq. (6) there, and all matches that it is made of; no gradients."""
        points, queries, ways = self.points.detached(), self.queries, self.there()
        without_edges = ~self.cases.with_edges(points.device)  # [L]: there is nothing to match at all
        means, values, matched = [], [], []
        for way in ways:
            best, winners = self.backend.match(points, *way)
            means.append(edge_mean(best, way))
            if queries.part_names:
                best = torch.where((winners >= 0) | without_edges, best, opposites(points, way.queries)[:, None])
            names = self._named(np.append(way.keys.ids, -1))  # no winner, -1, is the last
            values.append(best.cpu().numpy())
            matched.append(names[winners.cpu().numpy()])
        positions = np.broadcast_to(np.arange(len(self.cases)), (len(queries), len(self.cases)))
        tables = _below(values), _below(matched)
        found = Matches(positions, queries.local.ptr, queries.columns, *tables, listed=False)
        return self._joined_parts(queries, ways, means), found

    def _joined_parts(
        self,
        asking: Items,
        ways: tuple[Way, ...],
        means: list[Tensor],
        weights: Sequence[Tensor | None] = (),
        pairs: tuple[IntArray, IntArray] | None = None,
    ) -> Tensor:
        """The mean over the edges of all parts from that of each part: of all pairs, [T, L], or of listed ones, [n].

        Listed pairs are given by the positions of those who ask and of those who answer.
        """
        if not asking.part_names:
            return means[0]
        device = self.points.device
        asks, answers = (np.arange(len(asking))[:, None], slice(None)) if pairs is None else pairs
        at = torch.from_numpy(asks).to(device)
        total, count = torch.zeros_like(means[0]), self.points.vectors.new_zeros(len(asking))
        for i, (way, mean) in enumerate(zip(ways, means)):
            own = weights[i] if weights else None
            share = (
                torch.from_numpy(asking.shares[i]).to(device) if own is None else _sums(own[:, None], way.queries)[:, 0]
            )
            missing = way.keys.sizes == 0
            if missing.any():
                lowest = edge_mean(opposites(self.points, way.queries)[:, None], way, own)[:, 0]
                mean = torch.where(torch.from_numpy(missing[answers]).to(device), lowest[at], mean)
            total, count = total + share[at] * mean, count + share
        return total if not weights or weights[0] is None else total / torch.where(count > 0, count, 1)[at]

    def _both_ways(self, there: Tensor, mean: Callable[[Items, tuple[Way, ...]], Tensor]) -> Tensor:
        """The mean of both directions where both count, [T, L]; -inf where there is no structure."""
        if self.both:
            back = there if self.symmetric else mean(self.cases, self.back())
            there = (there + back.T) / 2
        queries, cases = (side.with_edges(there.device) for side in (self.queries, self.cases))
        return there.masked_fill(~(queries[:, None] & cases[None, :]), -torch.inf)


def _below(parts: list[Any]) -> Any:
    """Arrays stacked below each other; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def combine(node: Tensor, structure: Tensor, node_weight: float) -> Tensor:
    """Weigh node against structure: lambda s^n + (1 - lambda) s^e, Eq. (7); s^n alone where there is no structure."""
    defined = torch.isfinite(structure)
    safe = structure.masked_fill(~defined, 0)
    return torch.where(defined, node_weight * node + (1 - node_weight) * safe, node)


def opposites(points: Points, queries: LocalEdges) -> Tensor:
    """What each query edge has in a local graph without an edge of its part: its similarity with its opposite, [Q]."""
    return points.measure.of_opposite(edge_vectors(points.vectors, queries.ends_on(points.device)))


def match_edges(points: Points, way: Way) -> tuple[Tensor, Tensor]:
    """Best match of each query edge in each local graph, Eq. (3)-(5).

    Returns:
        Similarity of the best match, with a gradient to the vectors, and its position among ``way.keys.ids``, both
        [Q, L]. Where a local graph has no edge: -inf and -1. Of equally similar edges the one with the lowest id wins.
    """
    best, winners = _MatchEdges.apply(points.vectors, points, way)  # type: ignore[no-untyped-call]
    return best, winners


class _MatchEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, points: Points, way: Way) -> tuple[Tensor, Tensor]:
        best, winners = backend_for(vectors).match(points.detached(), *way)
        ctx.save_for_backward(vectors, best, winners)
        ctx.points, ctx.way = points.detached(), way
        ctx.mark_non_differentiable(winners)
        return best, winners

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        vectors, best, winners = ctx.saved_tensors
        queries, keys = ctx.way
        return backend_for(vectors).pull_back(ctx.points, queries, keys, best, winners, grad), None, None


class _LearnedMean(torch.autograd.Function):
    """The mean of Eq. (6) over all parts, by a measure that gives an edge without a counterpart no gradient.

    The values are those of :func:`match_edges` and :func:`edge_mean`, but nothing of size edges x cases is kept or
    computed besides the matches.
    """

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, comparison: Comparison, asking: Items, ways: tuple[Way, ...]) -> Tensor:
        points, backend = comparison.points.detached(), comparison.backend
        shares = [torch.from_numpy(share).to(points.device)[:, None] for share in asking.shares]  # [T, 1] each
        shares = shares or [torch.ones(len(asking), 1, device=points.device)]
        ctx.points, ctx.parts = points, []
        total = points.vectors.new_zeros(len(asking), ways[0].keys.num_local)
        for way, share in zip(ways, shares):
            best, winners = backend.match(points, *way)
            backend.add_mean(total, way, best, share)
            ctx.parts.append((way, best, winners, share))
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        backend, total = backend_for(ctx.points.vectors), torch.zeros_like(ctx.points.vectors)
        for way, best, winners, share in ctx.parts:
            total += backend.pull_back_mean(ctx.points, way, best, winners, share, grad)
        return total, None, None, None


def edge_mean(best: Tensor, way: Way, weights: Tensor | None = None) -> Tensor:
    """P M, [Q, L] to [T, L], with the weights of the edges and a gradient to ``best``; 0 for a node without edges.

    Each edge counts with the weight it carries, or with ``weights``, [Q], to which there is a gradient as well.
    """
    if weights is None:
        return _sums(way.queries.weighted(best), way.queries) / way.queries.rows(best.device).sizes
    total = _sums(weights[:, None], way.queries)  # [T, 1]
    counted = best.masked_fill(torch.isneginf(best), 0) * weights[:, None]
    return _sums(counted, way.queries) / torch.where(total > 0, total, 1)


def _sums(values: Tensor, queries: LocalEdges) -> Tensor:
    """The sum over the edges of each node, [Q, L] to [T, L], with gradients."""
    sums: Tensor = _Sums.apply(values, queries)  # type: ignore[no-untyped-call]
    return sums


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, queries: LocalEdges) -> Tensor:
        ctx.queries = queries
        return backend_for(values).row_sums(values, queries.rows(values.device))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return backend_for(grad).row_sums(grad, ctx.queries.flipped(grad.device)), None


def _counts(queries: LocalEdges, edge_weights: Tensor) -> Tensor:
    """How much each query edge counts, [Q]."""
    counts = edge_weights[torch.from_numpy(queries.ids).to(edge_weights.device)]
    return counts if queries.weights is None else counts * torch.from_numpy(queries.weights).to(counts.device)
