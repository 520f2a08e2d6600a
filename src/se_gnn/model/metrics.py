"""How good a model is on some nodes of its graph, and on each class, by scikit-learn's metrics.

`report`, `evaluate`, `facts.json` and the results of `reproduce` all take their figures from here. scikit-learn is
imported at use: it takes as long as all else that a server needs to start. Shapes: T nodes, C classes, B bins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.display.terminal import percent, table
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.model.model import Model
from se_gnn.model.numbers import number_figures
from se_gnn.model.prediction import Prediction
from se_gnn.number_format import known, number
from se_gnn.settings.presets import CASES

NUM_BINS = 10
SMALLEST = 1e-8  # probability of a class that nobody votes for, as in `prediction.log_loss`


@dataclass(frozen=True, slots=True)
class Bin:
    """Nodes whose predicted class has a probability in (low, high]."""

    low: float
    high: float
    nodes: int
    probability: float  # mean of the predicted classes' probabilities
    accuracy: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bins that hold nodes, and the expected calibration error: the mean gap of accuracy and probability per node."""

    bins: tuple[Bin, ...]
    error: float


def classification_metrics(
    probabilities: FloatArray,
    labels: IntArray,
    *,
    class_names: Sequence[str] | None = None,
    positive: int | None = None,
) -> dict[str, Any]:
    """All figures of some predictions as plain values; None if a figure is not defined.

    Args:
        probabilities: of each class, [T, C].
        labels: the class of each node, [T].
        class_names: names to go with the rows of ``confusion``; None: they are left out.
        positive: the class that ROC-AUC and average precision ask for, where there are two; None: the rarer one.

    Returns:
        ``nodes``, ``accuracy``, ``balanced_accuracy`` (mean recall of the classes present), ``macro_f1`` (mean over the
        classes that are present or predicted), ``loss`` (mean negative log-likelihood), ``calibration_error``,
        ``confusion`` (rows: known class, columns: predicted class) and, for two classes of which both are present,
        ``roc_auc`` and ``average_precision`` of the class ``positive``.

    >>> figures = classification_metrics(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1]))
    >>> round(figures["accuracy"], 3), figures["balanced_accuracy"], figures["roc_auc"], figures["confusion"]
    (0.667, 0.75, 1.0, [[1, 0], [1, 1]])
    """
    from sklearn import metrics

    num_classes = probabilities.shape[1]
    shares = np.clip(probabilities.astype(np.float64), 0, 1)  # sums of float32 weights may pass 1
    predicted = probabilities.argmax(axis=1)
    both = num_classes == 2 and len(np.unique(labels)) == 2
    asked = positive if positive is not None else int(2 * labels.sum() <= len(labels))
    some = len(labels) > 0

    def figure(measure: Callable[[], Any], *, defined: bool = some) -> float | None:
        with warnings.catch_warnings():
            # a predicted class that is not among the labels is no mistake, nor are rows that add up to 1 but for a bit
            warnings.simplefilter("ignore")
            return known(float(measure())) if defined else None

    figures: dict[str, Any] = {
        "nodes": len(labels),
        "accuracy": figure(lambda: metrics.accuracy_score(labels, predicted)),
        "balanced_accuracy": figure(lambda: metrics.balanced_accuracy_score(labels, predicted)),
        "macro_f1": figure(lambda: metrics.f1_score(labels, predicted, average="macro", zero_division=0)),
        "loss": figure(lambda: metrics.log_loss(labels, np.clip(shares, SMALLEST, 1), labels=np.arange(num_classes))),
        "calibration_error": figure(lambda: calibrate(probabilities, labels).error),
        "roc_auc": figure(lambda: metrics.roc_auc_score(labels == asked, shares[:, asked]), defined=both),
        "average_precision": figure(
            lambda: metrics.average_precision_score(labels == asked, shares[:, asked]), defined=both
        ),
        "positive": asked if both else None,
        "confusion": confusion_matrix(labels, predicted, num_classes).tolist(),
    }
    return figures if class_names is None else {**figures, "classes": list(class_names)}


