"""The rows of an edge table that become edges, and what each of them carries. Shapes: E edges."""

from __future__ import annotations

import numpy as np

from se_gnn.datasets.tables.edge_columns import (
    EdgeColumns,
    EdgeSettings,
    encode_edge_values,
    read_edge_values,
    shown_before,
    shown_columns,
)
from se_gnn.datasets.tables.edge_times import read_times
from se_gnn.datasets.tables.edges import Edges
from se_gnn.datasets.tables.raw import raw_table
from se_gnn.datasets.tables.read import Table
from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.edge_values import as_seconds
from se_gnn.graph.edges import EdgeReport, canonical_valued_edges


def until_date(table: Table, found: Edges, settings: EdgeSettings, until: str | None) -> tuple[Edges, int]:
    """The edges up to a date, and how many are later; those without a date stay."""
    if until is None:
        return found, 0
    assert settings.time is not None
    kept = read_times(table, settings.time, settings.reading)[found.rows] <= as_seconds(until)
    if not kept.any():
        raise InputError(f"until: {table.name} has no edge up to {until}")
    return Edges(found.pairs[kept], found.rows[kept], found.given, found.dangling), int((~kept).sum())


def distinct_edges(
    table: Table, found: Edges, settings: EdgeSettings, ends: tuple[str, str], like: Graph | None, count: int
) -> tuple[Edges, EdgeReport | None]:
    """The rows that become edges, in the order of the graph, and what was merged; no report where edges carry nothing.

    Self-loops and rows that agree in everything are left out before anything is fitted. ``count`` is the number of
    nodes.
    """
    if like is None:
        directed, cells = settings.directed, shown_columns(table, settings, ends)
    elif like.edge_values is None:
        return found, None
    else:
        directed = like.edge_values.direction is not None
        cells = [name for name in shown_before(like.edge_values) if name in table.columns]
    if not directed and not cells:
        return found, None
    raw = raw_table(table, cells).take(found.rows)
    direction = np.ones(len(found.rows), np.int8) if directed else None
    _, given, _, report = canonical_valued_edges(found.pairs, EdgeValues(direction=direction, raw=raw), count)
    return Edges(found.pairs[given], found.rows[given], found.given, found.dangling), report


def edge_values(
    table: Table, found: Edges, settings: EdgeSettings, ends: tuple[str, str], like: Graph | None
) -> EdgeColumns:
    """What the edges carry; as the graph before has it, where there is one."""
    if like is None:
        return read_edge_values(table, settings, ends, rows=found.rows)
    if like.edge_values is None:
        return EdgeColumns(None)
    return encode_edge_values(table, settings, ends, like.edge_values, rows=found.rows)
