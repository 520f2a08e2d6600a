"""How the classes fared among some predictions. Shapes: T nodes, C classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model.metrics import confusion_matrix

__all__ = ["ClassFigures", "by_class", "confusion_matrix"]


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
