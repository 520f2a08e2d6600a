"""GIN: "How Powerful are Graph Neural Networks?" (https://arxiv.org/abs/1810.00826)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from se_gnn.baselines.network import Network, NetworkBaseline, NetworkSettings
from se_gnn.baselines.pyg import pyg


@dataclass(frozen=True, kw_only=True)
class GINSettings(NetworkSettings):
    """Settings of a GIN."""

    norm: Literal["none", "batch"] = "batch"  # batch normalization in the MLP of each layer


class GIN(NetworkBaseline):
    r"""Layers :math:`\mathrm{MLP}((1 + \epsilon) x_i + \sum_{j \in N(i)} x_j)` of PyG.

    The MLP has two linear layers; :math:`\epsilon` is learned.
    """

    settings_type = GINSettings
    settings: GINSettings

    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""
        settings = self.settings
        return Network(
            [
                _GINLayer(a, settings.hidden_size, b, settings.norm)
                for a, b in pairwise(self.widths(num_features, num_classes))
            ],
            self.head(num_classes),
            dropout=settings.dropout,
        )


class _GINLayer(nn.Module):
    """The first linear layer of the MLP comes before the sum: the same, and a sum over few columns instead of many."""

    def __init__(self, inputs: int, hidden: int, outputs: int, norm: Literal["none", "batch"]) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden, bias=False)  # the bias has to come after the sum
        after = nn.BatchNorm1d(hidden) if norm == "batch" else _Bias(hidden)
        self.conv = pyg("nn").GINConv(nn.Sequential(after, nn.ReLU(), nn.Linear(hidden, outputs)), train_eps=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.conv(self.first(x), edge_index)
        return out


class _Bias(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias
