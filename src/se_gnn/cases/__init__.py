"""Explain the answers of any trained PyTorch model by cases; `se_gnn.cases.pyg` plugs into PyG's Explainer."""

from se_gnn.cases.explainer import CaseExplainer

__all__ = ["CaseExplainer"]
