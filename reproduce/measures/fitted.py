"""SE-GNN and the baselines, trained, behind the same three questions. Shapes: n nodes, M and P edges."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch

from lab.baselines import DeepKNN, baseline
from lab.baselines.deep_knn import MLPK
from reproduce.methods import asked
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Model
from se_gnn.similarity import measure_named
from se_gnn.similarity.edges import edge_vectors
from se_gnn.training import fit as fit_se_gnn


class Fitted(Protocol):
    """A trained classifier."""

    def predict(self, nodes: IntArray) -> IntArray:
        """Class of some nodes, [n]."""

    def nearest(self, nodes: IntArray, k: int) -> IntArray | None:
        """Ids of the k nearest labeled nodes, [n, k]; None where the method has none."""

    def match_edges(self, edges: IntArray, others: IntArray) -> IntArray | None:
        """Of each of M edges the most similar one of P others, [M]; None where the method matches no edges."""


def fit(graph: Graph, method: str, settings: dict[str, Any], *, seed: int, device: str) -> Fitted:
    """Train a method."""
    if method == "se-gnn":
        return FittedSEGNN(fit_se_gnn(graph, asked(settings), seed=seed, device=device))
    return _Baseline(graph, method, settings, seed, device)


class FittedSEGNN:
    """SE-GNN, trained."""

    def __init__(self, trained: Model) -> None:
        self.trained = trained

    def predict(self, nodes: IntArray) -> IntArray:
        """Class of some nodes, [n]."""
        return self.trained.predict(nodes).classes

    def nearest(self, nodes: IntArray, k: int) -> IntArray:
        """Ids of the k nearest labeled nodes, [n, k]."""
        return np.concatenate([ranking.nodes for ranking in self.trained.rank(nodes, depth=k)])

    def match_edges(self, edges: IntArray, others: IntArray) -> IntArray:
        """Of each of M edges the most similar one of P others, Eq. (5), [M]."""
        h = self.trained.embeddings.cpu()
        ours, theirs = (edge_vectors(h, torch.as_tensor(pairs)) for pairs in (edges, others))
        similar = measure_named(self.trained.settings.similarity.measure).all_pairs(ours, theirs)
        return np.asarray(similar.numpy().argmax(axis=1))


class _Baseline:
    def __init__(self, graph: Graph, method: str, settings: dict[str, Any], seed: int, device: str) -> None:
        self.fitted = baseline(method, **settings).fit(graph, seed=seed, device=device)

    def predict(self, nodes: IntArray) -> IntArray:
        return self.fitted.predict()[nodes]

    def nearest(self, nodes: IntArray, k: int) -> IntArray | None:
        return self.fitted.nearest(nodes, k) if isinstance(self.fitted, DeepKNN) else None

    def match_edges(self, edges: IntArray, others: IntArray) -> IntArray | None:
        if isinstance(self.fitted, MLPK) or not isinstance(self.fitted, DeepKNN):
            return None  # an MLP sees no edges
        return self.fitted.match_edges(edges, others)
