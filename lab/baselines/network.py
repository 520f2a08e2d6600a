"""Baselines that are one network: layers over the whole graph, trained by cross-entropy on the labeled nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lab.baselines.base import Baseline
from lab.baselines.training import Record, train_network
from se_gnn.device import resolve_device
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.settings.checks import above_zero, at_least, between, check_types


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What all networks share."""

    num_layers: int = 2
    hidden_size: int = 16
    head: Literal["none", "linear"] = "none"  # the last layer gives the class scores, or a linear layer after it does
    features: Literal["raw", "normalized"] = "normalized"  # as they are, or each row divided by its sum
    input_dropout: float = 0.5  # of the attributes
    dropout: float = 0.5  # between layers
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 200
    patience: int | None = None  # epochs after the best one before training stops; None: never

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "num_layers", "hidden_size", "epochs")
        between(self, 0, 1, "input_dropout", "dropout")
        above_zero(self, "learning_rate")
        at_least(self, 0, "weight_decay")
        if self.patience is not None:
            at_least(self, 1, "patience")


class Network(nn.Module):
    """Layers ``(x, edge_index) -> x`` with an activation and dropout between them, and a linear head if there is one.

    Shapes:
        - **x:** :math:`(N, F)`, **edge_index:** :math:`(2, 2E)`
        - **output:** :math:`(N, C)` class scores
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        head: nn.Module | None,
        *,
        activation: Callable[[Tensor], Tensor] = torch.relu,
        dropout: float,
    ) -> None:
        super().__init__()
        self.layers, self.head, self.activation, self.dropout = nn.ModuleList(layers), head, activation, dropout

    def embed(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Representations of the last layer, [N, D]; without a head they are the class scores."""
        for depth, layer in enumerate(self.layers):
            if depth:
                x = functional.dropout(self.activation(x), self.dropout, training=self.training)
            x = self.apply_layer(layer, x, edge_index)
        return x

    def apply_layer(self, layer: nn.Module, x: Tensor, edge_index: Tensor) -> Tensor:
        """One layer; a network whose layers read more than this overrides it."""
        out: Tensor = layer(x, edge_index)
        return out

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Class scores of all nodes, [N, C]."""
        h = self.embed(x, edge_index)
        if self.head is None:
            return h
        scores: Tensor = self.head(h)
        return scores

    def draw(self, graph: Graph, *, generator: np.random.Generator) -> None:
        """Draw what the next training step samples from the graph; most sample nothing."""

    def own_loss(self) -> Tensor | None:
        """What the network adds to the cross-entropy of the forward pass just made; most add nothing."""
        return None


class NetworkBaseline(Baseline):
    """A :class:`Network` on one graph.

    Attributes:
        network_: the network of the best epoch, in evaluation mode.
        history_: what each epoch said.
        x_, edge_index_: what the network reads; every edge in both directions. All three are on the CPU.
    """

    settings: NetworkSettings

    @abstractmethod
    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""

    def fit(self, graph: Graph, *, seed: int, device: str = "cpu", progress: bool = False) -> Self:
        """Train; the epoch with the highest validation accuracy stays (ties: lower validation loss, then earlier)."""
        graph.check_trainable()
        where = resolve_device(device)
        self.graph_ = graph
        self.x_, self.edge_index_ = dense_features(graph, self.settings.features), directed_edges(graph)
        with torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
            torch.manual_seed(seed)  # PyG's layers and PyTorch's dropout draw from the global generator
            network = self.build(graph.num_features, graph.num_classes).to(where)
            x, edge_index = self.x_.to(where), self.edge_index_.to(where)
            self.history_: list[Record] = train_network(
                network, x, edge_index, graph, self.settings, seed=seed, progress=progress
            )
        self.network_ = network.cpu()
        return self

    @torch.no_grad()
    def predict_proba(self) -> FloatArray:
        """Class probabilities of all nodes, [N, C]."""
        self._check_fitted("network_")
        probabilities: FloatArray = self.network_(self.x_, self.edge_index_).softmax(dim=1).numpy()
        return probabilities

    @property
    @torch.no_grad()
    def embeddings(self) -> FloatArray:
        """Representations of the last layer, [N, D]; without a head they are the class scores."""
        self._check_fitted("network_")
        h: FloatArray = self.network_.embed(self.x_, self.edge_index_).numpy()
        return h

    def widths(self, num_features: int, num_classes: int) -> list[int]:
        """Width before the first layer and after each."""
        settings = self.settings
        last = num_classes if settings.head == "none" else settings.hidden_size
        return [num_features, *[settings.hidden_size] * (settings.num_layers - 1), last]

    def head(self, num_classes: int) -> nn.Module | None:
        """The linear layer that classifies, where the settings ask for one."""
        return nn.Linear(self.settings.hidden_size, num_classes) if self.settings.head == "linear" else None


def dense_features(graph: Graph, scale: Literal["raw", "normalized"]) -> Tensor:
    """Attributes as a dense matrix, [N, F]; normalized: each row divided by the sum of its sizes, 0 stays 0."""
    stored = graph.features
    x = torch.tensor(stored) if isinstance(stored, np.ndarray) else torch.from_numpy(stored.toarray())
    return functional.normalize(x, p=1, dim=1) if scale == "normalized" else x


def directed_edges(graph: Graph) -> Tensor:
    """Both directions of every edge, [2, 2E], as PyTorch Geometric wants them: edge e is column e and column E + e."""
    edges = torch.from_numpy(graph.edges.ends.T.copy())
    return torch.cat([edges, edges.flip(0)], dim=1)
