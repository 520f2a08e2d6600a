"""The statements of an explanation, each compared with what is true: how far a number is off, and what is false.

A number is compared as it is. A statement (this is the nearest, this match is the best, that removal changes the class)
is false where float64 says otherwise by more than :data:`ROUNDING`, which float32 arithmetic cannot decide; between
matches by distance, by more than :func:`undecided`.
Shapes: M edges of the node, K nearest, C classes.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reproduce.truth.recompute import Double, NodeTruth, Recomputed, opposite, row_similarity, similarity
from se_gnn.explain import CaseVote, EdgeMatches, Explanation
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.local import ROLE_WORDS

ROUNDING = 1e-4  # ten times the largest error of a similarity that was seen
MOST_SUBSETS = 20_000  # removals that are tried to find a smaller one than stated
MOST_TRIED = 2  # cases: all sets of so many are tried, of more the one that should do most


@dataclass(slots=True)
class Findings:
    """The largest error of each kind of number, how many statements of each kind there were, and how many are false."""

    errors: dict[str, float] = field(default_factory=dict)
    stated: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)

    def number(self, kind: str, stated: Any, true: Any) -> None:
        """Note how far numbers are off."""
        gap = np.abs(np.asarray(stated, dtype=np.float64) - np.asarray(true, dtype=np.float64))
        if gap.size:
            self.errors[kind] = max(self.errors.get(kind, 0.0), float(gap.max()))

    def statement(self, kind: str, true: bool) -> None:
        """Note a statement."""
        self.stated[kind] += 1
        self.false[kind] += not true

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "largest_error": dict(sorted(self.errors.items())),
            "statements": dict(sorted(self.stated.items())),
            "false_statements": {kind: self.false[kind] for kind in sorted(self.stated)},
        }


def undecided(vectors: Double, distances: Double) -> Double:
    """By how much a distance from each vector, [M, D], may change if its square is rounded in float32, [M].

    The square is a difference of products of D terms, whose rounding grows with the squared lengths and sqrt(D). So a
    short distance between long vectors is known less well than :data:`ROUNDING`. ``distances`` may be negative.

    >>> undecided(np.full((1, 64), 1.5), np.array([-0.2])).round(5)
    array([0.00034])
    """
    error = 2 * np.square(vectors).sum(axis=1) * math.sqrt(vectors.shape[1]) * 2.0**-24
    found: Double = np.sqrt(np.square(distances) + error) - np.abs(distances)
    return found


def check(explanation: Explanation, model: Recomputed, findings: Findings) -> None:
    """Compare all that an explanation says of its node."""
    one = _Check(explanation, model, findings)
    one.mentioned()
    one.votes()
    one.similarities()
    one.matches()
    one.leave_one_out()
    if model.graph.predicts_numbers:
        one.number()
        return
    one.classes()
    one.smallest_removal()
    one.smallest_relabeling()
    one.contrast()


class _Check:
    """An explanation beside the truth about its node."""

    def __init__(self, explanation: Explanation, model: Recomputed, findings: Findings) -> None:
        self.explanation, self.model, self.findings = explanation, model, findings
        self.truth: NodeTruth = model.node_truth(explanation.node)
        self.positions = self._positions([one.node for one in explanation.votes])
        self.ranked = self.truth.ranked
        self.window = min(model.voting.num_nearest, len(model.labeled))

    def _positions(self, nodes: Any) -> IntArray:
        return np.searchsorted(self.model.labeled, np.asarray(nodes, dtype=np.int64))

    def mentioned(self) -> None:
        """The local graph, and what is said of the nodes and edges that are mentioned."""
        explanation, model, findings = self.explanation, self.model, self.findings
        same = bool(np.array_equal(np.asarray(explanation.edge_ids), self.truth.edges))
        findings.statement("edges of the local graph", same)
        if explanation.roles:
            words = [ROLE_WORDS[role] if role else None for role in self.truth.local.roles]
            findings.statement("directions seen from the center", words == list(explanation.roles))
        graph, values = model.graph, model.values
        for edge in explanation.edges.values():
            ends = model.ends[edge.id].tolist()
            if values is not None and values.direction is not None and values.direction[edge.id] < 0:
                ends.reverse()
            right = [edge.start, edge.end] == ends
            if values is not None:
                right &= edge.directed == (values.direction is not None and bool(values.direction[edge.id]))
                right &= edge.type == (None if values.type is None else values.type_names[values.type[edge.id]])
                right &= values.weight is None or edge.weight == float(values.weight[edge.id])
            findings.statement("ends, direction, type and weight of an edge", right)
        cases = set(model.labeled.tolist())
        for node in explanation.nodes.values():
            right = node.case == (node.id in cases)
            if graph.node_types is not None:
                right &= node.type == graph.node_type_names[int(graph.node_types[node.id])]
            if not graph.predicts_numbers:
                right &= node.label == int(graph.labels[node.id])
            findings.statement("class and type of a node", right)

    def votes(self) -> None:
        """The weights and the nearest, Eq. (8)."""
        overall, model = self.truth.overall, self.model
        weights = model.weights(overall[self.positions], model.answers[self.positions])
        self.findings.number("weight of a vote, Eq. (8)", self._weights, weights)
        others = np.delete(overall, self.positions)
        nearest = not len(others) or others.max() <= overall[self.positions].min() + ROUNDING
        complete = len(self.positions) == min(self.window, len(self.ranked))
        self.findings.statement("the K nearest are the nearest", bool(nearest) and complete)
        itself = self.explanation.node in [one.node for one in self.explanation.votes]
        self.findings.statement("a node does not vote on itself", not itself)

    @property
    def _weights(self) -> Double:
        return np.array([one.weight for one in self.explanation.votes], dtype=np.float64)

    def classes(self) -> None:
        """Contributions add up to the probabilities, and the most probable class is predicted, Eq. (9)."""
        explanation, model = self.explanation, self.model
        added = model.tally(np.array([one.label for one in explanation.votes]), self._weights)
        true = model.vote(self.truth, self.positions)
        self.findings.number("contributions added up, against the stated probability", added, explanation.probabilities)
        self.findings.number("probability", explanation.probabilities, true)
        self.findings.statement("predicted class", _is_largest(true, explanation.predicted))

    def number(self) -> None:
        """Contributions add up to the number, and the spread; relative to the largest known number."""
        answer, scale = self.explanation.answer, np.abs(self.model.answers).max()
        own = self.model.answers[self.positions]
        weights = self.model.weights(self.truth.overall[self.positions], own)
        weights = weights / weights.sum()
        contributions = np.array([one.contribution for one in self.explanation.votes])
        spread = np.sqrt(weights @ (own - weights @ own) ** 2)
        note = self.findings.number
        note("contributions added up, against the stated number", contributions.sum() / scale, answer.value / scale)
        note("predicted number", answer.value / scale, weights @ own / scale)
        note("contribution to a number", contributions / scale, weights * own / scale)
        note("spread of the numbers that vote", answer.spread / scale, spread / scale)
        stated = [one.number for one in self.explanation.votes]
        self.findings.statement("known numbers of the cases", bool(np.array_equal(stated, own)))

    def similarities(self) -> None:
        """Each similarity and its two terms, Eq. (2), (6) and (7)."""
        for one, position in zip(self.explanation.votes, self.positions):
            self._similarity(one, int(position))

    def _similarity(self, one: CaseVote, position: int) -> None:
        findings, truth = self.findings, self.truth
        findings.number("node similarity, Eq. (2)", one.node_similarity, truth.node[position])
        defined = bool(np.isfinite(truth.structure[position]))
        findings.statement("compared with or without structure", (one.structure_similarity is not None) == defined)
        if one.structure_similarity is not None and defined:
            findings.number("structure similarity, Eq. (6)", one.structure_similarity, truth.structure[position])
        findings.number("node and structure term added up, Eq. (7)", one.node_term + one.structure_term, one.similarity)
        findings.number("similarity, Eq. (7)", one.similarity, truth.overall[position])

    def matches(self) -> None:
        """The match of every edge, whether it is closer than average, and the importance of every edge, Eq. (10)."""
        best = self.truth.best[:, self.positions]  # [M, K]
        with_edges = np.isfinite(self.truth.structure[self.positions])
        if not with_edges.any():
            return
        average = best[:, with_edges].mean(axis=1)
        self.findings.number("importance of an edge, Eq. (10)", self.explanation.importance, average)
        sides = [] if self.explanation.contrast is None else [self.explanation.contrast.chosen]
        sides += [] if self.explanation.contrast is None else [self.explanation.contrast.other]
        for one in (*self.explanation.votes, *sides):
            if one.matches is not None:
                self._matched(one, one.matches, average)
        self._matched_back()

    def _matched(self, case: CaseVote, matches: EdgeMatches, average: Double) -> None:
        """The match of every edge in the local graph of a case."""
        position = int(self._positions([case.node])[0])
        other, best = self.model.local[position], self.truth.best[:, position]
        closest = self._closest(matches, self.truth.local.parts, other.edges, other.parts, best)
        good = (np.asarray(matches.matched_ids) >= 0) & (best >= average)
        self._note(closest, matches, good, np.abs(best - average) <= ROUNDING)

    def _matched_back(self) -> None:
        """The match of every edge of a case in the local graph of the node; the average is that of all these edges."""
        model, measure, own = self.model, self.model.settings.measure, self.truth.local
        found = []
        for case, position in zip(self.explanation.votes, self.positions):
            if case.matches_back is not None:
                other = model.local[int(position)]
                vectors = model.edge_vectors(other.edges)
                pairs = similarity(vectors, model.edge_vectors(own.edges), measure)
                found.append((case.matches_back, other, other.best(pairs, own, opposite(vectors, measure))))
        if not found:
            return
        average = float(np.concatenate([best for _, _, best in found]).mean())
        for matches, other, best in found:
            closest = self._closest(matches, other.parts, own.edges, own.parts, best)
            good = (np.asarray(matches.matched_ids) >= 0) & (best >= average)
            self._note(closest, matches, good, np.abs(best - average) <= ROUNDING)

    def _closest(
        self, matches: EdgeMatches, parts: IntArray, edges: IntArray, other_parts: IntArray, best: Double
    ) -> Any:
        """Whether each match lies in the other local graph, is of the same part, and none there is more similar."""
        model, measure = self.model, self.model.settings.measure
        ids, matched = np.asarray(matches.edge_ids), np.asarray(matches.matched_ids)
        ours, some = model.edge_vectors(ids), matched >= 0
        paired = opposite(ours, measure)
        paired[some] = row_similarity(ours[some], model.edge_vectors(matched[some]), measure)
        self.findings.number("similarity of a match", matches.similarity, paired)
        place = np.minimum(np.searchsorted(edges, matched), len(edges) - 1)
        inside = (edges[place] == matched) & (other_parts[place] == parts)
        near = np.maximum(ROUNDING, undecided(ours - model.center, best) if measure == "distance" else 0)
        return np.where(some, inside & (paired >= best - near), ~np.isin(parts, other_parts))

    def _note(self, closest: Any, matches: EdgeMatches, good: Any, near: Any) -> None:
        for is_closest, is_good in zip(closest, (np.asarray(matches.above_average) == good) | near):
            self.findings.statement("the match is the most similar edge there", bool(is_closest))
            self.findings.statement("at least as close as average, or not", bool(is_good))

    def leave_one_out(self) -> None:
        """What the prediction would be without each case."""
        numbers = self.model.graph.predicts_numbers
        scale = np.abs(self.model.answers).max() if numbers else 1.0
        for one, position in zip(self.explanation.votes, self.positions):
            without = self._without({int(position)})
            if without is None:
                continue
            kind = "number" if numbers else "probability"
            self.findings.number(f"{kind} without a labeled node", np.array(one.without) / scale, without / scale)
            if not numbers:
                is_largest = _is_largest(without, int(np.argmax(one.without)))
                self.findings.statement("class without a labeled node", is_largest)

    def smallest_removal(self) -> None:
        """The stated removal changes the class, and no smaller one does."""
        removal, ranked, labels = self.explanation.removal, self.ranked, self.model.answers
        predicted, findings = self.explanation.predicted, self.findings
        if removal is None:
            findings.statement("no removal changes the class", bool((labels[ranked] == predicted).all()))
            return
        removed = set(self._positions(removal.nodes).tolist())
        changed = self._without(removed)
        changed = np.zeros(self.model.graph.num_classes) if changed is None else changed
        findings.number("probability after the smallest removal", removal.probabilities, changed)
        findings.statement("the smallest removal changes the class", _is_largest(changed, removal.predicted))

        def keeps(fewer: tuple[int, ...]) -> bool:
            left = self._without(set(fewer))
            return left is None or _is_largest(left, predicted)

        size = len(removed) - 1
        subsets = itertools.islice(itertools.combinations(ranked[: self.window + size], size), MOST_SUBSETS)
        if size > MOST_TRIED:  # too many to try: the nearest of the predicted class, which weigh most
            subsets = iter([tuple([one for one in ranked if labels[one] == predicted][:size])])
        findings.statement("no smaller removal changes the class", all(keeps(fewer) for fewer in subsets))

    def _without(self, removed: set[int]) -> Double | None:
        """What is answered without some cases; None: nobody is left."""
        left = [position for position in self.ranked if position not in removed][: self.window]
        return self.model.vote(self.truth, left) if left else None

    def smallest_relabeling(self) -> None:
        """The stated relabeling changes the class, and none of fewer cases does, whatever classes these get."""
        model, stated, predicted = self.model, self.explanation.relabeling, self.explanation.predicted
        if stated is None:
            self.findings.statement("no relabeling changes the class", model.graph.num_classes == 1)
            return
        voting = np.array(self.ranked[: self.window])
        labels, overall = model.answers[voting], self.truth.overall[voting]
        given = np.where(np.isin(voting, self._positions(stated.nodes)), stated.predicted, labels)
        changed = model.tally(given, model.weights(overall, given))
        self.findings.number("probability after the smallest relabeling", stated.probabilities, changed)
        right = stated.predicted != predicted and int((given != labels).sum()) == len(stated)
        self.findings.statement(
            "the smallest relabeling changes the class", right and _is_largest(changed, stated.predicted)
        )
        weights, factors = model.weights(overall, labels), model.factors
        as_any = (weights / factors[labels])[:, None] * factors  # the weight of each vote if it had each class, [K, C]
        now = model.tally(labels, weights)
        tried = _relabelings(labels, as_any, predicted, max(0, len(stated) - 1))
        lead = max(_lead(now, labels, as_any, predicted, *one) for one in tried)
        self.findings.statement("no smaller relabeling changes the class", lead <= ROUNDING)

    def contrast(self) -> None:
        """The two cases are the nearest on their sides, and the class changes at the stated similarity, not before."""
        stated, labels, predicted = self.explanation.contrast, self.model.answers, self.explanation.predicted
        voting, overall, findings = np.array(self.ranked), self.truth.overall, self.findings
        own = voting[labels[voting] == predicted]
        others = voting[labels[voting] != predicted]
        if stated is None:
            findings.statement("all cases have one class", not len(own) or not len(others))
            return
        for one, side in ((stated.chosen, own), (stated.other, others)):
            position = int(self._positions([one.node])[0])
            self._similarity(one, position)
            nearest = position in side and overall[position] >= overall[side].max() - ROUNDING
            findings.statement("the nearest case for or against the prediction", bool(nearest))
        position, label = int(self._positions([stated.other.node])[0]), stated.other.label
        for change in (-ROUNDING, ROUNDING):
            moved = overall.copy()
            moved[position] = stated.needed + change
            nearest_k = np.array(sorted(self.ranked, key=lambda one: (-moved[one], one)))[: self.window]
            shares = self.model.tally(labels[nearest_k], self.model.weights(moved[nearest_k], labels[nearest_k]))
            ahead = shares[label] - np.delete(shares, label).max()
            true = ahead <= ROUNDING if change < 0 else ahead >= -ROUNDING
            findings.statement("from this similarity on, that class would be predicted", bool(true))


def _relabelings(labels: IntArray, as_any: Double, predicted: int, size: int) -> list[tuple[IntArray, IntArray]]:
    """Sets of so many votes, [S, size], and classes that they may get, [G, size]: all, or those that should do most."""
    if size <= MOST_TRIED:
        votes = list(itertools.combinations(range(len(labels)), size))
        classes = list(itertools.product(range(as_any.shape[1]), repeat=size))
        return [(np.array(votes, np.int64), np.array(classes, np.int64))]
    lost = np.where(labels == predicted, as_any[:, predicted], 0)
    gains = [np.where(labels == one, 0, lost + weights) for one, weights in enumerate(as_any.T)]
    orders = [np.argsort(-of_class, kind="stable")[:size] for of_class in gains]
    return [(order[None], np.full((1, size), one)) for one, order in enumerate(orders)]


def _lead(now: Double, labels: IntArray, as_any: Double, predicted: int, votes: IntArray, classes: IntArray) -> float:
    """How far another class is ahead of the predicted one, at most, if some votes get some classes."""
    shares = np.tile(now, (len(votes), len(classes), 1))  # [S, G, C]
    for chosen, given in zip(votes.T, classes.T):
        shares[np.arange(len(votes)), :, labels[chosen]] -= as_any[chosen, labels[chosen]][:, None]
        shares[:, np.arange(len(classes)), given] += as_any[chosen[:, None], given]
    return float((np.delete(shares, predicted, axis=2).max(axis=2) - shares[:, :, predicted]).max())


def _is_largest(probabilities: Double, label: int) -> bool:
    return bool(probabilities[label] >= probabilities.max() - ROUNDING)
