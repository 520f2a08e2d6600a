"""Which recipes a graph is offered: those for every graph, and one more where nodes have columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from se_gnn.encoder.pieces import PIECES
from se_gnn.graph import Graph
from se_gnn.graph.columns import NumberColumn
from se_gnn.recipes import FOR_COLUMNS, RECIPES, Settings

MOST_PIECES = 100_000_000  # numbers that a pass over all nodes may read


def offered_recipes(graph: Graph) -> Mapping[str, Settings]:
    """The recipes between which validation nodes choose, by name."""
    return RECIPES if why_columns(graph) is None else {**RECIPES, **FOR_COLUMNS}


def why_columns(graph: Graph) -> str | None:
    """Why recipes for columns of numbers are offered, in a sentence; None: they are not.

    They are where at least half of the columns of a table are numbers, unless the pieces of all columns would be too
    many numbers.
    """
    if graph.columns is None or not isinstance(graph.features, np.ndarray):
        return None
    numbers = sum(type(column) is NumberColumn for column in graph.columns)  # not those that edges give
    if 2 * numbers < len(graph.columns) or graph.features.size * PIECES > MOST_PIECES:
        return None
    names = " and ".join(repr(name) for name in FOR_COLUMNS)
    return f"recipe {names} is offered too: {numbers} of the {len(graph.columns)} columns of a node are numbers"
