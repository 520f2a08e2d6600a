"""What edges of several types carry, as one: the attributes of each type side by side. Shapes: E edges of all types."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from se_gnn.datasets.tables.edge_columns import EdgeColumns, EdgeSettings, read_edge_values
from se_gnn.datasets.tables.edges import Edges
from se_gnn.datasets.tables.raw import raw_table
from se_gnn.datasets.tables.read import Table
from se_gnn.datasets.tables.summary import ColumnSummary
from se_gnn.graph import EdgeValues, RawTable
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.columns import Column
from se_gnn.graph.edge_values import NO_TIME


@dataclass(frozen=True, slots=True, eq=False)
class TypedEdges:
    """The edges of one type, where their table is, and which of its columns are what."""

    type: str
    table: Table
    edges: Edges
    settings: EdgeSettings
    ends: tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class JoinedValues:
    """Edges of all types, [E, 2], what they carry, and what people should know about it."""

    pairs: IntArray
    values: EdgeValues
    summaries: tuple[ColumnSummary, ...]
    warnings: tuple[str, ...]


def join_values(given: Sequence[TypedEdges], *, directed: bool) -> JoinedValues:
    """One type after the other. Where a type has no weight, its edges count 1; where it has no date, they have none."""
    read = [read_edge_values(one.table, one.settings, one.ends, rows=one.edges.rows) for one in given]
    sizes = [len(one.edges.rows) for one in given]
    parts: dict[str, Any] = {
        "type": np.repeat(np.arange(len(given)), sizes).astype(np.int32),
        "type_names": tuple(one.type for one in given),
    }
    if directed:
        parts["direction"] = np.ones(sum(sizes), np.int8)
    for part, missing in (("weight", np.float32(1)), ("time", np.int64(NO_TIME))):
        held = [getattr(one.values, part, None) for one in read]
        if any(array is not None for array in held):
            filled = [np.full(size, missing) if array is None else array for array, size in zip(held, sizes)]
            parts[part] = np.concatenate(filled)
    attributes, columns = _attributes(given, read, sizes)
    if columns:
        names = tuple(name for column in columns for name in column.feature_names)
        parts |= {"attributes": attributes, "columns": columns, "attribute_names": names}
    raw = _raw(given, read)
    roles = {part: column for one in given for part, column in one.settings.roles.items()}
    values = EdgeValues(**parts, raw=raw, names=tuple(roles.items()))
    summaries = [ColumnSummary(name="(type)", kind="type", note=", ".join(_counts(given, sizes)))]
    summaries += [
        dataclasses.replace(column, name=f"{one.type}: {column.name}")
        for one, found in zip(given, read)
        for column in found.summaries
    ]
    pairs = np.concatenate([one.edges.pairs for one in given])
    return JoinedValues(pairs, values, tuple(summaries), tuple(text for one in read for text in one.warnings))


def _counts(given: Sequence[TypedEdges], sizes: Sequence[int]) -> list[str]:
    return [f"{one.type}: {size:,}" for one, size in zip(given, sizes)]


def _attributes(
    given: Sequence[TypedEdges], read: Sequence[EdgeColumns], sizes: Sequence[int]
) -> tuple[FloatArray, tuple[Column, ...]]:
    """The attributes of each type in a block of their own, zeros elsewhere; columns are called by their type."""
    widths = [0 if one.values is None else one.values.num_attributes for one in read]
    attributes = np.zeros((sum(sizes), sum(widths)), np.float32)
    columns: list[Column] = []
    row, first = 0, 0
    for one, found, size, width in zip(given, read, sizes, widths):
        if found.values is not None and found.values.attributes is not None:
            attributes[row : row + size, first : first + width] = found.values.attributes
            columns += [
                dataclasses.replace(column, name=f"{one.type}: {column.name}", first=first + column.first)
                for column in found.values.columns or ()
            ]
        row, first = row + size, first + width
    return attributes, tuple(columns)


def _raw(given: Sequence[TypedEdges], read: Sequence[EdgeColumns]) -> RawTable | None:
    """The cells of all tables; a column of that name in another table is the same column."""
    shown = [() if one.values is None or one.values.raw is None else one.values.raw.columns for one in read]
    whole = list(dict.fromkeys(name for names in shown for name in names))
    if not whole:
        return None
    rows = None
    for one, own in zip(given, shown):
        data = one.table.data.take(pa.array(one.edges.rows))
        cells = {name: data.column(name) if name in own else pa.nulls(len(data), pa.string()) for name in whole}
        block = raw_table(Table(one.table.name, pa.table(cells), tuple(whole)), whole)
        rows = block if rows is None else rows.joined(block)
    return rows
