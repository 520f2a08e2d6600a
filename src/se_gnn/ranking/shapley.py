r"""What each case adds to the right answers, on average over every order in which they could have come.

The Shapley value of case i is the mean, over all orders of the cases, of how much the vote gains when i
joins those before it; the values of all add up to the vote of all. Shapes: T queries, L cases, P
orders.

**Unweighted vote**, where the gain is in the share of the K nearest that have the right class: the closed form of KNN
Shapley ("Efficient Task-Specific Data Valuation for Nearest Neighbor Algorithms", https://arxiv.org/abs/1908.08619).
With the cases from nearest (1) to farthest (L) and :math:`a_j = 1` where j has the right class,

.. math:: s_L = \frac{a_L}{L}, \qquad s_j = s_{j+1} + \frac{a_j - a_{j+1}}{K} \frac{\min(K, j)}{j}.

**Weighted vote**, where the gain is in the probability of the right class, Eq. (8)-(9): by P random orders, with the
standard error of their mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numba
import numpy as np

from se_gnn.compiled_code import compiled
from se_gnn.graph.arrays import BoolArray, Float64Array, IntArray
from se_gnn.ranking.ranking import Cases, Ranking


@dataclass(frozen=True, slots=True, eq=False)
class ShapleyValues:
    """Shapley values of the cases, each [L]; NaN without validation nodes, errors also with one order."""

    unweighted: Float64Array
    weighted: Float64Array
    standard_error: Float64Array  # of ``weighted``


def shapley_values(
    rankings: Iterable[Ranking], cases: Cases, truth: IntArray, *, num_orders: int, generator: np.random.Generator
) -> ShapleyValues:
    """Values of the ``cases`` in the votes on some queries, by their complete ``rankings``.

    ``truth`` are the known classes of all nodes, [N]. The ``generator`` draws the orders, P.
    """
    orders = np.array([generator.permutation(len(cases)) for _ in range(num_orders)], dtype=np.int64)
    unweighted, gains, count = np.zeros(len(cases)), np.zeros((num_orders, len(cases))), 0
    for ranking in rankings:
        positions, overall = ranking.positions.cpu().numpy(), ranking.overall.cpu().numpy().astype(np.float64)
        right = ranking.classes.cpu().numpy() == truth[ranking.queries][:, None]
        np.add.at(unweighted, positions, knn_shapley(right, ranking.num_nearest))
        weights = np.exp((overall - overall[:, :1]) / ranking.settings.temperature)
        if (offsets := ranking.answers.offsets(ranking.positions)) is not None:
            weights *= np.exp(offsets.cpu().numpy())
        gained = _gains_in_orders(positions, weights, right, orders, ranking.num_nearest)
        gains += (1 - ranking.settings.reserve) * gained  # what is in reserve is nobody's
        count += len(ranking)
    if not count:
        missing = np.full(len(cases), np.nan)
        return ShapleyValues(missing, missing, missing)
    gains /= count
    error = gains.std(axis=0, ddof=1) / np.sqrt(num_orders) if num_orders > 1 else np.full(len(cases), np.nan)
    return ShapleyValues(unweighted / count, gains.mean(axis=0), error)


def knn_shapley(right: BoolArray, num_nearest: int) -> Float64Array:
    """Closed form for the unweighted vote: values of the cases of each row, nearest first, [T, L].

    >>> knn_shapley(np.array([[True, False]]), 1).tolist()
    [[1.0, 0.0]]
    """
    a, count = right.astype(np.float64), right.shape[1]
    places = np.arange(1, count)
    steps = (a[:, :-1] - a[:, 1:]) / num_nearest * np.minimum(num_nearest, places) / places
    last = a[:, -1:] / count * min(num_nearest, count) / num_nearest
    return np.concatenate([steps, last], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]


@compiled(parallel=True)
def _gains_in_orders(
    positions: IntArray, weights: Float64Array, right: BoolArray, orders: IntArray, num_nearest: int
) -> Float64Array:
    """By how much the probability of the right class grows, summed over the targets, when each joins; [P, L]."""
    num_targets, num_labeled = positions.shape
    gains = np.zeros(orders.shape)
    for p in numba.prange(len(orders)):
        rank_of = np.empty(num_labeled, np.int64)
        held = np.empty(num_nearest + 1, np.int64)  # ranks of the K nearest so far, nearest first
        for t in range(num_targets):
            for rank in range(num_labeled):
                rank_of[positions[t, rank]] = rank
            kept, before = 0, 0.0
            for place in range(num_labeled):
                rank = rank_of[orders[p, place]]
                if kept == num_nearest and rank > held[kept - 1]:
                    continue
                slot = kept
                while slot > 0 and held[slot - 1] > rank:
                    held[slot] = held[slot - 1]
                    slot -= 1
                held[slot] = rank
                kept = min(kept + 1, num_nearest)
                total, good, count = 0.0, 0.0, 0
                for i in range(kept):
                    weight = weights[t, held[i]]
                    total += weight
                    if right[t, held[i]]:
                        good += weight
                        count += 1
                now = good / total if total > 0 else count / kept  # all so far that float64 has no number for them
                gains[p, orders[p, place]] += now - before
                before = now
    return gains
