"""Edge values as attributes of NetworkX edges, and back. Shapes: E edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from se_gnn.graph import EdgeValues
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.optional import require

ID = "edge_id"
SOURCE, TARGET = "(source)", "(target)"  # columns of an edge table, where attributes may be called "source"
Ends = Sequence[tuple[Any, Any, dict[str, Any]]]


def networkx_class(nx: Any, values: EdgeValues | None) -> Any:
    """The kind of graph that holds edges with these values."""
    if values is None:
        return nx.Graph
    return nx.MultiGraph if values.direction is None else nx.MultiDiGraph


def about_edges(values: EdgeValues) -> dict[str, Any]:
    """What is known of the edges together; :func:`stored_values` needs it."""
    names = ("type_names", "type_verbs", "attribute_names", "columns", "raw", "names")
    return {"parts": values.carried, **{name: getattr(values, name) for name in names}}


def edge_attributes(values: EdgeValues, edge: int) -> dict[str, Any]:
    """Everything that one edge carries, by name; the cells of its row where nothing else has their name."""
    known: dict[str, Any] = {ID: edge}
    if values.direction is not None and values.direction[edge] == 0:
        known["direction"] = 0
    if values.weight is not None:
        known["weight"] = values.weight[edge].item()
    if values.type is not None:
        known["type"] = values.type_names[values.type[edge]]
    if values.attributes is not None:
        known["attributes"] = values.attributes[edge].copy()
    if values.time is not None and values.time[edge] != NO_TIME:
        known["time"] = values.time[edge].item()
    cells = {} if values.raw is None else values.raw.row(edge)
    return cells | known


def stored_values(ends: Ends, about: dict[str, Any]) -> EdgeValues:
    """The values that :func:`edge_attributes` and :func:`about_edges` wrote."""
    about = dict(about)
    parts = about.pop("parts")
    attributes = [known for _, _, known in ends]
    arrays: dict[str, Any] = {}
    if "direction" in parts:
        arrays["direction"] = np.array([known.get("direction", 1) for known in attributes], np.int8)
    if "weight" in parts:
        arrays["weight"] = np.array([known["weight"] for known in attributes], np.float32)
    if "type" in parts:
        place = {name: i for i, name in enumerate(about["type_names"])}
        arrays["type"] = np.array([place[known["type"]] for known in attributes], np.int32)
    if "attributes" in parts:
        size = len(about["attribute_names"] or ()) or sum(column.size for column in about["columns"] or ())
        rows = [np.asarray(known["attributes"], np.float32) for known in attributes]
        arrays["attributes"] = np.stack(rows) if rows else np.empty((0, max(1, size)), np.float32)
    if "time" in parts:
        arrays["time"] = np.array([known.get("time", NO_TIME) for known in attributes], np.int64)
    raw = about.pop("raw")
    rows_of_raw = np.array([known[ID] for known in attributes], np.int64)
    return EdgeValues(**arrays, **about, raw=None if raw is None else raw.take(rows_of_raw))


def edge_frame(ends: Iterable[tuple[Any, Any, dict[str, Any]]], unread: Iterable[str] = ()) -> Any:
    """An edge table of a user's graph: the two ends and every edge attribute."""
    pd: Any = require("pandas", extra="tables", feature="tables")
    listed = [(u, v, {str(name): value for name, value in known.items()}) for u, v, known in ends]
    names = sorted({name for _, _, known in listed for name in known} - set(unread))
    frame = {SOURCE: [str(u) for u, _, _ in listed], TARGET: [str(v) for _, v, _ in listed]}
    return pd.DataFrame({**frame, **{name: [known.get(name) for _, _, known in listed] for name in names}})


def read_values(
    ends: Ends,
    unread: set[str],
    *,
    directed: bool,
    edge_weight: str | None = None,
    edge_type: str | None = None,
    edge_time: str | None = None,
) -> EdgeValues | None:
    """The edge attributes of a user's graph, read as the columns of an edge table."""
    if not directed and not any(set(known) - unread for _, _, known in ends):
        return None
    from se_gnn.datasets.tables.edge_columns import EdgeSettings, read_edge_values
    from se_gnn.datasets.tables.read import read_table

    settings = EdgeSettings(directed=directed, weight=edge_weight, type=edge_type, time=edge_time)
    table = read_table(edge_frame(ends, unread), what="edges", of_edges=True)
    return read_edge_values(table, settings, (SOURCE, TARGET)).values
