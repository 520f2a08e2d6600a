"""The ranking: for each query the cases, most similar first. Who votes is decided here, and nowhere else.

A case is a labeled node that may vote. A query that is a case itself cannot vote on itself: it stays in the ranking, as
the last one, with a similarity of -inf. Shapes: T queries, L cases, d ranks, K cases that vote, C classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import items_within, memory_budget
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.progress import tiles
from se_gnn.ranking.vote import Answers, ClassAnswers, NumberAnswers, contributions, tally, vote
from se_gnn.settings import Resolved, VoteSettings
from se_gnn.similarity import Items, Matches, Nearest, Similarities, Similarity, items_of, who_votes

SPARE = 8  # ranks that are kept behind the K that vote: enough to see what a few removals change
FEW = 256  # if there are no more cases, all ranks are kept
BYTES_PER_PAIR = 64  # of a complete ranking: similarities, order, classes and what is computed from them
BYTES_PER_RANK = 20  # that is kept: a position and three similarities
NO_CASE = -1


@dataclass(frozen=True, eq=False)
class Cases:
    """The labeled nodes that may vote, by ascending id, and what each of them votes for.

    Of equally similar cases the one that comes first is nearer.
    """

    items: Items  # the nodes and their local graphs, [L]
    answers: Answers
    _moved: dict[torch.device, Answers] = field(default_factory=dict, repr=False)  # moved to a device once

    @classmethod
    def of(cls, graph: Graph, settings: Resolved) -> Cases:
        """The labeled nodes of a graph."""
        settings.among(len(graph.train))
        answers: Answers
        if graph.predicts_numbers:
            answers = NumberAnswers(torch.from_numpy(graph.values[graph.train]))
        else:
            answers = ClassAnswers.of(graph.labels[graph.train], graph.num_classes, settings.vote.class_factors)
        return cls(items_of(graph, graph.train, settings.similarity), answers)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def nodes(self) -> IntArray:
        """Ids, ascending, [L]."""
        return self.items.nodes

    def answers_on(self, device: torch.device) -> Answers:
        """What the cases vote for, on a device."""
        if device not in self._moved:
            self._moved[device] = self.answers.to(device)
        return self._moved[device]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Some queries with their nearest cases, most similar first, and the vote of the first K.

    ``num_cases`` cases could be in each row. The vote always sees min(K, num_cases) columns, whether or not all of them
    can vote: a softmax over another number of columns may round in another way.
    """

    queries: IntArray  # [T]
    nearest: Nearest  # positions among the cases, and similarities, [T, d]
    cases: Cases
    settings: VoteSettings
    num_cases: int

    @classmethod
    def of(
        cls,
        similarities: Similarities,
        queries: Items,
        cases: Cases,
        settings: VoteSettings,
        *,
        without: Sequence[int] = (),
    ) -> Ranking:
        """All cases by similarities that are known, [T, L]; ``without`` some cases, by their ids."""
        device = similarities.node.device
        left = torch.from_numpy(np.flatnonzero(~np.isin(cases.nodes, without))).to(device)
        itself = queries.nodes_on(device)[:, None] == cases.items.nodes_on(device)[left]
        overall = similarities.overall[:, left].masked_fill(itself, -torch.inf)
        found = Nearest(left.expand_as(overall), overall, similarities.node[:, left], similarities.structure[:, left])
        return cls(queries.nodes, found.cut(len(left)), cases, settings, len(left))

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def positions(self) -> Tensor:
        """Positions of the ranked cases in ``cases``, [T, d]."""
        return self.nearest.positions

    @property
    def overall(self) -> Tensor:
        """Similarity, [T, d]; -inf: this case cannot vote."""
        return self.nearest.overall

    @property
    def depth(self) -> int:
        """How many ranks there are, d."""
        return self.overall.shape[1]

    @property
    def complete(self) -> bool:
        """Whether every case is ranked."""
        return self.depth == self.num_cases

    @property
    def num_nearest(self) -> int:
        """How many cases the vote is over: K, or all."""
        return min(self.settings.num_nearest, self.num_cases)

    @property
    def answers(self) -> Answers:
        """What the cases vote for."""
        return self.cases.answers_on(self.overall.device)

    @property
    def class_answers(self) -> ClassAnswers:
        """The classes that the cases vote for; refused if they vote for numbers."""
        answers = self.answers
        if isinstance(answers, NumberAnswers):
            raise InputError("this needs classes, but these cases vote for numbers")
        return answers

    @property
    def number_answers(self) -> NumberAnswers:
        """The numbers that the cases vote for; refused if they vote for classes."""
        answers = self.answers
        if isinstance(answers, ClassAnswers):
            raise InputError("this needs numbers, but these cases vote for classes")
        return answers

    @cached_property
    def nodes(self) -> IntArray:
        """Ids of the cases, [T, d]."""
        ids: IntArray = self.cases.nodes[self.positions.cpu().numpy()]
        return ids

    @cached_property
    def classes(self) -> Tensor:
        """Classes of the cases, [T, d]."""
        return self.class_answers.classes[self.positions]

    @cached_property
    def voting(self) -> Tensor:
        """Which cases can vote, [T, d]."""
        return torch.isfinite(self.overall)

    @cached_property
    def weights(self) -> Tensor:
        """Weights of the nearest K, Eq. (8), [T, K]; each row adds up to 1 less the reserve."""
        return self.votes(self.overall[:, : self.num_nearest], self.positions[:, : self.num_nearest])

    def votes(self, overall: Tensor, positions: Tensor) -> Tensor:
        """The weights that some cases would have if they were the nearest, [T, K] each."""
        settings = self.settings
        return vote(overall, settings.temperature, settings.reserve, self.answers.offsets(positions))

    @cached_property
    def probabilities(self) -> Tensor:
        """Class probabilities, Eq. (9), [T, C]."""
        return tally(self.weights, self.positions[:, : self.num_nearest], self.class_answers, self.settings.reserve)

    @cached_property
    def contributions(self) -> Tensor:
        """What each of the nearest K adds to the predicted number, [T, K]."""
        return contributions(self.weights, self.positions[:, : self.num_nearest], self.number_answers)

    @property
    def numbers(self) -> Tensor:
        """The predicted number, the sum of the contributions, [T]."""
        return self.contributions.sum(dim=1)

    @property
    def spread(self) -> Tensor:
        """How far the numbers of the nearest K lie from the predicted one: their weighted standard deviation, [T]."""
        values = self.number_answers.values[self.positions[:, : self.num_nearest]]
        away = (values - self.numbers[:, None]).square()
        exact = self.weights.to(torch.float64)
        return ((exact * away).sum(dim=1) / exact.sum(dim=1)).sqrt()

    @property
    def predicted(self) -> Tensor:
        """The class with the highest probability; ties go to the first, [T]."""
        return self.probabilities.argmax(dim=1)

    def rows(self, rows: IntArray | slice) -> Ranking:
        """Some of the queries."""
        index = rows if isinstance(rows, slice) else torch.tensor(rows, device=self.overall.device)
        return dataclasses.replace(self, queries=self.queries[rows], nearest=self.nearest.taken(index))

    def first(self, depth: int) -> Ranking:
        """The first ranks alone."""
        return self if depth >= self.depth else dataclasses.replace(self, nearest=self.nearest.first(depth))

    def without(self, ranks: Sequence[int]) -> Ranking:
        """The same without the cases of some ranks (0: the nearest), as if they were not labeled."""
        kept = np.delete(np.arange(self.depth), np.asarray(ranks, dtype=np.int64))
        columns = torch.from_numpy(kept).to(self.overall.device).expand(len(self), -1)
        left = self.num_cases - (self.depth - len(kept))
        return dataclasses.replace(self, nearest=self.nearest.columns(columns), num_cases=left)

    def cpu(self) -> Ranking:
        """The same in the memory of the host."""
        return dataclasses.replace(self, nearest=self.nearest.cpu())

    @staticmethod
    def joined(rankings: Sequence[Ranking]) -> Ranking:
        """The queries of several rankings of the same cases, one after the other."""
        queries = np.concatenate([ranking.queries for ranking in rankings])
        nearest = Nearest.joined([ranking.nearest for ranking in rankings], dim=0)
        return dataclasses.replace(rankings[0], queries=queries, nearest=nearest)


