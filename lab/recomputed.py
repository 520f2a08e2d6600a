"""An explanation checked against itself: every number that follows from others is computed again, in plain NumPy.

Nothing of the model is used, only what the explanation holds: float64, loops, no kernel. What cannot be derived from it
(embeddings, which edge matches which) is checked against the model by the tests.
Shapes: K neighbors, V labeled nodes that can vote, C classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from se_gnn.explain.evidence import EdgeMatches, Neighbor
    from se_gnn.explain.explanation import Explanation

Float64Array = npt.NDArray[np.float64]


def largest_errors(explanation: Explanation) -> dict[str, float]:
    """The largest absolute error of each claim of an explanation; infinite where a statement is false.

    ``terms``: node and structure term add up to the similarity, Eq. (7). ``structure``: the structure similarity is the
    mean of the matches, Eq. (6). ``weights``, ``probabilities``: Eq. (8)-(9). ``importance``: Eq. (10); it needs the
    matches of all neighbors. ``without``, ``removal``: what the vote would be without one neighbor, and without the
    smallest set that changes it. ``statements``: the neighbors are the K nearest, nearest first; the predicted class is
    the most probable one; the removal changes it, and without its farthest node it does not.
    """
    neighbors = explanation.neighbors
    weights, probabilities = _vote(explanation, ())
    stated = [neighbor.weight for neighbor in neighbors]
    errors = {
        "terms": max(_terms_error(neighbor, explanation) for neighbor in neighbors),
        "structure": max(_structure_error(neighbor, explanation) for neighbor in neighbors),
        "weights": _distance(weights, stated),
        "probabilities": _distance(probabilities, explanation.probabilities),
        "importance": _importance_error(explanation),
        "without": max(_distance(_vote(explanation, (i,))[1], one.without) for i, one in enumerate(neighbors)),
        "removal": 0.0,
        "statements": 0.0 if _ranked(explanation) else math.inf,
    }
    if int(np.argmax(explanation.probabilities)) != explanation.predicted:
        errors["statements"] = math.inf
    removal = explanation.smallest_removal
    if removal is not None:
        removed = np.flatnonzero(np.isin(explanation.ranking.nodes[0], removal.nodes))
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
    ranking, settings = explanation.ranking, explanation.settings.vote
    able = int(ranking.voting[0].sum())
    kept = [rank for rank in range(able) if rank not in removed][: settings.num_nearest]
    probabilities = np.zeros(len(explanation.probabilities))
    if not kept:
        return np.zeros(0), probabilities
    similarity = ranking.overall[0, kept].numpy().astype(np.float64) / settings.temperature
    weights = np.exp(similarity - similarity.max())
    weights /= weights.sum()
    for rank, weight in zip(kept, weights):
        probabilities[int(ranking.classes[0, rank])] += weight
    return weights, probabilities


def _terms_error(neighbor: Neighbor, explanation: Explanation) -> float:
    share = 1.0 if neighbor.structure_similarity is None else explanation.settings.similarity.node_weight
    structure = neighbor.structure_similarity or 0.0
    return max(
        abs(neighbor.node_term + neighbor.structure_term - neighbor.similarity),
        abs(share * neighbor.node_similarity - neighbor.node_term),
        abs((1 - share) * structure - neighbor.structure_term),
    )


def _structure_error(neighbor: Neighbor, explanation: Explanation) -> float:
    """How far the mean of the matches is from the structure similarity; 0 where the matches were not kept."""
    if neighbor.matches is None or neighbor.structure_similarity is None:
        return 0.0
    means = [_edge_mean(neighbor.matches, explanation)]
    if explanation.settings.similarity.directions == "both":
        if neighbor.matches_back is None:
            return math.inf
        means.append(_edge_mean(neighbor.matches_back, explanation))
    return abs(float(np.mean(means)) - neighbor.structure_similarity)


def _edge_mean(matches: EdgeMatches, explanation: Explanation) -> float:
    """Eq. (6): each edge counts alike, or with its weight."""
    values, weights = explanation.graph.edge_values, None
    if values is not None and values.weight is not None and explanation.settings.similarity.weighted_mean:
        weights = values.weight[matches.edge_ids].astype(np.float64)
    return float(np.average(matches.similarity.astype(np.float64), weights=weights))


def _importance_error(explanation: Explanation) -> float:
    if not all(neighbor.explained for neighbor in explanation.neighbors):
        return 0.0
    rows = [one.matches.similarity.astype(np.float64) for one in explanation.neighbors if one.matches is not None]
    if not rows:
        return 0.0 if np.isnan(explanation.importance).all() else math.inf
    return _distance(np.mean(rows, axis=0), explanation.importance)


def _ranked(explanation: Explanation) -> bool:
    ranking, neighbors = explanation.ranking, explanation.neighbors
    nearest = ranking.nodes[ranking.voting.numpy()][: explanation.settings.vote.num_nearest].tolist()
    in_order = bool((ranking.overall[0, 1:] <= ranking.overall[0, :-1]).all())
    return nearest == [one.node for one in neighbors] and in_order


def _wins(probabilities: Float64Array, label: int) -> bool:
    """Whether a class is the most probable one; classes that float32 cannot tell apart both are."""
    return bool(probabilities[label] >= probabilities.max() - 1e-6)


def _distance(computed: npt.ArrayLike, stated: npt.ArrayLike) -> float:
    one, other = np.asarray(computed, dtype=np.float64), np.asarray(stated, dtype=np.float64)
    if one.shape != other.shape:
        return math.inf
    return float(np.abs(one - other).max(initial=0))
