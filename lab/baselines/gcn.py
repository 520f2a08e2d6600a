"""GCN: "Semi-Supervised Classification with Graph Convolutional Networks" (https://arxiv.org/abs/1609.02907)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from lab.baselines.network import Network, NetworkBaseline, NetworkSettings
from lab.baselines.pyg import pyg


@dataclass(frozen=True, kw_only=True)
class GCNSettings(NetworkSettings):
    """Settings of a GCN."""


class GCN(NetworkBaseline):
    r"""Layers :math:`\hat{D}^{-1/2} (A + I) \hat{D}^{-1/2} X W` of PyG with ReLU and dropout between them."""

    settings_type = GCNSettings
    settings: GCNSettings

    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""
        conv, settings = pyg("nn").GCNConv, self.settings
        return Network(
            [conv(a, b) for a, b in pairwise(self.widths(num_features, num_classes))],
            self.head(num_classes),
            dropout=settings.dropout,
        )
