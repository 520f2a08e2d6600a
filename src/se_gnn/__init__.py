"""Predicts classes or numbers of the nodes of a graph and shows, with every prediction, the cases it rests on."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from se_gnn.cases import CaseExplainer as CaseExplainer
    from se_gnn.datasets import load_dataset as load_dataset
    from se_gnn.estimator import SEGNNClassifier as SEGNNClassifier
    from se_gnn.estimator import SEGNNRegressor as SEGNNRegressor
    from se_gnn.explain import Explanation as Explanation
    from se_gnn.graph import Graph as Graph
    from se_gnn.links import SEGNNLinkPredictor as SEGNNLinkPredictor
    from se_gnn.tables import read_tables as read_tables

_HOME = {
    "CaseExplainer": "se_gnn.cases",
    "Explanation": "se_gnn.explain",
    "Graph": "se_gnn.graph",
    "SEGNNClassifier": "se_gnn.estimator",
    "SEGNNLinkPredictor": "se_gnn.links",
    "SEGNNRegressor": "se_gnn.estimator",
    "load_dataset": "se_gnn.datasets",
    "read_tables": "se_gnn.tables",
}
__all__ = list(_HOME)


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
