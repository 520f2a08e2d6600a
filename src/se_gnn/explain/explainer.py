"""Explanations of one node or of many, by the same constructor: rankings and matched edges as arrays, cut into objects.

A batch holds arrays; an explanation is a slice of them with a table of what it mentions. What takes time is done once
for the batch, or for some hundred rows of it when the first of them is read. Shapes: T queries, K cases that vote, M
edges of a local graph, L cases, C classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch

from se_gnn.device import memory_budget
from se_gnn.encoder.outputs import OutputEncoder
from se_gnn.errors import InputError, shortened
from se_gnn.explain.attributes import Mentioned, has_attribute_names
from se_gnn.explain.effects import shared_attributes
from se_gnn.explain.explanation import (
    CaseVote,
    ClassAnswer,
    CompareSettings,
    Contrast,
    EdgeMatches,
    ExplainedModel,
    Explanation,
    NumberAnswer,
    RankRows,
)
from se_gnn.graph import UNKNOWN, Graph, LocalGraphs
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.local import ROLE_WORDS, edge_roles
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import Calibration, NumberPrediction, calibrate_intervals
from se_gnn.ranking import (
    SPARE,
    Ranking,
    SmallestSets,
    WhatIf,
    decided_removals,
    smallest_relabelings,
    smallest_removals,
    without_each,
)
from se_gnn.settings import Resolved
from se_gnn.similarity import Items, Matches, Similarities, Similarity, who_votes

ROWS_AT_A_TIME = 256  # of a batch, whose removals are searched together
Figures = tuple[int, float, float, float, float]  # case, weight, similarities
ALL_RANKS = 1 << 20  # pairs of queries and cases up to which all cases are ranked


@torch.no_grad()
def explain(
    trained: Model,
    queries: int | Sequence[int] | IntArray | None = None,
    *,
    k: int | None = None,
    what_if: WhatIf | None = None,
    attributes: bool = False,
) -> Explanations:
    """Explain some nodes, labeled or not; the same node gets the same explanation alone and among others.

    Args:
        trained: the model, with its graph.
        queries: ids of the nodes, or of one; None: all.
        k: how many cases come in full, with matched edges and the row of their table, nearest first; None: all K.
        what_if: other settings of the vote; None: those of the model.
        attributes: also compute what each shared attribute does for the similarity with the cases in full, if it has a
            name and the embeddings of all nodes are in memory. It takes some milliseconds for each case.
    """
    nodes = _ids(trained.graph, queries)
    parts = [(rows, _explain(view, nodes[rows], k, what_if, attributes)) for rows, view in trained.views(nodes)]
    return parts[0][1] if len(parts) == 1 else ExplanationsInViews(parts)


def _explain(trained: Model, nodes: IntArray, k: int | None, what_if: WhatIf | None, attributes: bool) -> Explanations:
    if what_if is not None:
        return Comparison.of(trained, nodes).explain(k, what_if=what_if, attributes=attributes)
    items = trained.similarity.items(nodes)
    settings = trained.in_use
    needed = Similarity.match_bytes(items, trained.cases.items, settings.vote.num_nearest)
    budget = memory_budget(trained.max_memory)
    if len(nodes) > 1 and needed > budget:
        raise InputError(
            f"max_memory must hold the matched edges of {len(nodes)} nodes, {needed / 2**30:.1f} GB; it is "
            f"{budget / 2**30:.1f} GB: explain fewer nodes at a time"
        )
    depth = len(trained.cases) if len(nodes) * len(trained.cases) <= ALL_RANKS else settings.vote.num_nearest + SPARE
    ranking, matches = trained.ranker.rank_with_matches(items, depth=depth)
    return Explanations(trained, settings, items, ranking.cpu(), matches, k, attributes)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Nodes compared with every case: their explanations under any settings of the vote, without comparing again."""

    trained: Model
    queries: Items
    similarities: Similarities  # [T, L]
    matching: Matches

    @classmethod
    @torch.no_grad()
    def of(cls, trained: Model, queries: int | Sequence[int] | IntArray) -> Comparison:
        """Compare nodes with all cases: the part of an explanation that takes time."""
        nodes = _ids(trained.graph, queries)
        views = trained.views(nodes)
        if len(views) > 1:
            raise InputError("one comparison holds nodes whose values are hidden together: compare them one by one")
        trained = views[0][1]
        similarity = trained.similarity
        items = similarity.items(nodes)
        similarities, matching = similarity.compare_with_matches(items, trained.cases.items)
        return cls(trained, items, similarities, matching)

    @property
    def num_bytes(self) -> int:
        """Memory of the matches, nearly all of what it holds."""
        return self.matching.similarity.nbytes + self.matching.matched_ids.nbytes

    @torch.no_grad()
    def explain(self, k: int | None = None, *, what_if: WhatIf | None = None, attributes: bool = False) -> Explanations:
        """The explanations; the arguments are those of :func:`explain`."""
        asked, cases = what_if or WhatIf(), self.trained.cases
        settings = asked.settings(self.trained.in_use, cases.nodes)
        ranking = asked.rank(self.similarities, self.queries, cases, self.trained.in_use).cpu()
        matches = self.matching.among(who_votes(ranking.nearest.first(ranking.num_nearest)))
        return Explanations(self.trained, settings, self.queries, ranking, matches, k, attributes)


