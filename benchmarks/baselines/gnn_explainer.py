"""PyG's GNNExplainer on a trained GCN: one optimization of masks over edges and attributes for each node."""

from __future__ import annotations

from typing import Any

from benchmarks.baselines.gcn import GCNTraining
from benchmarks.baselines.pyg import pyg

EPOCHS = 200


class MaskOptimizer:
    """Explains nodes of a trained GCN one by one."""

    def __init__(self, trained: GCNTraining, *, epochs: int = EPOCHS) -> None:
        explain = pyg("explain")
        trained.model.eval()
        self.trained = trained
        self.explainer = explain.Explainer(
            model=trained.model,
            algorithm=explain.GNNExplainer(epochs=epochs),
            explanation_type="model",
            node_mask_type="attributes",
            edge_mask_type="object",
            model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
        )

    def explain(self, node: int) -> Any:
        """Masks over edges and attributes that keep the prediction of a node."""
        return self.explainer(self.trained.x, self.trained.edge_index, index=node)
