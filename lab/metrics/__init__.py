"""How good predictions and explanations are; `docs/understanding/lab.md` has the definitions."""

from lab.metrics.edge_matching import edge_matching_accuracy, values_of_edges
from lab.metrics.fidelity import Fidelity, fidelity
from lab.metrics.nodes import accuracy, node_matching_accuracy, precision_at_k, role_precision_at_k
from lab.metrics.roc_auc import (
    AUC_PROTOCOLS,
    BA_SHAPES_NODES,
    gnn_explainer_own_house_auc,
    pg_explainer_auc,
    pyg_three_hop_auc,
    se_gnn_one_hop_auc,
)

__all__ = [
    "AUC_PROTOCOLS",
    "BA_SHAPES_NODES",
    "Fidelity",
    "accuracy",
    "edge_matching_accuracy",
    "fidelity",
    "gnn_explainer_own_house_auc",
    "node_matching_accuracy",
    "pg_explainer_auc",
    "precision_at_k",
    "pyg_three_hop_auc",
    "role_precision_at_k",
    "se_gnn_one_hop_auc",
    "values_of_edges",
]
