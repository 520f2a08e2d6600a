"""The statements of an explanation, each compared with what is true: how far a number is off, and what is false.

A number is compared as it is. A statement (this is the nearest, this match is the best, that removal changes the class)
is false where float64 says otherwise by more than :data:`ROUNDING`, which float32 arithmetic cannot decide.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reproduce.truth.recompute import Double, NodeTruth, Recomputed, row_similarity, similarity
from se_gnn.explain import EdgeMatches, Explanation

ROUNDING = 1e-4  # ten times the largest error of a similarity that was seen
MOST_SUBSETS = 20_000  # removals that are tried to find a smaller one than stated


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


def check(explanation: Explanation, model: Recomputed, findings: Findings) -> None:
    """Compare all that an explanation says of its node."""
    truth = model.node_truth(explanation.node)
    positions = np.searchsorted(model.labeled, [one.node for one in explanation.votes])
    findings.statement("edges of the local graph", bool(np.array_equal(np.asarray(explanation.edge_ids), truth.edges)))
    _check_votes(explanation, model, truth, positions, findings)
    _check_similarities(explanation, truth, positions, findings)
    _check_matches(explanation, model, truth, positions, findings)
    _check_removals(explanation, model, truth, positions, findings)
    _check_smallest_removal(explanation, model, truth, findings)


def _check_votes(
    explanation: Explanation, model: Recomputed, truth: NodeTruth, positions: Any, findings: Findings
) -> None:
    """Additivity, the weights, the nearest and the predicted class, Eq. (8)-(9)."""
    weights = np.array([one.weight for one in explanation.votes], dtype=np.float64)
    added = np.bincount([one.label for one in explanation.votes], weights, minlength=model.graph.num_classes)
    findings.number("contributions added up, against the stated probability", added, explanation.probabilities)
    findings.number("probability", explanation.probabilities, model.vote(truth, positions))
    scores = np.exp((truth.overall[positions] - truth.overall[positions].max()) / model.voting.temperature)
    findings.number("weight of a vote, Eq. (8)", weights, scores / scores.sum())
    others = np.delete(truth.overall, positions)
    nearest = not len(others) or others.max() <= truth.overall[positions].min() + ROUNDING
    findings.statement("the K nearest are the nearest", bool(nearest))
    findings.statement("predicted class", _is_largest(model.vote(truth, positions), explanation.predicted))


def _check_similarities(explanation: Explanation, truth: NodeTruth, positions: Any, findings: Findings) -> None:
    """Each similarity and its two terms, Eq. (2), (6) and (7)."""
    for one, position in zip(explanation.votes, positions):
        findings.number("node similarity, Eq. (2)", one.node_similarity, truth.node[position])
        defined = bool(np.isfinite(truth.structure[position]))
        findings.statement("compared with or without structure", (one.structure_similarity is not None) == defined)
        if one.structure_similarity is not None and defined:
            findings.number("structure similarity, Eq. (6)", one.structure_similarity, truth.structure[position])
        findings.number("node and structure term added up, Eq. (7)", one.node_term + one.structure_term, one.similarity)
        findings.number("similarity, Eq. (7)", one.similarity, truth.overall[position])


def _check_matches(
    explanation: Explanation, model: Recomputed, truth: NodeTruth, positions: Any, findings: Findings
) -> None:
    """The match of every edge, whether it is closer than average, and the importance of every edge, Eq. (10)."""
    best = truth.best[:, positions]  # [M, K]
    with_edges = np.isfinite(truth.structure[positions])
    if not with_edges.any():
        return
    average = best[:, with_edges].mean(axis=1)
    findings.number("importance of an edge, Eq. (10)", explanation.importance, average)
    for k, one in enumerate(explanation.votes):
        if one.matches is None:
            continue
        ours, theirs = (model.edge_vectors(ids) for ids in (one.matches.edge_ids, one.matches.matched_ids))
        paired = row_similarity(ours, theirs, model.settings.measure)
        findings.number("similarity of a match", one.matches.similarity, paired)
        inside = np.isin(one.matches.matched_ids, model.local_of(one.node))
        closest = inside & (paired >= best[:, k] - ROUNDING)
        well = np.asarray(one.matches.above_average) == (best[:, k] >= average)
        near = np.abs(best[:, k] - average) <= ROUNDING
        for is_closest, is_well in zip(closest, well | near):
            findings.statement("the match is the most similar edge there", bool(is_closest))
            findings.statement("at least as close as average, or not", bool(is_well))
        if one.matches_back is not None:
            _check_way_back(one.matches_back, model, truth, findings)


def _check_way_back(matches: EdgeMatches, model: Recomputed, truth: NodeTruth, findings: Findings) -> None:
    """The match of every edge of a labeled neighbor in the local graph of the node."""
    measure = model.settings.measure
    ours, matched = (model.edge_vectors(ids) for ids in (matches.edge_ids, matches.matched_ids))
    paired, best = row_similarity(ours, matched, measure), similarity(ours, model.edge_vectors(truth.edges), measure)
    findings.number("similarity of a match", matches.similarity, paired)
    for is_closest in np.isin(matches.matched_ids, truth.edges) & (paired >= best.max(axis=1) - ROUNDING):
        findings.statement("the match is the most similar edge there", bool(is_closest))


def _check_removals(
    explanation: Explanation, model: Recomputed, truth: NodeTruth, positions: Any, findings: Findings
) -> None:
    """What the prediction would be without each labeled neighbor."""
    ranked = _ranked(truth)
    for one, position in zip(explanation.votes, positions):
        others = [other for other in ranked if other != position][: model.voting.num_nearest]
        if not others:
            continue
        without = model.vote(truth, others)
        findings.number("probability without a labeled node", one.without, without)
        findings.statement("class without a labeled node", _is_largest(without, int(np.argmax(one.without))))


def _check_smallest_removal(explanation: Explanation, model: Recomputed, truth: NodeTruth, findings: Findings) -> None:
    """The stated removal changes the class, and no smaller one does."""
    removal, ranked, labels = explanation.removal, _ranked(truth), model.labels
    if removal is None:
        findings.statement("no removal changes the class", bool((labels[ranked] == explanation.predicted).all()))
        return
    removed = set(np.searchsorted(model.labeled, removal.nodes).tolist())
    changed = _without(model, truth, ranked, removed)
    findings.number("probability after the smallest removal", removal.probabilities, changed)
    findings.statement("the smallest removal changes the class", _is_largest(changed, removal.predicted))

    def keeps(fewer: tuple[int, ...]) -> bool:
        return _is_largest(_without(model, truth, ranked, set(fewer)), explanation.predicted)

    size = len(removed) - 1
    window = ranked[: model.voting.num_nearest + size]
    subsets = itertools.islice(itertools.combinations(window, size), MOST_SUBSETS)
    if size > 2:  # too many to try: the nearest of the predicted class, which weigh most
        subsets = iter([tuple([one for one in ranked if labels[one] == explanation.predicted][:size])])
    findings.statement("no smaller removal changes the class", all(keeps(fewer) for fewer in subsets))


def _without(model: Recomputed, truth: NodeTruth, ranked: list[int], removed: set[int]) -> Double:
    left = [position for position in ranked if position not in removed][: model.voting.num_nearest]
    return model.vote(truth, left) if left else np.zeros(model.graph.num_classes)


def _ranked(truth: NodeTruth) -> list[int]:
    """Positions of the labeled nodes that can vote, nearest first; of equals the first comes first."""
    order = np.argsort(-truth.overall, kind="stable")
    ranked: list[int] = order[np.isfinite(truth.overall[order])].tolist()
    return ranked


def _is_largest(probabilities: Double, label: int) -> bool:
    return bool(probabilities[label] >= probabilities.max() - ROUNDING)
