r"""What each labeled node adds to the right answers, on average over every order in which they could have come.

The Shapley value of labeled node i is the mean, over all orders of the labeled nodes, of how much the vote gains when i
joins those before it; the values of all add up to the vote of all. Shapes: V validation nodes, L labeled nodes, P
orders.

**Unweighted vote**, where the gain is in the share of the K nearest that have the right class: the closed form of KNN
Shapley ("Efficient Task-Specific Data Valuation for Nearest Neighbor Algorithms", https://arxiv.org/abs/1908.08619).
With the labeled nodes from nearest (1) to farthest (L) and :math:`a_j = 1` where j has the right class,

.. math:: s_L = \frac{a_L}{L}, \qquad s_j = s_{j+1} + \frac{a_j - a_{j+1}}{K} \frac{\min(K, j)}{j}.

**Weighted vote**, where the gain is in the probability of the right class, Eq. (8)-(9): by P random orders, with the
standard error of their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from se_gnn.graph.arrays import BoolArray, Float64Array, IntArray
from se_gnn.labels.ranked import ranked_blocks
from se_gnn.model import TrainedModel


@dataclass(frozen=True, slots=True, eq=False)
class ShapleyValues:
    """Shapley values of the labeled nodes, each [L]; NaN without validation nodes, errors also with one order."""

    unweighted: Float64Array
    weighted: Float64Array
    standard_error: Float64Array  # of ``weighted``


def shapley_values(trained: TrainedModel, *, num_orders: int, generator: np.random.Generator) -> ShapleyValues:
    """Values of the labeled nodes in the votes on the validation nodes."""
    graph, settings = trained.graph, trained.settings.vote
    num_labeled, truth = len(graph.train), graph.labels
    if not len(graph.validation):
        missing = np.full(num_labeled, np.nan)
        return ShapleyValues(missing, missing, missing)
    orders = np.array([generator.permutation(num_labeled) for _ in range(num_orders)], dtype=np.int64)
    unweighted, gains = np.zeros(num_labeled), np.zeros((num_orders, num_labeled))
    for ranked in ranked_blocks(trained, graph.validation):
        positions, overall = ranked.positions.cpu().numpy(), ranked.votes.overall.cpu().numpy().astype(np.float64)
        right = ranked.votes.labels.cpu().numpy() == truth[ranked.nodes][:, None]
        np.add.at(unweighted, positions, knn_shapley(right, settings.num_nearest))
        weights = np.exp((overall - overall[:, :1]) / settings.temperature)
        gains += _gains_in_orders(positions, weights, right, orders, settings.num_nearest)
    gains /= len(graph.validation)
    error = gains.std(axis=0, ddof=1) / np.sqrt(num_orders) if num_orders > 1 else np.full(num_labeled, np.nan)
    return ShapleyValues(unweighted / len(graph.validation), gains.mean(axis=0), error)


def knn_shapley(right: BoolArray, num_nearest: int) -> Float64Array:
    """Closed form for the unweighted vote: values of the labeled nodes of each row, nearest first, [V, L].

    >>> knn_shapley(np.array([[True, False]]), 1).tolist()
    [[1.0, 0.0]]
    """
    a, count = right.astype(np.float64), right.shape[1]
    places = np.arange(1, count)
    steps = (a[:, :-1] - a[:, 1:]) / num_nearest * np.minimum(num_nearest, places) / places
    last = a[:, -1:] / count * min(num_nearest, count) / num_nearest
    values: Float64Array = np.concatenate([steps, last], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    return values


@numba.njit(parallel=True, cache=True)
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
