"""Where the nodes of some local graphs are put by their attributes: one t-SNE of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from se_gnn.graph import Graph
from se_gnn.plot.layout import Points
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.projection import apart, evenly, project

_LEAST = 0.13  # between two nodes


def placed_by_features(views: Sequence[LocalView], graph: Graph) -> list[Points]:
    """Positions [P, 2] of the nodes of each view, -1 to 1; a node that several show stands in the same place in all."""
    nodes = np.unique(np.concatenate([view.nodes for view in views]))
    rows: Any = graph.features[nodes]
    points = evenly(project(rows if isinstance(rows, np.ndarray) else rows.toarray(), "tsne"))
    points = apart(points, min(_LEAST, 1.4 / np.sqrt(len(nodes))))
    return [points[np.searchsorted(nodes, view.nodes)] for view in views]
