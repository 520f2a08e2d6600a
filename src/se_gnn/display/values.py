"""The value of a column that some features stand for, as its table has it, and all that the data says of a node."""

from __future__ import annotations

import datetime

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import dense
from se_gnn.graph.columns import (
    MISSING,
    OTHER,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
    TextColumn,
)

DIGITS = 6  # that a float32 feature surely keeps of a number


def show_value(column: Column, values: npt.ArrayLike) -> str:
    """The value that the features of a node at ``column.features`` stand for.

    >>> column = NumberColumn(name="balance", first=3, size=2, marked=True, offset=100, scale=50, decimals=2)
    >>> show_value(column, [1.5, 0]), show_value(column, [0, 1])
    ('175.00', '(missing)')
    """
    row = np.asarray(values, dtype=np.float64).ravel()
    if row.shape != (column.size,):
        raise InputError(f"column {column.name!r} has {column.size} features, got {len(row)} values")
    if column.marked and row[-1] > 0.5:
        return MISSING
    row = row[: len(row) - column.marked]
    if isinstance(column, NumberColumn):
        number = float(column.decode(row)[0])
        whole = len(f"{abs(number):.0f}")
        text = f"{number:.{max(0, min(column.decimals, DIGITS - whole))}f}"
        return "0" + text[2:] if text.startswith("-0") and float(text) == 0 else text
    if isinstance(column, BooleanColumn):
        if row[0] in (0, 1):
            return column.words[int(row[0])]
        return MISSING if np.float32(row[0]) == np.float32(column.fill) else " / ".join(column.words)
    if isinstance(column, CategoryColumn):
        names = (*column.categories, OTHER)
        return " / ".join(names[i] for i in np.flatnonzero(row)) or OTHER
    if isinstance(column, DateColumn):
        return _date(float(row[0]) * column.scale + column.offset, with_time=column.with_time)
    assert isinstance(column, TextColumn)
    order = np.argsort(-row, kind="stable")
    return " ".join(column.vocabulary[i] for i in order if row[i] > 0) or "(no known word)"


def _date(days: float, *, with_time: bool) -> str:
    """A date that is so many days after 1970."""
    minutes = round(days * 24 * 60) if with_time else round(days) * 24 * 60
    try:
        date = datetime.datetime(1970, 1, 1) + datetime.timedelta(minutes=minutes)
    except OverflowError:  # a row that no table holds
        return f"{days:.0f} days after 1970"
    return date.isoformat(sep=" ", timespec="minutes") if with_time else date.date().isoformat()


def node_values(graph: Graph, node: int) -> dict[str, str]:
    """The values of a node by column.

    The row of its table as it was given (``graph.raw``), also columns that are not features; what is not in
    the table, or was not kept, is read back from the features; features by name where there was no table. Of several
    kinds of nodes, the columns of its own.

    >>> graph = Graph.build(features=[[0.5], [1.0]], edges=[[0, 1]], labels=[0, 1], feature_names=["size"])
    >>> node_values(graph, 0)
    {'size': '0.5'}
    """
    own = "" if graph.node_types is None else f"{graph.node_type_names[graph.node_types[node]]}: "  # "paper: year"
    raw = {} if graph.raw is None else graph.raw.row(node)
    shown = {name: MISSING if text is None else text for name, text in raw.items() if name.startswith(own)}
    columns = [c for c in graph.columns or () if c.name.startswith(own) and c.name not in shown]
    if shown and not columns and not own:
        return shown
    row = dense(graph.features[[node]])[0]
    if graph.columns is not None:
        return {column.name: show_value(column, row[list(column.features)]) for column in columns} | shown
    names = graph.feature_names or [f"{own}feature {i}" for i in range(graph.num_features)]
    present = [i for i, name in enumerate(names) if not own or (row[i] and name.startswith(own))]
    return {names[i]: f"{row[i]:g}" for i in present} | shown
