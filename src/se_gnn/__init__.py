"""Classifies the nodes of a graph and shows, with every prediction, the labeled cases it rests on."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from se_gnn.datasets import load_dataset
    from se_gnn.estimator import SEGNNClassifier
    from se_gnn.explain import Explanation
    from se_gnn.graph import Graph

__all__ = ["Explanation", "Graph", "SEGNNClassifier", "load_dataset"]

_HOME = {
    "Graph": "se_gnn.graph",
    "Explanation": "se_gnn.explain",
    "SEGNNClassifier": "se_gnn.estimator",
    "load_dataset": "se_gnn.datasets",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `import se_gnn` and the command line stay quick."""
    if name == "__version__":
        try:
            return importlib.metadata.version("se-gnn")
        except importlib.metadata.PackageNotFoundError:  # run from the sources, not installed
            return "0+unknown"
    if name not in _HOME:
        raise AttributeError(f"module 'se_gnn' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """The public names, whether they have been used yet or not."""
    return sorted({*globals(), *__all__})
