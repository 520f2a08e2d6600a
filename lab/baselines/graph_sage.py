"""GraphSAGE: "Inductive Representation Learning on Large Graphs" (https://arxiv.org/abs/1706.02216)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn

from lab.baselines.network import Network, NetworkBaseline, NetworkSettings
from lab.baselines.pyg import pyg


@dataclass(frozen=True, kw_only=True)
class GraphSAGESettings(NetworkSettings):
    """Settings of a GraphSAGE."""


class GraphSAGE(NetworkBaseline):
    r"""Layers :math:`W_1 x_i + W_2 \, \mathrm{mean}_{j \in N(i)} x_j + b` with ReLU and dropout between them."""

    settings_type = GraphSAGESettings
    settings: GraphSAGESettings

    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""
        return Network(
            [_MeanLayer(a, b) for a, b in pairwise(self.widths(num_features, num_classes))],
            self.head(num_classes),
            dropout=self.settings.dropout,
        )


class _MeanLayer(nn.Module):
    """PyG's layer with :math:`W_2` before the mean: the same result, and a mean of few columns instead of many."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own, self.neighbors = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)
        self.mean = pyg("nn").SimpleConv(aggr="mean")

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.own(x) + self.mean(self.neighbors(x), edge_index)
        return out