def confusion_matrix(truth: IntArray, predicted: IntArray, num_classes: int) -> IntArray:
    """How many nodes of each class (row) were predicted as each class (column), [C, C].

    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    from sklearn import metrics

    if not len(truth):
        return np.zeros((num_classes, num_classes), np.int64)
    return np.asarray(metrics.confusion_matrix(truth, predicted, labels=np.arange(num_classes)), dtype=np.int64)


def calibrate(probabilities: FloatArray, truth: IntArray, num_bins: int = NUM_BINS) -> Calibration:
    r"""Compare the probability of the predicted class with how often it is right.

    The expected calibration error is :math:`\sum_b \frac{n_b}{T} |a_b - p_b|`, over bins of equal width: n_b nodes, of
    which the share a_b is right, at the mean probability p_b.
    """
    if not len(truth):
        return Calibration((), 0.0)
    sure = np.clip(probabilities.max(axis=1).astype(np.float64), 0, 1)
    right = probabilities.argmax(axis=1) == truth
    place = np.searchsorted(np.linspace(0, 1, num_bins + 1)[1:-1], sure)  # a bin holds its upper end
    counts, hits, sums = (np.bincount(place, weights, num_bins) for weights in (None, right, sure))
    bins = tuple(
        Bin(b / num_bins, (b + 1) / num_bins, int(counts[b]), float(sums[b] / counts[b]), float(hits[b] / counts[b]))
        for b in np.flatnonzero(counts).tolist()
    )
    return Calibration(bins, sum(one.nodes * abs(one.accuracy - one.probability) for one in bins) / len(truth))


def by_class(graph: Graph, confusion: IntArray) -> list[dict[str, Any]]:
    """How each class of a graph fared, from the confusion matrix [C, C] of some of its nodes; None: not defined.

    ``labeled`` nodes vote for the class, and ``test`` of the measured nodes are of it. ``recall`` is the share of these
    that were found, ``precision`` the share of those ``predicted`` as this class that are of it.
    """
    labeled = np.bincount(graph.labels[graph.train], minlength=graph.num_classes)
    rows = np.stack([labeled, confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()], axis=1)
    return [
        {
            "class": name,
            "labeled": voting,
            "test": nodes,
            "predicted": predicted,
            "recall": right / nodes if nodes else None,
            "precision": right / predicted if predicted else None,
        }
        for name, (voting, nodes, predicted, right) in zip(graph.class_names, rows.tolist())
    ]


def evaluate_nodes(trained: Model, nodes: IntArray) -> dict[str, Any]:
    """All figures of a model on some nodes with known labels; None without nodes to measure on."""
    if trained.graph.predicts_numbers:
        return number_figures(trained, nodes)
    return prediction_metrics(trained.predict(nodes), trained.graph)


def prediction_metrics(prediction: Prediction, graph: Graph) -> dict[str, Any]:
    """The figures of :func:`classification_metrics`, and precision@5 of the nearest labeled nodes."""
    figures = classification_metrics(prediction.probabilities, graph.labels[prediction.nodes])
    return {**figures, "precision_at_5": known(prediction.precision_at(5, graph.labels))}


def evaluate(trained: Model) -> dict[str, Any]:
    """All figures of a model on its validation and test nodes, and of each class among the test nodes."""
    graph = trained.graph
    about = {
        "dataset": graph.name,
        "preset": trained.settings.preset,
        "validation": evaluate_nodes(trained, graph.validation),
    }
    if graph.predicts_numbers:
        return {**about, "test": evaluate_nodes(trained, graph.test), "target": graph.numbers.name}
    test = trained.predict(graph.test)
    confusion = confusion_matrix(graph.labels[test.nodes], test.classes, graph.num_classes)
    return {**about, "test": prediction_metrics(test, graph), "classes": by_class(graph, confusion)}


_HEADINGS = {
    "precision_at_5": "precision@5", "macro_f1": "macro-F1", "roc_auc": "ROC-AUC", "r2": "R2", "mae": "MAE",
    "rmse": "RMSE", "interval_coverage": "in 90% interval", "interval_width": "width",
}  # fmt: skip
_PROBABILITIES = ("loss", "calibration_error", "roc_auc", "average_precision", "r2")
_IN_UNITS = ("mae", "rmse", "median_error", "interval_width")


def _table(first: str, rows: Mapping[str, Mapping[str, Any]], *keys: str) -> str:
    """Some figures of each row, which are named; a dash if one is not defined."""

    def text(key: str, value: Any) -> str:
        if isinstance(value, int):
            return f"{value:,}"
        if value is None or key not in _PROBABILITIES + _IN_UNITS:
            return percent(value)
        return number(value) if key in _PROBABILITIES else f"{value:,.4g}"

    headings = [_HEADINGS.get(key, key.replace("_", " ")) for key in keys]
    return table([first, *headings], [[name, *(text(key, row[key]) for key in keys)] for name, row in rows.items()])


def figures_text(figures: dict[str, Any]) -> str:
    """The figures of :func:`~se_gnn.model.metrics.evaluate` as tables."""
    measured = {name: figures[name] for name in ("validation", "test")}
    heading = f"{figures['dataset']}, preset {figures['preset']}"
    if "target" in figures:
        keys = ("nodes", "r2", "mae", "rmse", "median_error", "interval_coverage", "interval_width")
        return f"{heading}: {figures['target']}\n\n{_table('', measured, *keys)}"
    if figures["preset"] == CASES:
        heading = f"{figures['dataset']}: the vote of the cases, compared with the answers of the explained model"
    of_two = ("roc_auc", "average_precision") if len(figures["classes"]) == 2 else ()
    positive = [measured[part]["positive"] for part in ("test", "validation") if measured[part]["positive"] is not None]
    rare = [f"ROC-AUC and average precision are for the rarer class, {figures['classes'][c]['class']!r}."
            for c in positive[:1]]  # fmt: skip
    classes = {row["class"]: row for row in figures["classes"]}
    return "\n\n".join(
        [
            heading,
            _table("", measured, "nodes", "accuracy", "precision_at_5", "balanced_accuracy", "macro_f1"),
            _table("", measured, "loss", "calibration_error", *of_two),
            *rare,
            "Test nodes by class",
            _table("class", classes, "labeled", "test", "predicted", "recall", "precision"),
        ]
    )
