"""PyTorch Geometric, imported when a baseline needs it."""

from __future__ import annotations

from types import ModuleType

from benchmarks.measure import Unavailable
from se_gnn.errors import InputError
from se_gnn.optional import require


def pyg(module: str) -> ModuleType:
    """A module of PyTorch Geometric; :class:`Unavailable` where it is not installed."""
    try:
        return require(f"torch_geometric.{module}", extra="lab", feature="benchmarks against PyTorch Geometric")
    except InputError as error:
        raise Unavailable(str(error)) from error
