"""PyG's graph convolutional network of two layers, trained as in its own example."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.baselines.pyg import pyg
from lab.baselines.network import directed_edges
from se_gnn.graph import Graph


class GCN(nn.Module):
    """Two GCN layers with dropout between them; the normalized edges are computed once and kept.

    No dropout on the attributes: drawn for a dense matrix, it would take longer than all the rest.
    """

    def __init__(self, num_features: int, hidden: int, num_classes: int) -> None:
        super().__init__()
        conv = pyg("nn").GCNConv
        self.first = conv(num_features, hidden, cached=True)
        self.second = conv(hidden, num_classes, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Class scores of all nodes, [N, C]."""
        x = self.first(x, edge_index).relu()
        x = functional.dropout(x, 0.5, training=self.training)
        scores: Tensor = self.second(x, edge_index)
        return scores


class GCNTraining:
    """Training of a GCN on a graph with dense features."""

    def __init__(self, graph: Graph, *, seed: int, hidden: int = 64) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)  # PyG draws its weights from the global generator
            self.model = GCN(graph.num_features, hidden, graph.num_classes)
        self.x, self.edge_index = torch.tensor(graph.features), directed_edges(graph)
        self.y = torch.tensor(graph.labels)
        self.train, self.val = torch.tensor(graph.train), torch.tensor(graph.validation)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01, weight_decay=5e-4)

    def step(self) -> float:
        """One epoch and its validation accuracy."""
        self.model.train()
        self.optimizer.zero_grad()
        scores = self.model(self.x, self.edge_index)
        functional.cross_entropy(scores[self.train], self.y[self.train]).backward()
        self.optimizer.step()
        self.model.eval()
        with torch.no_grad():
            predicted = self.model(self.x, self.edge_index)[self.val].argmax(dim=1)
        return float((predicted == self.y[self.val]).float().mean())