class Explanations(Sequence[Explanation]):
    r"""Explanations of many nodes: arrays, and a plain object for each node when it is asked for.

    ``local.row(i)`` are the ids of the edges of the i-th node, ``importance[local.ptr[i]:local.ptr[i + 1]]`` is their
    importance, Eq. (10); NaN if no case that votes has edges.

    Shapes:
        - **importance:** :math:`(\sum_i |E_i|,)`
    """

    def __init__(
        self,
        trained: Model,
        settings: Resolved,
        queries: Items,
        ranking: Ranking,
        matches: Matches,
        k: int | None,
        attributes: bool,
    ) -> None:
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise InputError(f"k must be a whole number, at least 1, got {shortened(k)}")
        self.trained, self.settings = trained, settings
        self.queries, self.ranking, self.matched = queries, ranking, matches
        self.in_full = ranking.num_nearest if k is None else min(k, ranking.num_nearest)
        self.attributes = attributes and trained.embedded.takes_attributes and has_attribute_names(trained.graph)
        self.mentioned = Mentioned(trained.graph)
        self._compared_by = compare_settings(settings)
        self._block: tuple[int, _Block] | None = None

    @property
    def graph(self) -> Graph:
        """The graph of the nodes."""
        return self.trained.graph

    @property
    def local(self) -> LocalGraphs:
        """The local graphs of the nodes."""
        return self.queries.local

    @cached_property
    def prediction(self) -> Prediction:
        """What is predicted, and the votes, as arrays; if numbers are predicted, without probabilities."""
        return Prediction.of([self.ranking])

    @cached_property
    def numbers(self) -> NumberPrediction:
        """The predicted numbers."""
        return NumberPrediction.of([self.ranking])

    @cached_property
    def calibration(self) -> Calibration | None:
        """What is known of the errors of predicted numbers; None: nothing."""
        return calibrate_intervals(self.trained)

    @cached_property
    def importance(self) -> FloatArray:
        """Importance of the edges of each local graph, Eq. (10)."""
        return self.matched.importance()

    @cached_property
    def roles(self) -> IntArray | None:
        """The role of each edge of each local graph; None: no edge has a direction."""
        values = self.graph.edge_values
        if values is None or values.direction is None:
            return None
        return edge_roles(self.graph, self.local, self.settings.similarity.hops).astype(np.int64)

    @property
    def parts(self) -> Sequence[tuple[IntArray, Explanations]]:
        """Batches that were each compared under one set of embeddings, and which of the nodes each is of."""
        return [(np.arange(len(self)), self)]

    def __len__(self) -> int:
        return len(self.ranking)

    @overload
    def __getitem__(self, i: int) -> Explanation: ...
    @overload
    def __getitem__(self, i: slice) -> list[Explanation]: ...
    def __getitem__(self, i: int | slice) -> Explanation | list[Explanation]:
        """The explanation of the i-th node as one object."""
        if isinstance(i, slice):
            return [self[place] for place in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"explanations go from 0 to {len(self) - 1}, got {i}")
        return self._cut(i % len(self))

    def matches(self, i: int, rank: int) -> EdgeMatches:
        """Edges of the i-th node matched in the local graph of its case of that rank (0: the nearest), Eq. (5)."""
        found = self._matches(i, self.local.row(i).astype(np.int64))[0][rank]
        if found is not None:
            return found
        none = np.empty(0, np.int64)
        return EdgeMatches(none, none, np.empty(0, np.float32), np.empty(0, np.bool_))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each vote; needs `pip install 'se-gnn[interop]'`."""
        from se_gnn.explain.tables import bulk_to_pandas

        return bulk_to_pandas(self)

    def write_json_lines(self, path: str | Path, *, overwrite: bool = False, progress: bool = False) -> None:
        """One explanation per line, as ``Explanation.to_json`` has it."""
        from se_gnn.explain.tables import write_json_lines

        write_json_lines(self, path, overwrite=overwrite, progress=progress)

    def _cut(self, i: int) -> Explanation:
        block, at = self._block_of(i)
        node, edge_ids = int(self.ranking.queries[i]), self.local.row(i).astype(np.int64)
        matches, usual = self._matches(i, edge_ids)
        count = int(self.prediction.voting[i].sum())
        positions = self.ranking.positions[i, :count].tolist()
        votes = []
        for rank, (figures, without) in enumerate(zip(_figures(self.ranking, i, range(count)), block.without[at])):
            full: dict[str, Any] = {"without": tuple(one for one in without if one == one)}
            if rank < self.in_full:
                back = None if matches[rank] is None else block.back(at, rank)
                effects = shared_attributes(self.trained, node, figures[0]) if self.attributes else None
                full |= {"matches": matches[rank], "matches_back": back, "attributes": effects}
            if self.graph.predicts_numbers:
                answers = self.ranking.number_answers.values
                full |= {
                    "number": float(answers[positions[rank]]),
                    "contribution": float(self.numbers.contributions[i, rank]),
                }
            votes.append(self._vote(figures, positions[rank], explained=rank < self.in_full, **full))
        contrast = self._contrast(block, at, edge_ids, usual)
        ranks = block.ranks(at)
        shown = [*votes[: self.in_full], *(() if contrast is None else (contrast.chosen, contrast.other))]
        mentioned = [edge_ids, *(one.edge_ids for one in shown if one.edge_ids is not None)]
        edges = self.mentioned.edges(np.unique(np.concatenate(mentioned)))
        ends = [end for edge in edges.values() for end in (edge.start, edge.end)]
        described = [node, *(one.node for one in shown)]
        listed = {*described, *ends, *ranks.nodes.tolist(), *(one.node for one in votes)}
        nodes = self.mentioned.nodes(sorted(listed), described)
        span = slice(self.local.ptr[i], self.local.ptr[i + 1])
        values = self.graph.edge_values
        return Explanation(
            query=nodes[node],
            answer=self._number(i) if self.graph.predicts_numbers else self._classes(i),
            votes=tuple(votes),
            reserve=self.settings.vote.reserve,
            ranks=ranks,
            removal=None if block.removals is None else block.removals[at],
            relabeling=None if block.relabelings is None else block.relabelings[at],
            contrast=contrast,
            edge_ids=edge_ids,
            importance=self.importance[span],
            roles=() if self.roles is None else tuple(ROLE_WORDS[one] if one else None for one in self.roles[span]),
            nodes=nodes,
            edges=edges,
            edge_types=() if values is None else values.type_names,
            settings=self._compared_by,
        )

    def _classes(self, i: int) -> ClassAnswer:
        probabilities = tuple(self.prediction.probabilities[i].tolist())
        model = _explained_model(self.trained, int(self.ranking.queries[i]))
        return ClassAnswer(self.graph.class_names, probabilities, probabilities.index(max(probabilities)), model=model)

    def _number(self, i: int) -> NumberAnswer:
        target, found, calibration = self.graph.numbers, self.numbers, self.calibration
        value = float(found.values[i])
        interval: dict[str, Any] = {}
        if calibration is not None and np.isfinite(calibration.factor):
            reach = float(calibration.reach(found.spread[i : i + 1])[0])
            promised = {"coverage": calibration.coverage, "guaranteed": calibration.guaranteed}
            interval = {"low": value - reach, "high": value + reach, **promised}
        return NumberAnswer(
            target.name,
            value,
            float(found.spread[i]),
            unit=target.unit,
            decimals=target.decimals,
            values_read=self.trained.encoder.reads_target,
            **interval,
        )

    def _vote(self, figures: Figures, position: int, *, explained: bool, **full: Any) -> CaseVote:
        case, weight, overall, similarity, structure = figures
        compared = structure > -np.inf  # else one of the two has no edges
        share = self.settings.similarity.node_weight if compared else 1.0
        cases = self.trained.cases
        return CaseVote(
            node=case,
            label=UNKNOWN if self.graph.predicts_numbers else int(self.graph.labels[case]),
            weight=weight,
            similarity=overall,
            node_similarity=similarity,
            structure_similarity=structure if compared else None,
            node_term=share * similarity,
            structure_term=(1 - share) * structure if compared else 0.0,
            explained=explained,
            edge_ids=cases.items.local.row(position).astype(np.int64) if explained else None,
            **full,
        )

    def _contrast(self, block: _Block, at: int, edge_ids: IntArray, usual: FloatArray) -> Contrast | None:
        """The nearest case for and against the prediction; None: all cases that can vote have the same class."""
        if (sides := block.sides[at]) is None:
            return None
        ranking, row, ranks = sides
        similarity, matched = block.side_matches.of(at)  # [M, 2]
        votes = []
        for side, figures in enumerate(_figures(ranking, row, ranks)):
            values, ids = similarity[:, side], matched[:, side]
            found = EdgeMatches(edge_ids, ids, values, (values >= usual) & (ids >= 0)) if figures[4] > -np.inf else None
            position = int(ranking.positions[row, ranks[side]])
            votes.append(self._vote(figures, position, explained=True, without=(), matches=found))
        return Contrast(votes[0], votes[1], _needed_similarity(ranking, row, ranks[1]))

    def _matches(self, i: int, edge_ids: IntArray) -> tuple[list[EdgeMatches | None], FloatArray]:
        """Of each case that votes (None: one of the two has no edges), and how close each edge is matched on average.

        Edges are matched well if they are at least as close as that; the average is over the cases that have edges.
        """
        similarity, matched = self.matched.of(i)  # [M, K]
        known = np.isfinite(able := np.ascontiguousarray(similarity[:, self.matched.positions[i] >= 0]))
        # contiguous, so that the order of the sum is the same for any layout
        usual: FloatArray = np.where(known, able, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        good = (similarity >= usual[:, None]) & (matched >= 0)
        compared = np.isfinite(self.prediction.structure[i]).tolist()
        columns = zip(compared, matched.T, similarity.T, good.T)
        found = [EdgeMatches(edge_ids, *three) if there else None for there, *three in columns]
        return found, usual

    def _block_of(self, i: int) -> tuple[_Block, int]:
        """What is computed for some hundred queries together, and the place of the i-th among them."""
        block = i // ROWS_AT_A_TIME
        if self._block is None or self._block[0] != block:
            low = block * ROWS_AT_A_TIME
            self._block = block, _Block(self, low, min(low + ROWS_AT_A_TIME, len(self)))
        return self._block[1], i - block * ROWS_AT_A_TIME


class ExplanationsInViews(Explanations):
    """Explanations of nodes that were compared under several embeddings: labeled ones with their own value hidden."""

    def __init__(self, parts: Sequence[tuple[IntArray, Explanations]]) -> None:
        self.trained, self.settings, self._parts = parts[0][1].trained, parts[0][1].settings, parts
        self._place = {row: (part, at) for rows, part in parts for at, row in enumerate(rows.tolist())}

    @property
    def parts(self) -> Sequence[tuple[IntArray, Explanations]]:
        """Batches that were each compared under one set of embeddings, and which of the nodes each is of."""
        return self._parts

    def __len__(self) -> int:
        return len(self._place)

    def _cut(self, i: int) -> Explanation:
        part, at = self._place[i]
        return part[at]

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each vote; needs `pip install 'se-gnn[interop]'`."""
        import pandas

        return pandas.concat([one.to_pandas() for one in self], ignore_index=True)


