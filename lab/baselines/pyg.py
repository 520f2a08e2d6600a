"""PyTorch Geometric, imported when a baseline needs it."""

from __future__ import annotations

from types import ModuleType

from se_gnn.optional import require


def pyg(module: str) -> ModuleType:
    """A module of PyTorch Geometric."""
    return require(f"torch_geometric.{module}", extra="lab", feature="baselines")
