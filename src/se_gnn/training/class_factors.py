"""How often a case of each class counts in the vote: as often as its class is rarer among the labels than in the graph.

Labels are often drawn evenly, twenty of each class, and classes are not. The share of a class in the graph is estimated
from its share of the validation nodes, plus what the model expects of it among unlabeled nodes, less what it expects
among validation nodes (mean probabilities; black-box shift estimation of Lipton et al., 2018, without inverting the
confusion matrix, which a few hundred validation nodes do not support). If the validation nodes are like the others, the
two expectations cancel, and with them most of the chance in which nodes were drawn. See docs/adr/041-class-factors.md.
Shapes: C classes.
"""

from __future__ import annotations

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, FloatArray, IntArray
from se_gnn.ranking import factors_of
from se_gnn.settings import Decision

FEWEST = 100  # fewer validation nodes say too little: chance alone moves a share of 1/4 by more than a sixth of it
MOST_ASKED = 2000  # unlabeled nodes whose probabilities are averaged
LARGEST_CHANGE = 4.0  # no share is estimated to be less than that part of what it is among labels or validation nodes
SMALLEST_CHANGE = 1.2  # if no factor differs more from 1, none is used
MOST_NAMED = 3


def asked_nodes(graph: Graph) -> IntArray:
    """Unlabeled nodes of the predicted type, evenly spread over the ids."""
    of_type = graph.target.node_type
    nodes = np.arange(graph.num_nodes) if of_type is None else graph.nodes.of_type(of_type)
    nodes = np.setdiff1d(nodes, np.concatenate([graph.train, graph.validation]), assume_unique=True)
    if len(nodes) <= MOST_ASKED:
        return nodes
    return nodes[np.linspace(0, len(nodes) - 1, MOST_ASKED).astype(np.int64)]


def class_factors(
    labeled: IntArray, validated: IntArray, of_validation: FloatArray, of_others: FloatArray
) -> tuple[float, ...] | None:
    """How often a case of each class counts, [C]; None: once, as all shares are about the same, or too little is known.

    Args:
        labeled: labels of the cases.
        validated: labels of the validation nodes.
        of_validation: class probabilities of the validation nodes.
        of_others: class probabilities of unlabeled nodes; if there are none, validation nodes stand for all.

    >>> labeled, validated = np.array([0, 1]), np.array([0, 1] * 50)
    >>> of_validation = np.array([[0.9, 0.1], [0.1, 0.9]] * 50)
    >>> class_factors(labeled, validated, of_validation, of_validation)
    >>> class_factors(labeled, validated, of_validation, np.array([[0.9, 0.1]] * 3 + [[0.1, 0.9]]))
    (1.4, 0.6)
    """
    if len(validated) < FEWEST:
        return None
    num_classes = of_validation.shape[1]
    among_labels, among_validated = (np.bincount(of, minlength=num_classes) / len(of) for of in (labeled, validated))
    expected: Float64Array = among_validated.astype(np.float64)
    if len(of_others):
        expected = expected + of_others.mean(axis=0, dtype=np.float64) - of_validation.mean(axis=0, dtype=np.float64)
    shares = np.maximum(expected, np.maximum(among_labels, among_validated) / LARGEST_CHANGE)
    shares /= shares.sum()
    factors = factors_of(shares, labeled)
    if max(factors.max(), 1 / factors.min()) < SMALLEST_CHANGE:
        return None
    return tuple(float(f"{factor:.3g}") for factor in factors)


def why_factors(factors: tuple[float, ...], graph: Graph) -> Decision:
    """Names the classes that count most and least often, and says why."""
    order = np.argsort(factors)[::-1].tolist()
    shown = order if len(order) <= MOST_NAMED else [*order[: MOST_NAMED - 1], order[-1]]
    several = ", ".join(f"{graph.class_names[label]} {factors[label]:g}" for label in shown)
    what = "cases count by class: " + several + ("" if len(shown) == len(order) else f" (of {len(order)} classes)")
    return Decision(what, "classes are not as frequent among the labels as they seem to be among all nodes")
