r"""Which labels are probably wrong: what all other known labels say of a node, its own left out.

The encoder has learned from the very label that is in question, so its similarities cannot judge it. The witness is a
classifier that is never trained with it: ridge regression on attributes, or on attributes smoothed over the graph
(:math:`H = Z_{10}`, :math:`Z_{k+1} = (1 - a) \tilde A Z_k + a X`, a = 0.1), which has its leave-one-out answers in
closed form. Over the M nodes of known class, labeled and validation nodes, with rows of H centered and of length 1,
:math:`Y` one column per class and :math:`v_i` the weight of a label,

.. math:: Q = (H H^T + \mu \, diag(1 / v))^{-1}, \qquad f_i = y_i - \frac{(Q Y)_i}{Q_{ii}},

and f_i is what the ridge without node i says of it, exactly. A label is as suspicious as another class is ahead of it:
:math:`\max_{c \ne y} f_{ic} - f_{iy}`. Attributes or smoothed attributes, and mu, are those with the smallest
leave-one-out error on these labels. The weights make all classes count alike; in a second pass a label that the others
contradict also counts less as a witness. Test nodes are never looked at. Shapes: N nodes, M of known class, F
features, C classes, L labeled nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, IntArray

STEPS, TELEPORT = 10, 0.1  # n and a
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # mu
MOST = 4000  # nodes of known class at a time: time grows with the third power
MOST_REACHED = 50_000_000  # numbers that are held while attributes are smoothed
LEAST_WEIGHT = 0.05  # of a label in the second pass


@dataclass(frozen=True, slots=True, eq=False)
class Suspicion:
    """How suspicious the labels of the labeled nodes are.

    Shapes:
        - **score:** :math:`(L,)`, above 0 where the other known labels speak for another class
        - **says:** :math:`(L,)`, the class that they speak for
        - **threshold:** from which score on a label is probably wrong
    """

    score: Float64Array
    says: IntArray
    threshold: float


def suspicion(graph: Graph, *, generator: np.random.Generator) -> Suspicion:
    """Score the labels of all labeled nodes; those of validation nodes are witnesses, too.

    Args:
        graph: attributes, edges, labels and split.
        generator: shares out the nodes where there are more than :data:`MOST`.
    """
    known = np.concatenate([graph.train, graph.validation])
    groups = -(-len(known) // MOST)
    share = np.zeros(len(known), np.int64) if groups == 1 else generator.permutation(len(known)) % groups
    margins, says = np.zeros(len(known)), np.zeros(len(known), np.int64)
    for group in range(groups):
        rows = np.flatnonzero(share == group)
        margins[rows], says[rows] = _judge(graph, known[rows])
    return Suspicion(-margins[: len(graph.train)], says[: len(graph.train)], _threshold(margins))


def _judge(graph: Graph, nodes: IntArray) -> tuple[Float64Array, IntArray]:
    """By how much each label is ahead of the best other class, [M], and the class that is ahead, [M]."""
    labels = graph.labels[nodes]
    targets = np.eye(graph.num_classes)[labels] - 1 / graph.num_classes
    balanced = _balanced(labels, graph.num_classes)
    found = []
    for gram in (_gram(_attributes(graph)[nodes]), _gram(_smoothed(graph, nodes))):
        for ridge in RIDGES:
            answers = leave_one_out(gram, targets, ridge / balanced)
            error = float((balanced * ((answers - targets) ** 2).sum(axis=1)).sum())
            found.append((error, gram, ridge))
    _, gram, ridge = min(found, key=lambda one: one[0])
    first = _margins(leave_one_out(gram, targets, ridge / balanced), labels)
    usual = float(np.median(np.abs(first))) or 1.0
    trusted = np.clip(1 / (1 + np.exp(-np.clip(2 * first / usual, -50, 50))), LEAST_WEIGHT, 1)
    answers = leave_one_out(gram, targets, ridge / (balanced * trusted))
    return _margins(answers, labels), answers.argmax(axis=1)


def leave_one_out(gram: Float64Array, targets: Float64Array, ridges: Float64Array) -> Float64Array:
    """What ridge regression without each row says of that row, [M, C].

    Shapes:
        - **gram:** :math:`(M, M)`, **targets:** :math:`(M, C)`, **ridges:** :math:`(M,)`, mu / v of each row
    """
    inverse = np.linalg.inv(gram + np.diag(ridges))
    answers: Float64Array = targets - (inverse @ targets) / inverse.diagonal()[:, None]
    return answers


def _threshold(margins: Float64Array) -> float:
    """A label is probably wrong where another class is ahead by half of what labels are usually ahead or behind by."""
    return 0.5 * float(np.median(np.abs(margins))) if len(margins) else 0.0


def _balanced(labels: IntArray, num_classes: int) -> Float64Array:
    """Weights with which all classes count alike, 1 on average, [M]."""
    counts = np.bincount(labels, minlength=num_classes)
    weights: Float64Array = len(labels) / (np.count_nonzero(counts) * counts[labels])
    return weights


def _margins(answers: Float64Array, labels: IntArray) -> Float64Array:
    rows = np.arange(len(labels))
    others = answers.copy()
    others[rows, labels] = -np.inf
    ahead: Float64Array = answers[rows, labels] - others.max(axis=1)
    return ahead


def _attributes(graph: Graph) -> sp.csr_array:
    """Rows of length 1, [N, F]; a row of zeros stays."""
    features = sp.csr_array(graph.features).astype(np.float64)
    lengths = np.sqrt(np.asarray(features.multiply(features).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ features)


def _smoothed(graph: Graph, nodes: IntArray) -> Float64Array:
    """Rows of H, [M, F]: first which attributes count how much for these nodes, [M, N], then the attributes."""
    n = graph.num_nodes
    adjacency = sp.csr_array((np.ones(2 * graph.num_edges), graph.adjacency.indices, graph.adjacency.indptr), (n, n))
    with_loops = adjacency + sp.eye_array(n)
    scale = sp.diags_array(1 / np.sqrt(graph.degrees + 1.0))
    step = sp.csr_array(scale @ with_loops @ scale)  # symmetric
    attributes, at_a_time = _attributes(graph).T.tocsr(), max(1, MOST_REACHED // n)
    rows = []
    for low in range(0, len(nodes), at_a_time):
        part = nodes[low : low + at_a_time]
        start = np.zeros((n, len(part)))
        start[part, np.arange(len(part))] = 1
        reach = start
        for _ in range(STEPS):
            reach = (1 - TELEPORT) * (step @ reach) + TELEPORT * start
        rows.append(np.asarray(attributes @ reach).T)
    return np.concatenate(rows)


def _gram(rows: Any) -> Float64Array:
    """Products of the rows with each other, [M, M], after they are centered and of length 1."""
    dense = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    centered = dense - dense.mean(axis=0)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    centered /= np.where(lengths > 1e-12, lengths, 1)
    gram: Float64Array = centered @ centered.T
    return gram
