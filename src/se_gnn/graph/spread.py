"""The nodes that a page or a preview is about: all of them, or, of a large graph, some that are evenly spread.

The report, the explorer and the service list these nodes, and an edit of labels says what becomes of them.
"""

from __future__ import annotations

import numpy as np

from se_gnn.graph.arrays import IntArray
from se_gnn.graph.graph import Graph

MOST_ROWS = 200_000  # nodes of a graph that are all listed: that many rows and points a browser gets
FEWEST_ROWS = 1000  # of a larger graph
MOST_PAIRS = 3_000_000  # of these nodes and labeled nodes, so that they are compared within a minute


def listed_nodes(graph: Graph) -> IntArray:
    """The nodes that are listed, ascending: all, or of a large graph those of the split and some others.

    They are as many as can be compared in a short time, evenly spread over each part of the split and over the rest.
    """
    if graph.num_nodes <= MOST_ROWS:
        return np.arange(graph.num_nodes)
    most = min(MOST_ROWS, max(FEWEST_ROWS, MOST_PAIRS // max(1, len(graph.train))))
    known = np.concatenate([spread(nodes, most // 4) for _, nodes in graph.split.items()])
    return np.union1d(known, spread(graph.candidates, most - len(known)))


def spread(nodes: IntArray, most: int) -> IntArray:
    """At most so many of some nodes, evenly spread."""
    return nodes[np.unique(np.linspace(0, len(nodes) - 1, min(most, len(nodes))).astype(np.int64))]
