"""The predictions of a whole graph at a glance. Shapes: T nodes, K nearest labeled nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.model import Prediction

MOST_CERTAIN, MOST_MISTAKES, MOST_MISLEADING = 8, 20, 10
VOTERS = 3


@dataclass(frozen=True, slots=True)
class Voter:
    """A labeled node and its weight in a vote."""

    node: int
    label: int
    weight: float


@dataclass(frozen=True, slots=True)
class Case:
    """One prediction and the first of its voters."""

    node: int
    predicted: int
    probability: float
    label: int
    voters: tuple[Voter, ...]


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


@dataclass(frozen=True, slots=True)
class Survey:
    """What stands out among all predictions."""

    compared: int  # nodes that the most and the least certain are chosen from
    most_certain: tuple[Case, ...]
    least_certain: tuple[Case, ...]
    mistakes: tuple[Case, ...]
    num_mistakes: int
    misleading: tuple[Misleading, ...]
    num_misleading: int


def survey(prediction: Prediction, graph: AttributedGraph) -> Survey:
    """Look at the predictions of all nodes of a graph; labeled nodes are judged by whom they lead astray."""
    free = unlabeled(graph)
    by_certainty = free[np.argsort(-certainty(prediction)[free], kind="stable")]
    wrong = graph.test[prediction.classes[graph.test] != graph.labels[graph.test]]
    surest_wrong = wrong[np.argsort(-certainty(prediction)[wrong], kind="stable")]
    half = min(MOST_CERTAIN, (len(free) + 1) // 2)  # no node is both
    misleading = find_misleading(prediction, graph)
    return Survey(
        compared=len(free),
        most_certain=_cases(by_certainty[:half], prediction, graph),
        least_certain=_cases(by_certainty[half:][::-1][:MOST_CERTAIN], prediction, graph),
        mistakes=_cases(surest_wrong[:MOST_MISTAKES], prediction, graph),
        num_mistakes=len(wrong),
        misleading=tuple(misleading[:MOST_MISLEADING]),
        num_misleading=len(misleading),
    )


def unlabeled(graph: AttributedGraph) -> IntArray:
    """Nodes that do not vote; all where every node does."""
    others = np.setdiff1d(np.arange(graph.num_nodes), graph.train)
    return others if len(others) else np.arange(graph.num_nodes)


def certainty(prediction: Prediction) -> FloatArray:
    """Probability of the predicted class, [T]."""
    highest: FloatArray = prediction.probabilities.max(axis=1)
    return highest


def find_misleading(prediction: Prediction, graph: AttributedGraph) -> list[Misleading]:
    """Labeled nodes that voted for a wrong prediction on validation or test nodes, most weight first."""
    judged = np.concatenate([graph.val, graph.test])
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


def _cases(nodes: IntArray, prediction: Prediction, graph: AttributedGraph) -> tuple[Case, ...]:
    return tuple(_case(int(node), prediction, graph) for node in nodes)


def _case(node: int, prediction: Prediction, graph: AttributedGraph) -> Case:
    voters = tuple(
        Voter(int(other), int(graph.labels[other]), float(weight))
        for other, weight in zip(prediction.neighbors[node, :VOTERS], prediction.weights[node, :VOTERS])
        if weight > 0
    )
    predicted = int(prediction.classes[node])
    return Case(node, predicted, float(prediction.probabilities[node, predicted]), int(graph.labels[node]), voters)
