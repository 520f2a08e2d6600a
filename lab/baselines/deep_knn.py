"""MLP-K, GCN-K, GIN-K: deep K nearest neighbors (https://arxiv.org/abs/1803.04765) on a trained network.

The network is trained as a classifier first. Then its last layer's representations find the labeled nodes nearest to a
node, and those vote with weights, as SE-GNN's do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor

from lab.baselines.gcn import GCN, GCNSettings
from lab.baselines.gin import GIN, GINSettings
from lab.baselines.mlp import MLP, MLPSettings
from lab.baselines.network import NetworkBaseline, NetworkSettings
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.settings.checks import above_zero, at_least
from se_gnn.similarity import top
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.measure import Distance

NODES_AT_A_TIME = 4096  # a block of [4096, L] similarities


@dataclass(frozen=True, kw_only=True)
class DeepKNNSettings(NetworkSettings):
    """What deep KNN adds to its network, whose last layer is followed by a linear one that only training uses."""

    head: Literal["none", "linear"] = "linear"
    num_nearest: int = 40  # K; all labeled nodes where they are fewer
    temperature: float = 1.0  # tau

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "num_nearest")
        above_zero(self, "temperature")


class DeepKNN(NetworkBaseline):
    r"""Vote of the labeled nodes whose representations h are nearest.

    The similarity of two nodes is :math:`-\|h_t - h_l\|`, of two edges the same with the means of their ends'
    representations. The weight of a vote is a softmax of similarity / tau over the K nearest, Eq. (8). A labeled node
    does not vote for itself. Of equally near nodes, or edges, the one that comes first is nearer.
    """

    settings: DeepKNNSettings

    def fit(self, graph: Graph, *, seed: int, device: str = "cpu", progress: bool = False) -> Self:
        """Train the network; its own validation accuracy chooses the epoch."""
        super().fit(graph, seed=seed, device=device, progress=progress)
        self.h_ = self.embeddings  # [N, D]
        return self

    def predict_proba(self) -> FloatArray:
        """Class probabilities of all nodes: weights of the K nearest added up by class, Eq. (9), [N, C]."""
        self._check_fitted("h_")
        graph = self.graph_
        answers = ClassAnswers(torch.from_numpy(graph.labels[graph.train]), graph.num_classes)
        out = np.empty((graph.num_nodes, graph.num_classes), np.float32)
        for nodes in np.array_split(np.arange(graph.num_nodes), -(-graph.num_nodes // NODES_AT_A_TIME)):
            similarity = self._similarity(nodes)
            nearest = top(similarity, self.settings.num_nearest)  # [n, K]
            weights = vote(similarity.gather(1, nearest), self.settings.temperature)
            out[nodes] = tally(weights, nearest, answers).numpy()
        return out

    def nearest(self, nodes: IntArray, k: int) -> IntArray:
        """Ids of the k labeled nodes nearest to each of some nodes, nearest first, [n, k]; never a node itself."""
        self._check_fitted("h_")
        nodes, labeled = np.asarray(nodes, dtype=np.int64), self.graph_.train
        most = len(labeled) - bool(np.isin(nodes, labeled).any())
        if not 1 <= k <= most:
            raise InputError(f"k must be between 1 and the {most} labeled nodes that can vote, got {k}")
        ids: IntArray = labeled[top(self._similarity(nodes), k).numpy()]
        return ids

    def match_edges(self, target_edges: IntArray, other_edges: IntArray) -> IntArray:
        """For each target edge the index of the most similar other edge, [M].

        Shapes:
            - **target_edges:** :math:`(M, 2)` and **other_edges:** :math:`(P, 2)` node ids
        """
        self._check_fitted("h_")
        if len(target_edges) and not len(other_edges):
            raise InputError(f"other_edges must hold at least one edge to match {len(target_edges)} edges with")
        similarity = Distance().all_pairs(self._edges(target_edges), self._edges(other_edges))  # [M, P]
        matched: IntArray = similarity.numpy().argmax(axis=1) if len(target_edges) else np.empty(0, np.int64)
        return matched

    def _similarity(self, nodes: IntArray) -> Tensor:
        """Similarity of some nodes with the labeled nodes, [n, L]; -inf with itself."""
        labeled = self.graph_.train
        similarity = Distance().all_pairs(self._rows(nodes), self._rows(labeled))
        return similarity.masked_fill(torch.from_numpy(nodes[:, None] == labeled), -torch.inf)

    def _rows(self, nodes: IntArray) -> Tensor:
        return torch.from_numpy(self.h_[nodes])

    def _edges(self, edges: IntArray) -> Tensor:
        ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        return edge_vectors(torch.from_numpy(self.h_), torch.from_numpy(ends))


@dataclass(frozen=True, kw_only=True)
class MLPKSettings(DeepKNNSettings, MLPSettings):
    """Settings of MLP-K."""


@dataclass(frozen=True, kw_only=True)
class GCNKSettings(DeepKNNSettings, GCNSettings):
    """Settings of GCN-K."""


@dataclass(frozen=True, kw_only=True)
class GINKSettings(DeepKNNSettings, GINSettings):
    """Settings of GIN-K."""


class MLPK(DeepKNN, MLP):
    """Deep KNN on an MLP."""

    settings_type = MLPKSettings
    settings: MLPKSettings


class GCNK(DeepKNN, GCN):
    """Deep KNN on a GCN."""

    settings_type = GCNKSettings
    settings: GCNKSettings


class GINK(DeepKNN, GIN):
    """Deep KNN on a GIN."""

    settings_type = GINKSettings
    settings: GINKSettings
