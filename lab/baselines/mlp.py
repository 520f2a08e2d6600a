"""MLP: linear layers that see no edges."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn

from lab.baselines.network import Network, NetworkBaseline, NetworkSettings


@dataclass(frozen=True, kw_only=True)
class MLPSettings(NetworkSettings):
    """Settings of an MLP."""


class MLP(NetworkBaseline):
    """Linear layers with ReLU and dropout between them."""

    settings_type = MLPSettings
    settings: MLPSettings

    def build(self, num_features: int, num_classes: int) -> Network:
        """A network with fresh parameters."""
        settings = self.settings
        return Network(
            [_Linear(a, b) for a, b in pairwise(self.widths(num_features, num_classes))],
            self.head(num_classes),
            dropout=settings.dropout,
        )


class _Linear(nn.Linear):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x)
