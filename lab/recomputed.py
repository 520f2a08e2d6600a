"""An explanation checked against itself: every number that follows from others is computed again, in plain NumPy.

Nothing of the model is used, only what the explanation holds: float64, loops, no kernel. What cannot be derived from it
(embeddings, which edge matches which) is checked against the model by the tests.
Shapes: K cases, V labeled nodes that can vote, C classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from se_gnn.explain import CaseVote, EdgeMatches, Explanation

Float64Array = npt.NDArray[np.float64]


def largest_errors(explanation: Explanation) -> dict[str, float]:
    """The largest absolute error of each claim of an explanation; infinite where a statement is false.

    ``terms``: node and structure term add up to the similarity, Eq. (7). ``structure``: the structure similarity is the
    mean of the matches, Eq. (6). ``weights``, ``probabilities``: Eq. (8)-(9). ``importance``: Eq. (10); it needs the
    matches of all cases. ``without``, ``removal``: what the vote would be without one case, and without the
    smallest set that changes it. ``statements``: the votes are the K nearest, nearest first; the predicted class is
    the most probable one; the removal changes it, and without its farthest node it does not.
    """
    votes = explanation.votes
    weights, probabilities = _vote(explanation, ())
    stated = [vote.weight for vote in votes]
    errors = {
        "terms": max(_terms_error(vote, explanation) for vote in votes),
        "structure": max(_structure_error(vote, explanation) for vote in votes),
        "weights": _distance(weights, stated),
        "probabilities": _distance(probabilities, explanation.probabilities),
        "importance": _importance_error(explanation),
        "without": max(_distance(_vote(explanation, (i,))[1], one.without) for i, one in enumerate(votes)),
        "removal": 0.0,
        "statements": 0.0 if _ranked(explanation) else math.inf,
    }
    if int(np.argmax(explanation.probabilities)) != explanation.predicted:
        errors["statements"] = math.inf
    removal = explanation.removal
    if removal is not None:
        removed = np.flatnonzero(np.isin(explanation.ranks.nodes, removal.nodes))
        changed = _vote(explanation, tuple(removed))[1]
        errors["removal"] = _distance(changed, removal.probabilities)
        kept = _vote(explanation, tuple(removed[:-1]))[1]
        if not (_wins(changed, removal.predicted) and _wins(kept, explanation.predicted)):
            errors["statements"] = math.inf
        if removal.predicted == explanation.predicted:
            errors["statements"] = math.inf
    return errors


def _vote(explanation: Explanation, removed: tuple[int, ...]) -> tuple[Float64Array, Float64Array]:
    """Weights [K] and class probabilities [C] of the K nearest that are left, Eq. (8)-(9)."""
    ranks, settings = explanation.ranks, explanation.settings
    kept = [rank for rank in range(len(ranks.nodes)) if rank not in removed][: settings.num_nearest]
    if not kept:
        return np.zeros(0), np.zeros(len(explanation.probabilities))
    probabilities = np.full(len(explanation.probabilities), explanation.reserve / len(explanation.probabilities))
    similarity = ranks.similarity[kept].astype(np.float64) / settings.temperature
    weights = np.exp(similarity - similarity.max())
    if settings.class_factors is not None:
        weights *= np.array(settings.class_factors)[ranks.labels[kept]]
    weights *= (1 - explanation.reserve) / weights.sum()
    for rank, weight in zip(kept, weights):
        probabilities[int(ranks.labels[rank])] += weight
    return weights, probabilities


def _terms_error(vote: CaseVote, explanation: Explanation) -> float:
    share = 1.0 if vote.structure_similarity is None else explanation.settings.node_weight
    structure = vote.structure_similarity or 0.0
    return max(
        abs(vote.node_term + vote.structure_term - vote.similarity),
        abs(share * vote.node_similarity - vote.node_term),
        abs((1 - share) * structure - vote.structure_term),
    )


def _structure_error(vote: CaseVote, explanation: Explanation) -> float:
    """How far the mean of the matches is from the structure similarity; 0 where the matches were not kept."""
    if vote.matches is None or vote.structure_similarity is None:
        return 0.0
    means = [_edge_mean(vote.matches, explanation)]
    if explanation.settings.directions == "both":
        if vote.matches_back is None:
            return math.inf
        means.append(_edge_mean(vote.matches_back, explanation))
    return abs(float(np.mean(means)) - vote.structure_similarity)


def _edge_mean(matches: EdgeMatches, explanation: Explanation) -> float:
    """Eq. (6): each edge counts alike, or with its weight."""
    weights = None
    if explanation.settings.weighted_mean:
        weights = [explanation.edges[edge].weight or 1.0 for edge in matches.edge_ids.tolist()]
    return float(np.average(matches.similarity.astype(np.float64), weights=weights))


def _importance_error(explanation: Explanation) -> float:
    if not all(vote.explained for vote in explanation.votes):
        return 0.0
    rows = [one.matches.similarity.astype(np.float64) for one in explanation.votes if one.matches is not None]
    if not rows:
        return 0.0 if np.isnan(explanation.importance).all() else math.inf
    return _distance(np.mean(rows, axis=0), explanation.importance)


def _ranked(explanation: Explanation) -> bool:
    ranks, votes = explanation.ranks, explanation.votes
    in_order = bool((ranks.similarity[1:] <= ranks.similarity[:-1]).all())
    return ranks.nodes[: explanation.settings.num_nearest].tolist() == [one.node for one in votes] and in_order


def _wins(probabilities: Float64Array, label: int) -> bool:
    """Whether a class is the most probable one; classes that float32 cannot tell apart both are."""
    return bool(probabilities[label] >= probabilities.max() - 1e-6)


def _distance(computed: npt.ArrayLike, stated: npt.ArrayLike) -> float:
    one, other = np.asarray(computed, dtype=np.float64), np.asarray(stated, dtype=np.float64)
    if one.shape != other.shape:
        return math.inf
    return float(np.abs(one - other).max(initial=0))