def _figures(ranking: Ranking, row: int, ranks: Sequence[int]) -> list[Figures]:
    """Of the cases of some ranks: id, weight, overall similarity, its node part and its structure part."""
    at, nearest, weights = list(ranks), ranking.nearest, ranking.weights[row].tolist()
    parts = (one[row, at].tolist() for one in (nearest.overall, nearest.node, nearest.structure))
    held = [weights[rank] if rank < len(weights) else 0.0 for rank in at]
    return list(zip(ranking.nodes[row, at].tolist(), held, *parts))


class _Block:
    """Some queries of a batch: what would change their predictions, and the cases for and against them."""

    def __init__(self, batch: Explanations, low: int, high: int) -> None:
        self.batch, self.low = batch, low
        self._ranking = batch.ranking.rows(slice(low, high))
        self.without = without_each(self._ranking).tolist()
        self._complete: dict[int, tuple[Ranking, int]] = {}  # rows that their first ranks do not decide
        self.removals: SmallestSets | None = None
        self.relabelings: SmallestSets | None = None
        self.sides: list[tuple[Ranking, int, list[int]] | None] = [None] * len(self._ranking)
        if not batch.graph.predicts_numbers:  # every case changes a number: there is no smallest set
            self._search()
            self.sides = [self._nearest_of_each_side(at) for at in range(len(self._ranking))]

    def _search(self) -> None:
        """The smallest changes of each prediction; a row that its first ranks do not decide is ranked completely."""
        removals = smallest_removals(self._ranking)
        self.relabelings = smallest_relabelings(self._ranking)

        def complete(undecided: IntArray) -> list[Ranking]:
            whole = [one.cpu() for one in self.batch.trained.rank(self._ranking.queries[undecided])]
            rows = ((part, row) for part in whole for row in range(len(part)))
            self._complete = dict(zip(undecided.tolist(), rows))
            return whole

        self.removals = decided_removals([removals], complete)

    def _nearest_of_each_side(self, at: int) -> tuple[Ranking, int, list[int]] | None:
        """The ranks of the nearest cases for and against the prediction, in the ranking and the row that has them."""
        ranking, row = self._complete.get(at, (self._ranking, at))
        able, own = ranking.voting[row], ranking.classes[row] == int(self._ranking.predicted[at])
        if not bool((able & own).any()) or not bool((able & ~own).any()):
            return None
        return ranking, row, [int((able & side).int().argmax()) for side in (own, ~own)]

    @cached_property
    def side_matches(self) -> Matches:
        """Edges of each query matched in the local graphs of the two cases, [T, 2]."""
        positions = np.array(
            [(-1, -1) if one is None else one[0].positions[one[1], one[2]].tolist() for one in self.sides],
            dtype=np.int64,
        )
        return self.batch.trained.similarity.match(self._queries, self.batch.trained.cases.items, positions)

    @property
    def _queries(self) -> Items:
        local = self.batch.queries.local
        return dataclasses.replace(self.batch.queries, local=local.select(self.low + np.arange(len(self._ranking))))

    def ranks(self, at: int) -> RankRows:
        """The first ranks of a query: enough to recount the stated removals."""
        ranking, row = self._complete.get(at, (self._ranking, at))
        removed = 1 if self.removals is None else max(1, self.removals.sizes[at])
        count = int(ranking.num_nearest + removed + 1)
        able = ranking.voting[row, :count].numpy()
        nodes, overall = ranking.nodes[row, :count][able], ranking.overall[row, :count].numpy()[able]
        if self.removals is None:
            values = ranking.number_answers.values[ranking.positions[row, :count]].numpy()[able]
            return RankRows(nodes, np.empty(0, np.int64), overall, tuple(values.tolist()))
        return RankRows(nodes, ranking.classes[row, :count].numpy()[able], overall)

    def back(self, at: int, rank: int) -> EdgeMatches | None:
        """Edges of a case matched in the local graph of the query; None: only one direction counts."""
        if self._back is None:
            return None
        cases, matches, usual = self._back
        place = at * self.batch.prediction.cases.shape[1] + rank
        values, ids = matches.of(place)
        good = (values[:, 0] >= usual[at]) & (ids[:, 0] >= 0)
        return EdgeMatches(cases.local.row(place).astype(np.int64), ids[:, 0], values[:, 0], good)

    @cached_property
    def _back(self) -> tuple[Items, Matches, FloatArray] | None:
        """The cases that vote on each query, their matches, and how close the matches of a query are on average."""
        batch, count = self.batch, len(self._ranking)
        if batch.settings.similarity.directions != "both":
            return None
        cases = batch.trained.cases.items
        positions = self._ranking.positions[:, : self._ranking.num_nearest].numpy()  # [T, K]
        voters = dataclasses.replace(cases, local=cases.local.select(positions.ravel()))
        whose = np.repeat(np.arange(count), positions.shape[1])[:, None]
        matches = batch.trained.similarity.match(voters, self._queries, whose)
        usual = np.zeros(count, np.float32)
        for at in range(count):
            voting = np.flatnonzero(self._ranking.voting[at, : positions.shape[1]].numpy())
            places = (at * positions.shape[1] + voting).tolist()
            values = np.concatenate([np.empty(0, np.float32), *(matches.of(place)[0][:, 0] for place in places)])
            usual[at] = values.mean() if len(values) else 0.0
        return voters, matches, usual


