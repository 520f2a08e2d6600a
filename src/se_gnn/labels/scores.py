r"""How strange a class would be for a node: the scores that conformal sets are cut from. Shapes: T nodes, C classes.

All of them start from class probabilities. The vote gives many classes exactly 0, and ties cannot be told apart by a
threshold; so a little of the probability is shared by how similar the nearest case of each class is:

.. math:: \pi_c = (1 - \epsilon) \, p_c + \epsilon \, \mathrm{softmax}_c(s_c / \tau),

with s_c the similarity of the most similar labeled node of class c, and epsilon = 0.1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray

Scores = npt.NDArray[np.float64]
SHARED = 0.1  # epsilon
DIFFUSED = 0.5  # share of a DAPS score that the neighbors in the graph give


def shared_probabilities(probabilities: FloatArray, case_similarity: FloatArray, temperature: float) -> Scores:
    """pi, [T, C], from the vote [T, C] and the similarity of the nearest case of each class [T, C]."""
    scaled = case_similarity.astype(np.float64) / temperature
    highest = scaled.max(axis=1, keepdims=True)
    weights = np.exp(scaled - np.where(np.isfinite(highest), highest, 0))  # a class without a case: exp(-inf) = 0
    total = weights.sum(axis=1, keepdims=True)
    uniform = np.full_like(weights, 1 / weights.shape[1])
    softmax = np.divide(weights, total, out=uniform, where=total > 0)
    pi: Scores = (1 - SHARED) * probabilities.astype(np.float64) + SHARED * softmax
    return pi


def lac_scores(probabilities: Scores) -> Scores:
    """Least ambiguous set-valued classifier (Sadinle, Lei and Wasserman, 2019): 1 - pi_c, [T, C]."""
    scores: Scores = 1 - probabilities
    return scores


def aps_scores(probabilities: Scores, draws: Scores) -> Scores:
    """Adaptive prediction sets (Romano, Sesia and Candes, 2020): the probability of all likelier classes, and its own.

    Args:
        probabilities: pi, [T, C].
        draws: a uniform number from 0 to 1 per node, [T], the share of its own probability that counts: with it the
            coverage is met exactly; with 1, without chance, more would be covered than was asked for.

    >>> aps_scores(np.array([[0.5, 0.2, 0.3]]), np.array([0.5])).round(3).tolist()
    [[0.25, 0.9, 0.65]]
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    sums = np.cumsum(ranked, axis=1) - (1 - draws[:, None]) * ranked
    scores = np.empty_like(sums)
    np.put_along_axis(scores, order, sums, axis=1)
    return scores


def diffused(scores: Scores, nodes: IntArray, graph: Graph, wanted: IntArray) -> Scores:
    r"""DAPS (Zargarbashi, Antonelli and Bojchevski, 2023): half the own score, half the mean of the neighbors'.

    .. math:: \hat s(v, c) = (1 - \delta) \, s(v, c) + \frac{\delta}{|N_v|} \sum_{u \in N_v} s(u, c)

    Labels are not looked at, so that nodes stay exchangeable. A node without edges keeps its own score.

    Args:
        scores: of the nodes, [T, C].
        nodes: ids, [T], ascending; they hold the wanted ones and all their neighbors.
        graph: whose edges are used.
        wanted: ids, [W].

    Returns:
        Scores of the wanted nodes, [W, C].
    """
    adjacency = graph.adjacency
    rows = sp.csr_array((np.ones(len(adjacency.data)), adjacency.indices, adjacency.indptr), adjacency.shape)[wanted]
    rows.sum_duplicates()  # a neighbor by several edges is one neighbor
    rows.data[:] = 1
    degrees = np.diff(rows.indptr)
    places = np.searchsorted(nodes, rows.indices)
    sums = sp.csr_array((rows.data, places, rows.indptr), (len(wanted), len(nodes))) @ scores
    own = scores[np.searchsorted(nodes, wanted)]
    mixed = (1 - DIFFUSED) * own + DIFFUSED * sums / np.maximum(degrees, 1)[:, None]
    result: Scores = np.where(degrees[:, None] > 0, mixed, own)
    return result
