"""Labeled nodes that lead others astray. Shapes: T nodes, K nearest labeled nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.graph import Graph
from se_gnn.model import Prediction

MOST_MISLEADING = 10


@dataclass(frozen=True, slots=True)
class Misleading:
    """A labeled node, the weight it gave in votes on nodes of known class, and how much of it was for a wrong one."""

    node: int
    label: int
    given: float
    wrong: float
    nodes: int  # that were predicted wrongly with its help

    @property
    def share(self) -> float:
        """Share of its weight that it gave to wrong predictions."""
        return self.wrong / self.given


def find_misleading(prediction: Prediction, graph: Graph) -> list[Misleading]:
    """Labeled nodes that voted for a wrong prediction on validation or test nodes, most weight first."""
    judged = np.concatenate([graph.validation, graph.test])
    neighbors, weights = prediction.neighbors[judged], prediction.weights[judged].astype(np.float64)  # [T, K]
    predicted, truth = prediction.classes[judged], graph.labels[judged]
    for_it = graph.labels[neighbors] == predicted[:, None]
    astray = for_it & (predicted != truth)[:, None] & (weights > 0)

    def total(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        summed: npt.NDArray[Any] = np.bincount(neighbors.ravel(), values.ravel(), graph.num_nodes)
        return summed.astype(np.float64)

    given, wrong, count = total(weights), total(np.where(astray, weights, 0)), total(astray.astype(np.float64))
    order = np.argsort(-wrong, kind="stable")
    return [
        Misleading(int(node), int(graph.labels[node]), float(given[node]), float(wrong[node]), int(count[node]))
        for node in order[: int((wrong > 0).sum())]
    ]