def _needed_similarity(ranking: Ranking, row: int, rank: int) -> float:
    """The similarity above which the case of a rank alone would turn the prediction to its class."""
    count, temperature = ranking.num_nearest, ranking.settings.temperature
    overall, classes = ranking.overall[row].double().numpy(), ranking.classes[row].numpy()
    voting = [one for one in range(count) if one != rank and overall[one] > -np.inf]
    if rank >= count:
        voting = voting[: count - 1]  # the last one makes room
    scores = np.zeros(ranking.answers.width)
    offsets = np.zeros(len(overall))  # what the factors of classes add to similarity / tau
    if (factors := ranking.answers.offsets(ranking.positions[row])) is not None:
        offsets = factors.double().numpy()
    np.add.at(scores, classes[voting], np.exp((overall[voting] - overall[0]) / temperature + offsets[voting]))
    own, scores[classes[rank]] = scores[classes[rank]], 0.0
    lead = float(scores.max() - own)
    enough = overall[0] + temperature * (np.log(lead) - offsets[rank]) if lead > 0 else -np.inf
    return float(max(enough, overall[count - 1]) if rank >= count else enough)


def _explained_model(trained: Model, node: int) -> ExplainedModel | None:
    """What the model that is explained answers for a node; None: it is ours, or predicts nothing of such nodes."""
    if not isinstance(trained.encoder, OutputEncoder) or (answer := int(trained.encoder.outputs.classes[node])) < 0:
        return None
    assert trained.facts.test is not None
    probability = float(trained.encoder.outputs.probabilities[node, answer])
    return ExplainedModel(answer, probability, float(trained.facts.test["accuracy"]))


def compare_settings(settings: Resolved) -> CompareSettings:
    """The settings of a model that an explanation keeps."""
    parts = (settings.similarity, settings.vote)
    wanted = [field.name for field in dataclasses.fields(CompareSettings)]
    return CompareSettings(**{name: getattr(part, name) for part in parts for name in wanted if hasattr(part, name)})


def _ids(graph: Graph, queries: int | Sequence[int] | IntArray | None) -> IntArray:
    return np.arange(graph.num_nodes) if queries is None else graph.node_ids(queries)
