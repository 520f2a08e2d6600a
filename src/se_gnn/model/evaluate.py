"""How good a model is on some nodes of its graph, and on each class. Shapes: T nodes, C classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model.metrics import classification_metrics, confusion_matrix
from se_gnn.model.prediction import Prediction
from se_gnn.model.trained import TrainedModel
from se_gnn.number_format import known


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """How one class fared on the measured nodes."""

    label: int
    labeled: int
    nodes: int
    predicted: int
    right: int

    @property
    def recall(self) -> float | None:
        """Share of the nodes of this class that were found."""
        return self.right / self.nodes if self.nodes else None

    @property
    def precision(self) -> float | None:
        """Share of the nodes predicted as this class that are of it."""
        return self.right / self.predicted if self.predicted else None


def by_class(graph: Graph, confusion: IntArray) -> tuple[ClassFigures, ...]:
    """The figures of each class of a graph, from the confusion matrix [C, C] of some of its nodes."""
    labeled = np.bincount(graph.labels[graph.train], minlength=graph.num_classes).tolist()
    nodes, predicted, right = confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()
    rows = zip(labeled, nodes.tolist(), predicted.tolist(), right.tolist())
    return tuple(ClassFigures(label, *row) for label, row in enumerate(rows))


def evaluate_nodes(trained: TrainedModel, nodes: IntArray) -> dict[str, Any]:
    """All figures of a model on some nodes with known labels; None where there are no nodes to measure on."""
    return prediction_metrics(trained.predict(nodes), trained.graph)


def prediction_metrics(prediction: Prediction, graph: Graph) -> dict[str, Any]:
    """The figures of :func:`classification_metrics`, and precision@5 of the nearest labeled nodes."""
    figures = classification_metrics(prediction.probabilities, graph.labels[prediction.nodes])
    return {**figures, "precision_at_5": known(prediction.precision_at(5, graph.labels))}


def evaluate(trained: TrainedModel) -> dict[str, Any]:
    """All figures of a model on its validation and test nodes, and of each class among the test nodes."""
    graph = trained.graph
    test = trained.predict(graph.test)
    return {
        "dataset": graph.name,
        "preset": trained.settings.preset,
        "validation": evaluate_nodes(trained, graph.validation),
        "test": prediction_metrics(test, graph),
        "classes": _figures_by_class(test, graph),
    }


def _figures_by_class(prediction: Prediction, graph: Graph) -> list[dict[str, Any]]:
    confusion = confusion_matrix(graph.labels[prediction.nodes], prediction.classes, graph.num_classes)
    return [
        {
            "class": graph.class_names[one.label],
            "labeled": one.labeled,
            "test": one.nodes,
            "predicted": one.predicted,
            "recall": one.recall,
            "precision": one.precision,
        }
        for one in by_class(graph, confusion)
    ]
