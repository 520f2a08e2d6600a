"""PyTorch Geometric, imported when a baseline needs it."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType

from benchmarks.measure import Unavailable


def pyg(module: str) -> ModuleType:
    """A module of PyTorch Geometric; :class:`Unavailable` where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it uses names that others deprecated
            return importlib.import_module(f"torch_geometric.{module}")
    except ImportError as error:
        raise Unavailable("needs PyTorch Geometric: pip install 'se-gnn[data]'") from error
