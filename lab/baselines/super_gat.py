"""SuperGAT: "How to Find Your Friendly Neighborhood" (https://openreview.net/forum?id=Wi5KUNlqWty)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lab.baselines.network import Network, NetworkBaseline, NetworkSettings
from lab.baselines.pyg import pyg
from se_gnn.graph import Graph, sample_non_edges
from se_gnn.settings.checks import above_zero, at_least


@dataclass(frozen=True, kw_only=True)
class SuperGATSettings(NetworkSettings):
    """Settings of a SuperGAT; ``hidden_size`` is the width of one head."""

    hidden_size: int = 8
    input_dropout: float = 0.6
    dropout: float = 0.6  # between layers, and of the attention
    heads: int = 8  # concatenated, on the last layer averaged
    attention_loss_weight: float = 4.0  # of the edge prediction task
    edge_sample_ratio: float = 0.8  # share of the edges that the task looks at
    negative_ratio: float = 0.5  # non-edges for each of them

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "heads")
        at_least(self, 0, "attention_loss_weight")
        above_zero(self, "edge_sample_ratio")
        above_zero(self, "negative_ratio")


class SuperGAT(NetworkBaseline):
    """Mixed attention (MX) of PyG: attention is also trained to tell edges from non-edges."""

    settings_type = SuperGATSettings
    settings: SuperGATSettings

    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""
        conv, settings = pyg("nn").SuperGATConv, self.settings
        widths = list(pairwise(self.widths(num_features, num_classes)))
        layers = [
            conv(
                a * (settings.heads if depth else 1),
                b,
                heads=settings.heads,
                concat=depth < len(widths) - 1,
                dropout=settings.dropout,
                attention_type="MX",
                edge_sample_ratio=settings.edge_sample_ratio,
                is_undirected=True,
            )
            for depth, (a, b) in enumerate(widths)
        ]
        return _AttentionNetwork(
            layers,
            self.head(num_classes),
            settings=settings,
        )


class _AttentionNetwork(Network):
    """A network whose layers predict edges from their attention in training."""

    def __init__(self, layers: Sequence[nn.Module], head: nn.Module | None, settings: SuperGATSettings) -> None:
        super().__init__(
            layers,
            head,
            activation=functional.elu,
            dropout=settings.dropout,
        )
        self.settings = settings
        self.negatives: Tensor | None = None

    def draw(self, graph: Graph, *, generator: np.random.Generator) -> None:
        """Non-edges for the task; PyG would draw them from Python's global generator."""
        settings = self.settings
        wanted = int(settings.negative_ratio * settings.edge_sample_ratio * (2 * graph.num_edges + graph.num_nodes))
        free = graph.num_nodes * (graph.num_nodes - 1) // 2 - graph.num_edges
        pairs = sample_non_edges(graph.edges.ends, graph.num_nodes, min(wanted, free), generator=generator)
        self.negatives = torch.tensor(pairs.T, device=next(self.parameters()).device)

    def apply_layer(self, layer: nn.Module, x: Tensor, edge_index: Tensor) -> Tensor:
        """One layer, which scores the non-edges in training."""
        out: Tensor = layer(x, edge_index, neg_edge_index=self.negatives)
        return out

    def own_loss(self) -> Tensor:
        """Binary cross-entropy of edges and non-edges, summed over the layers."""
        losses = [layer.get_attention_loss() for layer in self.layers]  # type: ignore[operator]
        return self.settings.attention_loss_weight * torch.stack(losses).sum()
