"""GNNExplainer (https://arxiv.org/abs/1903.03894), PyG's: masks are optimized for each node on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.baselines.post_hoc import PostHocExplainer
from lab.baselines.pyg import pyg
from se_gnn.settings.checks import above_zero, at_least, check_types


@dataclass(frozen=True, slots=True, kw_only=True)
class GNNExplainerSettings:
    """Settings of GNNExplainer; the weights are those that PyG and the authors of GNNExplainer use."""

    epochs: int = 200
    learning_rate: float = 0.01
    edge_size: float = 0.005  # weight of the number of edges that are kept
    edge_entropy: float = 1.0  # weight of their undecidedness

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "epochs")
        above_zero(self, "learning_rate")
        at_least(self, 0, "edge_size", "edge_entropy")


class GNNExplainer(PostHocExplainer):
    """A mask over edges and one over attributes that keep the prediction of a node."""

    settings_type = GNNExplainerSettings
    settings: GNNExplainerSettings
    explanation_type = "model"
    node_mask_type = "attributes"

    def _algorithm(self) -> Any:
        settings = self.settings
        return pyg("explain").GNNExplainer(
            epochs=settings.epochs,
            lr=settings.learning_rate,
            edge_size=settings.edge_size,
            edge_ent=settings.edge_entropy,
        )
