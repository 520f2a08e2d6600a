"""GIN: "How Powerful are Graph Neural Networks?" (https://arxiv.org/abs/1810.00826)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from lab.baselines.network import Network, NetworkBaseline, NetworkSettings
from lab.baselines.pyg import pyg


@dataclass(frozen=True, kw_only=True)
class GINSettings(NetworkSettings):
    """Settings of a GIN."""

    propagation: Literal["sum", "normalized"] = "sum"  # of the neighbors: GIN's sum, or the normalized one of GCN


class GIN(NetworkBaseline):
    r"""Layers that aggregate the neighbors and hand the result to an MLP with two linear layers.

    ``sum`` is GIN, by PyG's layer: :math:`\mathrm{MLP}((1 + \epsilon) x_i + \sum_{j \in N(i)} x_j)`, where
    :math:`\epsilon` is learned, with a ReLU between layers. ``normalized`` is what the authors of SE-GNN publish under
    that name: neighbors are weighed as in GCN, and there is no ReLU between layers.
    """

    settings_type = GINSettings
    settings: GINSettings

    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""
        by_sum, hidden = self.settings.propagation == "sum", self.settings.hidden_size
        layer = _SumLayer if by_sum else _NormalizedLayer
        return Network(
            [layer(a, hidden, b) for a, b in pairwise(self.widths(num_features, num_classes))],
            self.head(num_classes),
            activation=torch.relu if by_sum else _as_it_is,
            dropout=self.settings.dropout,
        )


def _as_it_is(x: Tensor) -> Tensor:
    return x


class _SumLayer(nn.Module):
    """The first linear layer of the MLP comes before the sum: the same, and a sum over few columns instead of many."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden, bias=False)  # the bias has to come after the sum
        self.conv = pyg("nn").GINConv(
            nn.Sequential(_Bias(hidden), nn.ReLU(), nn.Linear(hidden, outputs)), train_eps=True
        )

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.conv(self.first(x), edge_index)
        return out


class _NormalizedLayer(nn.Module):
    """PyG's GCN layer is the first linear layer of the MLP and the weighted sum in one."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.conv = pyg("nn").GCNConv(inputs, hidden)
        self.second = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.second(self.conv(x, edge_index).relu())
        return out


class _Bias(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias
