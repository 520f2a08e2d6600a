"""GraphSAGE: "Inductive Representation Learning on Large Graphs" (https://arxiv.org/abs/1706.02216)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from lab.baselines.network import Network, NetworkBaseline, NetworkSettings
from lab.baselines.pyg import pyg


@dataclass(frozen=True, kw_only=True)
class GraphSAGESettings(NetworkSettings):
    """Settings of a GraphSAGE."""


class GraphSAGE(NetworkBaseline):
    r"""Layers :math:`W_1 x_i + W_2 \, \mathrm{mean}_{j \in N(i)} x_j` of PyG with ReLU and dropout between them."""

    settings_type = GraphSAGESettings
    settings: GraphSAGESettings

    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""
        conv = pyg("nn").SAGEConv
        return Network(
            [conv(a, b) for a, b in pairwise(self.widths(num_features, num_classes))],
            self.head(num_classes),
            dropout=self.settings.dropout,
        )
