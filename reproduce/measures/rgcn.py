"""An RGCN of PyG on a graph of several kinds of nodes: a layer per kind, then weights per type and direction."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.optional import require
from se_gnn.training import resolve_device


def rgcn_probabilities(graph: Graph, settings: dict[str, Any], *, seed: int, device: str = "cpu") -> FloatArray:
    """Probabilities of all nodes, [N, C]; validation nodes choose epoch and learning rate by their loss."""
    best_loss, best = float("inf"), None
    for rate in settings["learning_rates"]:
        loss, found = _trained(graph, settings, rate, seed, resolve_device(device))
        if loss < best_loss:
            best_loss, best = loss, found
    assert best is not None
    return best


def _trained(
    graph: Graph, settings: dict[str, Any], rate: float, seed: int, device: torch.device
) -> tuple[float, FloatArray]:
    with torch.random.fork_rng(devices=[] if device.type == "cpu" else [device]):
        torch.manual_seed(seed)
        network = _Network(graph, settings["hidden_size"], settings["dropout"]).to(device)
        optimizer = torch.optim.Adam(network.parameters(), rate, weight_decay=settings["weight_decay"])
        labels = torch.from_numpy(graph.labels.copy()).to(device)
        train, val = (torch.from_numpy(nodes.copy()).to(device) for nodes in (graph.train, graph.validation))
        best_loss, best = float("inf"), np.zeros((graph.num_nodes, graph.num_classes), np.float32)
        for _ in range(settings["epochs"]):
            network.train()
            optimizer.zero_grad()
            nn.functional.cross_entropy(network()[train], labels[train]).backward()
            optimizer.step()
            network.eval()
            with torch.no_grad():
                scores = network()
                loss = float(nn.functional.cross_entropy(scores[val], labels[val]))
            if loss < best_loss:
                best_loss, best = loss, scores.softmax(1).cpu().numpy()
        return best_loss, best


class _Network(nn.Module):
    """Linear over blocks of features, which is one layer per kind, and two RGCN layers."""

    features: Tensor
    edges: Tensor
    types: Tensor

    def __init__(self, graph: Graph, hidden_size: int, dropout: float) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch Geometric uses names that PyTorch deprecated
            pyg: Any = require("torch_geometric.nn", extra="data", feature="RGCN")
        values = graph.edge_values
        assert values is not None
        assert values.type is not None
        features: Any = graph.features
        dense = features if isinstance(features, np.ndarray) else features.toarray()
        self.register_buffer("features", torch.from_numpy(dense.copy()).to_sparse())
        kinds = torch.from_numpy(values.type.astype(np.int64))
        edges = torch.from_numpy(np.ascontiguousarray(graph.edges.ends.T))
        self.register_buffer("edges", torch.cat([edges, edges.flip(0)], dim=1))
        self.register_buffer("types", torch.cat([kinds, kinds + values.num_types]))
        self.first = nn.Linear(graph.num_features, hidden_size)
        self.layers = nn.ModuleList(
            pyg.RGCNConv(hidden_size, size, 2 * values.num_types) for size in (hidden_size, graph.num_classes)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self) -> Tensor:
        """Scores of all nodes, [N, C]."""
        hidden = torch.sparse.mm(self.features, self.first.weight.T) + self.first.bias  # [N, H]
        hidden = self.layers[0](self.dropout(hidden.relu()), self.edges, self.types)
        scores: Tensor = self.layers[1](self.dropout(hidden.relu()), self.edges, self.types)
        return scores
