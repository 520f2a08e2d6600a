"""How the classes fared among some predictions. Shapes: T nodes, C classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import IntArray


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


def confusion_matrix(truth: IntArray, predicted: IntArray, num_classes: int) -> IntArray:
    """How many nodes of each class (row) were predicted as each class (column), [C, C].

    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    counts = np.bincount(truth * num_classes + predicted, minlength=num_classes**2)
    return counts.reshape(num_classes, num_classes).astype(np.int64)


def by_class(graph: AttributedGraph, confusion: IntArray) -> tuple[ClassFigures, ...]:
    """The figures of each class of a graph, from the confusion matrix [C, C] of some of its nodes."""
    labeled = np.bincount(graph.labels[graph.train], minlength=graph.num_classes).tolist()
    nodes, predicted, right = confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()
    rows = zip(labeled, nodes.tolist(), predicted.tolist(), right.tolist())
    return tuple(ClassFigures(label, *row) for label, row in enumerate(rows))
