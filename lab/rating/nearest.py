"""The nearest labeled node of each method, and the edges that the method matches."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from lab.baselines import DeepKNN
from lab.baselines.tuned import tuned
from se_gnn.explain import Explanation
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Model


class Method(ABC):
    """Something that names, for a target, a labeled node."""

    @abstractmethod
    def nearest(self, explanation: Explanation) -> int:
        """The nearest labeled node of the explained one."""

    @abstractmethod
    def matched(self, explanation: Explanation, edges: IntArray, others: IntArray) -> IntArray:
        """For each of some edges of the target the most similar of the nearest labeled node's; edge ids, [M]."""


class SEGNNMethod(Method):
    """The model of the folder, as its explanations say."""

    def nearest(self, explanation: Explanation) -> int:
        """The first of the cases."""
        return explanation.votes[0].node

    def matched(self, explanation: Explanation, edges: IntArray, others: IntArray) -> IntArray:
        """The matches of the explanation."""
        matches = explanation.votes[0].matches
        if matches is None:
            return np.empty(0, np.int64)
        match = dict(zip(matches.edge_ids.tolist(), matches.matched_ids.tolist()))
        return np.array([match[edge] for edge in edges.tolist()], dtype=np.int64)


class DeepKNNMethod(Method):
    """A baseline, fitted to the same graph."""

    def __init__(self, fitted: DeepKNN, graph: Graph) -> None:
        self._fitted, self._graph = fitted, graph

    def nearest(self, explanation: Explanation) -> int:
        """By its representations."""
        return int(self._fitted.nearest(np.array([explanation.node]), 1)[0, 0])

    def matched(self, explanation: Explanation, edges: IntArray, others: IntArray) -> IntArray:
        """By the means of its ends' representations."""
        if not len(others):
            return np.empty(0, np.int64)
        ends = self._graph.edges.ends
        found: IntArray = others[self._fitted.match_edges(ends[edges], ends[others])]
        return found


def make_method(name: str, trained: Model, *, seed: int, progress: bool = False, **changes: object) -> Method:
    """SE-GNN as it is, or a baseline trained on the model's graph; ``changes`` are settings of the baseline."""
    if name == "se-gnn":
        return SEGNNMethod()
    graph = trained.graph
    network = tuned(name, graph.dataset or graph.name, **changes)
    assert isinstance(network, DeepKNN)
    return DeepKNNMethod(network.fit(graph, seed=seed, progress=progress), graph)
