"""All that the data says of a node, by column, as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from se_gnn.display.columns import show_value
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.graph.columns import MISSING


def node_values(graph: Graph, node: int) -> dict[str, str]:
    """The values of a node by column.

    The row of its table as it was given (``graph.raw``), text and columns that are no features included; what is not in
    the table, or was not kept, is read back from the features; features by name where there was no table. Of several
    kinds of nodes, the columns of its own.

    >>> graph = Graph.build(features=[[0.5], [1.0]], edges=[[0, 1]], labels=[0, 1], feature_names=["size"])
    >>> node_values(graph, 0)
    {'size': '0.5'}
    """
    raw = {} if graph.raw is None else graph.raw.row(node)
    if graph.node_types is not None:
        return _of_kind(graph, node, raw)
    shown = {name: MISSING if text is None else text for name, text in raw.items()}
    if shown and all(column.name in shown for column in graph.columns or ()):
        return shown
    stored: Any = graph.features[[node]]
    row: FloatArray = (stored if isinstance(stored, np.ndarray) else stored.toarray())[0]
    if graph.columns is not None:
        return {c.name: show_value(c, row[list(c.features)]) for c in graph.columns if c.name not in shown} | shown
    names = graph.feature_names or [f"feature {i}" for i in range(graph.num_features)]
    return {name: f"{value:g}" for name, value in zip(names, row.tolist())}


def _of_kind(graph: Graph, node: int, raw: dict[str, str | None]) -> dict[str, str]:
    """The values of a node in the columns of its kind, which are called by it: "paper: year"."""
    assert graph.node_types is not None
    own = f"{graph.node_type_names[graph.node_types[node]]}: "
    shown = {name: MISSING if text is None else text for name, text in raw.items() if name.startswith(own)}
    stored: Any = graph.features[[node]]
    row: FloatArray = (stored if isinstance(stored, np.ndarray) else stored.toarray())[0]
    if graph.columns is not None:
        columns = [column for column in graph.columns if column.name.startswith(own) and column.name not in shown]
        return {column.name: show_value(column, row[list(column.features)]) for column in columns} | shown
    names = graph.feature_names or [f"{own}feature {i}" for i in range(graph.num_features)]
    present = [i for i in np.flatnonzero(row) if names[i].startswith(own)]
    return {names[i]: f"{row[i]:g}" for i in present} | shown