class Ranker:
    """Ranks the cases of one graph for any of its nodes.

    After all nodes have been ranked, their first ranks are kept if they fit the memory, and serve every later question
    that they can answer: a report compares all nodes once. Of a graph that is too large for that, :meth:`hold` keeps
    those of some nodes. Never more than that is held of all nodes and all cases.
    """

    def __init__(self, similarity: Similarity, cases: Cases, settings: VoteSettings) -> None:
        self.similarity, self.cases, self.settings = similarity, cases, settings
        self._held: Ranking | None = None

    def rank(self, queries: Items, *, depth: int | None = None) -> Ranking:
        """The ``depth`` nearest cases of some queries (None: all), in one block."""
        count = len(self.cases) if depth is None else min(depth, len(self.cases))
        found = self.similarity.nearest(queries, self.cases.items, count)
        return Ranking(queries.nodes, found, self.cases, self.settings, len(self.cases))

    def rank_with_matches(self, queries: Items, *, depth: int) -> tuple[Ranking, Matches]:
        """The ``depth`` nearest cases of some queries, or more, with the matched edges of the K that vote."""
        cases, count = self.cases.items, min(self.settings.num_nearest, len(self.cases))
        kept = self.kept(queries.nodes)
        if kept is not None:
            return kept, self.similarity.match(queries, cases, who_votes(kept.nearest.first(count)))
        found, matches = self.similarity.nearest_with_matches(queries, cases, count, depth=min(depth, len(cases)))
        return Ranking(queries.nodes, found, self.cases, self.settings, len(cases)), matches

    def blocks(self, queries: IntArray | None = None, *, depth: int | None = None) -> Iterator[Ranking]:
        """The ``depth`` nearest cases (None: all) of some nodes, or of all, as many at a time as fit the memory.

        There is at least one block, if only an empty one.
        """
        num_nodes = self.similarity.graph.num_nodes
        nodes = np.arange(num_nodes) if queries is None else np.asarray(queries, dtype=np.int64)
        count = len(self.cases) if depth is None else min(depth, len(self.cases))
        every = len(nodes) == num_nodes and np.array_equal(nodes, np.arange(num_nodes))
        if every and (self._held is None or len(self._held) < num_nodes) and count <= self._depth_to_hold(num_nodes):
            self.hold(nodes)
        kept = self.kept(nodes)
        if kept is not None and count <= kept.depth:
            yield kept.first(count)
        else:
            yield from self._compared(nodes, count)

    def hold(self, nodes: IntArray) -> None:
        """Keep the ranks of some nodes, ascending ids, if they fit the memory; those that are kept already stay."""
        depth, held = self._depth_to_hold(len(nodes)), self._held
        if not depth or self.kept(nodes) is not None:
            return
        known, parts = np.empty(0, np.int64), list[Ranking]()
        if held is not None and held.depth >= depth and self.similarity.device.type == "cpu":  # as in with_cases
            known = np.intersect1d(nodes, held.queries, assume_unique=True)
            parts = [held.rows(np.searchsorted(held.queries, known)).first(depth)]
        found = Ranking.joined([*parts, *self._compared(np.setdiff1d(nodes, known, assume_unique=True), depth)])
        self._held = found.rows(np.argsort(found.queries)) if len(known) else found

    def kept(self, queries: IntArray) -> Ranking | None:
        """As many ranks of some nodes as are kept; None: not of all of them."""
        held = self._held
        if held is None or np.array_equal(queries, held.queries):
            return held
        places = np.searchsorted(held.queries, queries)
        if not np.array_equal(held.queries[np.minimum(places, len(held) - 1)], queries):
            return None
        return held.rows(places)

    def with_cases(self, cases: Cases) -> Ranker:
        """The same for other cases of the same graph: what is kept of all nodes stays, as far as it is still true.

        Cases that no longer vote leave, new ones are compared, and only nodes that lost a case are ranked again.
        """
        other = Ranker(self.similarity, cases, self.settings)
        if self._held is not None and self.similarity.device.type == "cpu":  # elsewhere bits may depend on the block
            other._held = other._updated(self._held)
        return other

    def _updated(self, known: Ranking) -> Ranking | None:
        """What to keep of all nodes, from what was kept under other cases; None: it must be ranked from scratch."""
        before, now, depth = known.cases.nodes, self.cases.nodes, self._depth_to_hold(len(known))
        complete = known.complete and depth == len(now)
        if not complete and (known.complete or depth != known.depth):
            return None
        stays = torch.from_numpy(np.isin(before, now))[known.positions]  # [N, d]
        found = known.nearest
        lost = np.empty(0, np.int64)
        if complete:  # every row has lost the same cases
            left = int(np.isin(before, now).sum())
            found = found.columns((~stays).int().argsort(dim=1, stable=True)[:, :left])
        else:
            lost = np.flatnonzero(~stays.all(dim=1).numpy())
        places = torch.from_numpy(np.searchsorted(now, before))
        found = dataclasses.replace(found, positions=places[found.positions])
        added = np.flatnonzero(~np.isin(now, before))
        if len(added):
            nearest = [
                self.similarity.nearest(items, self.cases.items.select(added), len(added))
                for items in self._items(known.queries)
            ]
            fresh = Nearest.joined(nearest, dim=0)
            fresh = dataclasses.replace(fresh, positions=torch.from_numpy(added)[fresh.positions])
            both = Nearest.joined([found, fresh], dim=1)
            found = both.columns(both.positions.argsort(dim=1, stable=True)).cut(depth)
        if len(lost):
            again = Ranking.joined(list(self._compared(known.queries[lost], depth))).nearest
            found = found.with_rows(torch.from_numpy(lost), again)
        return Ranking(known.queries, found, self.cases, self.settings, len(now))

    def _compared(self, nodes: IntArray, count: int) -> Iterator[Ranking]:
        complete = count == len(self.cases)
        most = items_within(self._budget // 2, BYTES_PER_PAIR * max(1, count), max(1, len(nodes))) if complete else None
        for items in self._items(nodes, most):
            yield self.rank(items, depth=count)

    def _items(self, nodes: IntArray, most: int | None = None) -> Iterator[Items]:
        """Some nodes with their local graphs, as many at a time as can be compared, and at most ``most``."""
        step = min(self.similarity.queries_at_a_time(len(nodes)), most or len(nodes))
        if step >= len(nodes):
            yield self.similarity.items(nodes)
            return
        for part in tiles(len(nodes), step, unit="node"):
            yield self.similarity.items(nodes[part])

    def _depth_to_hold(self, num_nodes: int) -> int:
        """How many ranks of some nodes are kept; 0: they do not fit."""
        most = self._budget // 4 // (BYTES_PER_RANK * max(1, num_nodes))
        if len(self.cases) <= min(FEW, most):
            return len(self.cases)
        depth = min(self.settings.num_nearest + SPARE, len(self.cases))
        return depth if depth <= most else 0

    @property
    def _budget(self) -> int:
        return memory_budget(self.similarity.max_memory, self.similarity.device)


@dataclass(frozen=True, slots=True, eq=False)
class NearestPerClass:
    """For each query and class the most similar case of that class."""

    nodes: IntArray  # ids of the cases, -1 if a class has no case besides the query itself, [T, C]
    similarity: FloatArray  # overall similarity, -inf there, [T, C]

    def rows(self, rows: IntArray) -> NearestPerClass:
        """Those of some queries."""
        return NearestPerClass(self.nodes[rows], self.similarity[rows])


@torch.no_grad()
def nearest_per_class(rankings: Iterable[Ranking]) -> NearestPerClass:
    """The most similar case of each class, from complete rankings; ties go to the first, as in the vote."""
    nodes, similarity = [], []
    for ranking in rankings:
        found = torch.full((len(ranking), ranking.class_answers.num_classes), NO_CASE, device=ranking.overall.device)
        best = torch.full_like(found, -torch.inf, dtype=ranking.overall.dtype)
        ids = ranking.cases.items.nodes_on(found.device)
        for label in range(ranking.class_answers.num_classes):
            of_class = (ranking.classes == label) & ranking.voting
            first = of_class.int().argmax(dim=1, keepdim=True)
            exists = of_class.gather(1, first)[:, 0]
            found[exists, label] = ids[ranking.positions.gather(1, first)[exists, 0]]
            best[exists, label] = ranking.overall.gather(1, first)[exists, 0]
        nodes.append(found.cpu().numpy())
        similarity.append(best.cpu().numpy())
    return NearestPerClass(np.concatenate(nodes), np.concatenate(similarity))


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Other settings of the vote: more or fewer cases that vote, another lambda, some cases left out.

    Embeddings and similarities stay as they are: the model is not trained again. None: as the model has it.
    """

    num_nearest: int | None = None  # K
    node_weight: float | None = None  # lambda
    without: tuple[int, ...] = ()  # ids of cases that do not vote

    def settings(self, trained: Resolved, cases: IntArray) -> Resolved:
        """The settings of a model with these in their place; ``cases`` are the ids of its labeled nodes."""
        if self.num_nearest is not None and not 1 <= self.num_nearest <= len(cases):
            raise InputError(
                f"num_nearest must be between 1 and the {len(cases)} labeled nodes, got {self.num_nearest}"
            )
        unknown = np.setdiff1d(np.asarray(self.without, dtype=np.int64), cases)
        if len(unknown):
            raise InputError(f"without must name labeled nodes, got node {unknown[0]}, which is not labeled")
        wanted = {"num_nearest": self.num_nearest, "node_weight": self.node_weight}
        return trained.changed(**{name: value for name, value in wanted.items() if value is not None})

    def rank(self, similarities: Similarities, queries: Items, cases: Cases, trained: Resolved) -> Ranking:
        """The complete ranking of some queries with these settings in the place of a model's; nothing is compared."""
        settings = self.settings(trained, cases.nodes)
        found = similarities.weighted(settings.similarity.node_weight)
        ranking = Ranking.of(found, queries, cases, settings.vote, without=self.without)
        if not bool(ranking.voting.any(dim=1).all()):
            raise InputError("without must leave at least one labeled node that can vote")
        return ranking
