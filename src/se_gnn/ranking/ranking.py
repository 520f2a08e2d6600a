"""The ranking: for each query the cases, most similar first. Who votes is decided here, and nowhere else.

A case is a labeled node that may vote. A query that is a case itself cannot vote on itself: it stays in the ranking, as
the last one, with a similarity of -inf. Shapes: T queries, L cases, d ranks, K cases that vote, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.progress import tiles
from se_gnn.ranking.vote import ClassAnswers, tally, vote
from se_gnn.settings import Resolved, VoteSettings
from se_gnn.similarity import Items, Matches, Nearest, Similarities, Similarity, items_of
from se_gnn.similarity.memory import items_within, memory_budget

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
    answers: ClassAnswers
    _moved: dict[torch.device, ClassAnswers] = field(default_factory=dict, repr=False)  # moved to a device once

    @classmethod
    def of(cls, graph: Graph, settings: Resolved) -> Cases:
        """The labeled nodes of a graph."""
        check_num_nearest(graph, settings.vote)
        answers = ClassAnswers(torch.from_numpy(graph.labels[graph.train]), graph.num_classes)
        return cls(items_of(graph, graph.train, settings.similarity), answers)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def nodes(self) -> IntArray:
        """Ids, ascending, [L]."""
        return self.items.nodes

    def answers_on(self, device: torch.device) -> ClassAnswers:
        """What the cases vote for, on a device."""
        if device not in self._moved:
            self._moved[device] = ClassAnswers(self.answers.classes.to(device), self.answers.num_classes)
        return self._moved[device]


def check_num_nearest(graph: Graph, settings: VoteSettings) -> None:
    """K labeled nodes must exist."""
    wanted, labeled = settings.num_nearest, len(graph.train)
    if wanted > labeled:
        raise InputError(f"num_nearest must be between 1 and the {labeled} labeled nodes, got {wanted}")


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
        """Of the cases, [T, d]."""
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
    def answers(self) -> ClassAnswers:
        """What the cases vote for."""
        return self.cases.answers_on(self.overall.device)

    @cached_property
    def nodes(self) -> IntArray:
        """Ids of the cases, [T, d]."""
        ids: IntArray = self.cases.nodes[self.positions.cpu().numpy()]
        return ids

    @cached_property
    def classes(self) -> Tensor:
        """Classes of the cases, [T, d]."""
        return self.answers.classes[self.positions]

    @cached_property
    def voting(self) -> Tensor:
        """Which cases can vote, [T, d]."""
        return torch.isfinite(self.overall)

    @cached_property
    def weights(self) -> Tensor:
        """Weights of the nearest K, Eq. (8), [T, K]."""
        return vote(self.overall[:, : self.num_nearest], self.settings.temperature)

    @cached_property
    def probabilities(self) -> Tensor:
        """Class probabilities, Eq. (9), [T, C]."""
        return tally(self.weights, self.positions[:, : self.num_nearest], self.answers)

    @property
    def predicted(self) -> Tensor:
        """The class with the highest probability, of equals the first, [T]."""
        return self.probabilities.argmax(dim=1)

    def rows(self, rows: IntArray | slice) -> Ranking:
        """Some of the queries."""
        index = rows if isinstance(rows, slice) else torch.tensor(rows, device=self.overall.device)
        return Ranking(self.queries[rows], self.nearest.taken(index), self.cases, self.settings, self.num_cases)

    def first(self, depth: int) -> Ranking:
        """The first ranks alone."""
        if depth >= self.depth:
            return self
        return Ranking(self.queries, self.nearest.first(depth), self.cases, self.settings, self.num_cases)

    def without(self, ranks: Sequence[int]) -> Ranking:
        """The same without the cases of some ranks (0: the nearest), as if they were not labeled."""
        kept = np.delete(np.arange(self.depth), np.asarray(ranks, dtype=np.int64))
        columns = torch.from_numpy(kept).to(self.overall.device).expand(len(self), -1)
        left = self.num_cases - (self.depth - len(kept))
        return Ranking(self.queries, self.nearest.columns(columns), self.cases, self.settings, left)

    def cpu(self) -> Ranking:
        """The same in the memory of the host."""
        return Ranking(self.queries, self.nearest.cpu(), self.cases, self.settings, self.num_cases)

    @staticmethod
    def joined(rankings: Sequence[Ranking]) -> Ranking:
        """The queries of several rankings of the same cases, one after the other."""
        one = rankings[0]
        queries = np.concatenate([ranking.queries for ranking in rankings])
        nearest = Nearest.joined([ranking.nearest for ranking in rankings], dim=0)
        return Ranking(queries, nearest, one.cases, one.settings, one.num_cases)


class Ranker:
    """Ranks the cases of one graph for any of its nodes.

    After all nodes have been ranked, their first ranks are kept if they fit the memory, and serve every later question
    that they can answer: a report compares all nodes once. Never more than that is held of all nodes and all cases.
    """

    def __init__(self, similarity: Similarity, cases: Cases, settings: VoteSettings) -> None:
        self.similarity, self.cases, self.settings = similarity, cases, settings
        self._held: Ranking | None = None

    def rank(self, queries: Items, *, depth: int | None = None) -> Ranking:
        """The ``depth`` nearest cases of some queries (None: all), in one block."""
        count = len(self.cases) if depth is None else min(depth, len(self.cases))
        found = self.similarity.nearest(queries, self.cases.items, count)
        return Ranking(queries.nodes, found, self.cases, self.settings, len(self.cases))

    def rank_with_matches(self, queries: Items) -> tuple[Ranking, Matches]:
        """The K nearest cases of some queries, with the matched edges of those that vote."""
        found, matches = self.similarity.nearest_with_matches(queries, self.cases.items, self.settings.num_nearest)
        return Ranking(queries.nodes, found, self.cases, self.settings, len(self.cases)), matches

    def blocks(self, queries: IntArray | None = None, *, depth: int | None = None) -> Iterator[Ranking]:
        """The ``depth`` nearest cases (None: all) of some nodes, or of all, as many at a time as fit the memory.

        There is at least one block, if only an empty one.
        """
        num_nodes = self.similarity.graph.num_nodes
        nodes = np.arange(num_nodes) if queries is None else np.asarray(queries, dtype=np.int64)
        count = len(self.cases) if depth is None else min(depth, len(self.cases))
        if self._held is None and np.array_equal(nodes, np.arange(num_nodes)) and count <= self._depth_to_hold():
            self._held = Ranking.joined(list(self._compared(nodes, self._depth_to_hold())))
        kept = self.kept(nodes)
        if kept is not None and count <= kept.depth:
            yield kept.first(count)
        else:
            yield from self._compared(nodes, count)

    def kept(self, queries: IntArray) -> Ranking | None:
        """As many ranks of some nodes as are kept; None: none yet."""
        if self._held is None or np.array_equal(queries, self._held.queries):
            return self._held
        return self._held.rows(queries)

    def _compared(self, nodes: IntArray, count: int) -> Iterator[Ranking]:
        step = self.similarity.queries_at_a_time(len(nodes))
        if count == len(self.cases):
            step = min(step, items_within(self._budget // 2, BYTES_PER_PAIR * max(1, count), max(1, len(nodes))))
        if step >= len(nodes):
            yield self.rank(self.similarity.items(nodes), depth=count)
            return
        for part in tiles(len(nodes), step, unit="node"):
            yield self.rank(self.similarity.items(nodes[part]), depth=count)

    def _depth_to_hold(self) -> int:
        """How many ranks of all nodes are kept; 0: they do not fit."""
        most = self._budget // 4 // (BYTES_PER_RANK * max(1, self.similarity.graph.num_nodes))
        if len(self.cases) <= min(FEW, most):
            return len(self.cases)
        depth = min(self.settings.num_nearest + SPARE, len(self.cases))
        return depth if depth <= most else 0

    @property
    def _budget(self) -> int:
        return memory_budget(self.similarity.max_memory, self.similarity.device)


@dataclass(frozen=True, slots=True, eq=False)
class NearestPerClass:
    """For each query and class the most similar case of that class.

    Shapes:
        - **nodes:** :math:`(T, C)` ids of the cases, -1 if a class has no case besides the query itself
        - **similarity:** :math:`(T, C)` overall similarity, -inf there
    """

    nodes: IntArray
    similarity: FloatArray

    def rows(self, rows: IntArray) -> NearestPerClass:
        """Those of some queries."""
        return NearestPerClass(self.nodes[rows], self.similarity[rows])


@torch.no_grad()
def nearest_per_class(rankings: Iterable[Ranking]) -> NearestPerClass:
    """The most similar case of each class, from complete rankings; of equals the first, as in the vote."""
    nodes, similarity = [], []
    for ranking in rankings:
        found = torch.full((len(ranking), ranking.answers.num_classes), NO_CASE, device=ranking.overall.device)
        best = torch.full_like(found, -torch.inf, dtype=ranking.overall.dtype)
        ids = ranking.cases.items.nodes_on(found.device)
        for label in range(ranking.answers.num_classes):
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
