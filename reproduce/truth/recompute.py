"""What a node's explanation should say, computed from the embeddings alone, by the equations, in float64.

Nothing of the library's similarity code is used. Shapes: M edges of the node, L labeled nodes, K nearest, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Model

Double = npt.NDArray[np.float64]


def similarity(a: Double, b: Double, measure: str) -> Double:
    """Of each row of ``a`` with each of ``b``: cosine, 0 with a zero vector, or minus the Euclidean distance."""
    if measure == "distance":
        return -cdist(a, b)
    return _unit(a) @ _unit(b).T


def row_similarity(a: Double, b: Double, measure: str) -> Double:
    """Similarity of each row of ``a`` with the same row of ``b``."""
    if measure == "distance":
        distances: Double = np.linalg.norm(a - b, axis=1)
        return -distances
    cosines: Double = (_unit(a) * _unit(b)).sum(axis=1)
    return cosines


def local_edges(graph: Graph, node: int, hops: int) -> IntArray:
    """Ids of the edges both of whose ends lie within some hops of a node, ascending."""
    near = np.zeros(graph.num_nodes, dtype=bool)
    near[node] = True
    u, v = graph.edges.ends.T
    for _ in range(hops):
        reached = near[u] | near[v]
        near[u[reached]] = near[v[reached]] = True
    return np.flatnonzero(near[u] & near[v])


@dataclass(frozen=True, slots=True, eq=False)
class NodeTruth:
    """Similarities of one node with all labeled nodes.

    Shapes:
        - **best** similarity of each edge with its match in each labeled local graph (-inf: it has no edges): (M, L)
        - **node**, **structure** (-inf: not defined), **overall:** (L,); the node itself has overall -inf
    """

    node: Double
    structure: Double
    overall: Double
    best: Double
    edges: IntArray

    def vote(self, positions: Iterable[int], labels: IntArray, num_classes: int, temperature: float) -> Double:
        """Class probabilities from the labeled nodes at ``positions``, Eq. (8)-(9), [C]."""
        chosen = np.fromiter(positions, dtype=np.int64)
        scores = self.overall[chosen] / temperature
        weights = np.exp(scores - scores.max())
        return np.bincount(labels[chosen], weights / weights.sum(), minlength=num_classes)


class Recomputed:
    """A trained model, seen through its embeddings, its graph and its settings of similarity and vote."""

    def __init__(self, trained: Model) -> None:
        self.graph, self.settings, self.voting = trained.graph, trained.settings.similarity, trained.settings.vote
        self.h: Double = trained.embeddings.detach().cpu().numpy().astype(np.float64)  # [N, D]
        self.labeled: IntArray = self.graph.train
        self.labels: IntArray = self.graph.labels[self.labeled]
        self.local: list[IntArray] = [self.local_of(int(node)) for node in self.labeled]
        self.keys: IntArray = np.unique(np.concatenate([*self.local, np.empty(0, np.int64)])).astype(np.int64)
        self.columns: list[IntArray] = [np.searchsorted(self.keys, edges) for edges in self.local]

    def local_of(self, node: int) -> IntArray:
        """The local graph of a node; one of at most M edges is a choice of the library, and taken from it."""
        if self.settings.max_edges is not None:
            chosen = local_graphs(self.graph, np.array([node]), self.settings.hops, self.settings.max_edges)
            return chosen.row(0).astype(np.int64)
        return local_edges(self.graph, node, self.settings.hops)

    def edge_vectors(self, ids: Sequence[int] | IntArray) -> Double:
        """e_ij, the mean of both ends, Eq. (3)."""
        ends: Double = self.h[self.graph.edges.ends[np.asarray(ids, dtype=np.int64)]]
        return ends.mean(axis=1)

    def node_truth(self, node: int) -> NodeTruth:
        """Eq. (2)-(7) for one node and all labeled nodes."""
        settings, edges = self.settings, self.local_of(node)
        own = similarity(self.h[[node]], self.h[self.labeled], settings.measure)[0]  # Eq. (2)
        pairs = similarity(self.edge_vectors(edges), self.edge_vectors(self.keys), settings.measure)  # Eq. (4), [M, Q]
        best = np.full((len(edges), len(self.labeled)), -np.inf)
        structure = np.full(len(self.labeled), -np.inf)
        for i, columns in enumerate(self.columns):
            if not len(columns) or not len(edges):
                continue
            block = pairs[:, columns]
            best[:, i] = block.max(axis=1)  # Eq. (5)
            structure[i] = best[:, i].mean()  # Eq. (6)
            if settings.directions == "both":
                structure[i] = (structure[i] + block.max(axis=0).mean()) / 2
        known = np.isfinite(structure)
        mixed = settings.node_weight * own + (1 - settings.node_weight) * np.where(known, structure, 0)
        overall = np.where(known, mixed, own)  # Eq. (7)
        return NodeTruth(own, structure, np.where(self.labeled == node, -np.inf, overall), best, edges)

    def vote(self, truth: NodeTruth, positions: Iterable[int]) -> Double:
        """Class probabilities from some labeled nodes, [C]."""
        return truth.vote(positions, self.labels, self.graph.num_classes, self.voting.temperature)


def _unit(rows: Any) -> Double:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
