"""The columns of an edge table besides its ends: weight, type, time, and attributes. Shapes: E edges, A attributes.

Every column is read over all rows, so that an error names the row of the file, and fitted on those that become edges.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.datasets.tables.edge_times import read_times
from se_gnn.datasets.tables.encoding import KEY, NAMES_ROWS, encode_column, fit_column
from se_gnn.datasets.tables.raw import raw_table
from se_gnn.datasets.tables.read import Table, such_rows
from se_gnn.datasets.tables.summary import ColumnSummary
from se_gnn.datasets.tables.values import Parsed, Reading, as_names, check_kinds, parse_column
from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import EdgeValues
from se_gnn.graph.arrays import Features, FloatArray, IntArray
from se_gnn.graph.columns import MISSING, Column, DateColumn
from se_gnn.graph.edge_values import NO_TIME, encoded_types

TEXT_WORDS = 50  # of a text column of edges: their attributes are kept dense


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSettings:
    """Which columns of an edge table are what.

    Args:
        directed: an edge leads from its source to its target; else it has no direction.
        weight: column that says how much an edge counts, numbers above 0; None: all the same.
        type: column with the type of an edge; None: all are of one type.
        time: column with the date of an edge, or seconds since 1970; None: no edge has one.
        ignore: columns to leave out. All others are attributes.
        kinds: what a column is, where it is not understood right: number, boolean, category, date or text.
        reading: how text is read.
    """

    directed: bool = False
    weight: str | None = None
    type: str | None = None
    time: str | None = None
    ignore: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    reading: Reading = Reading()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        named = list(self.roles.values())
        if len(set(named)) < len(named):
            raise InputError(f"weight, type and time of an edge must be different columns, got {named}")
        both = next((name for name in named if name in self.ignore), None)
        if both is not None:
            raise InputError(f"column {both!r} of the edges cannot be ignored: it is the weight, the type or the time")

    @property
    def roles(self) -> dict[str, str]:
        """The column of each part of the edge values."""
        given = {"weight": self.weight, "type": self.type, "time": self.time}
        return {part: column for part, column in given.items() if column is not None}

    def as_before(self, values: EdgeValues) -> EdgeSettings:
        """The same with the direction and the columns that edge values had before."""
        called = dict(values.names)
        return dataclasses.replace(
            self,
            directed=values.direction is not None,
            weight=called.get("weight"),
            type=called.get("type"),
            time=called.get("time"),
            ignore=(),
            kinds={},
        )


@dataclass(frozen=True, slots=True, eq=False)
class EdgeColumns:
    """Edge values, None where the table has nothing but ends, and what people should know about them."""

    values: EdgeValues | None
    summaries: tuple[ColumnSummary, ...] = ()
    warnings: tuple[str, ...] = ()


def read_edge_values(
    table: Table, settings: EdgeSettings, ends: Sequence[str], *, rows: IntArray | None = None
) -> EdgeColumns:
    """Read and fit the values of the edges in some rows; None: of all."""
    shown = shown_columns(table, settings, ends)
    others = [name for name in shown if name not in settings.roles.values()]
    check_kinds(table, settings.kinds, others)
    taken = np.arange(len(table)) if rows is None else rows
    parts = _parts(table, settings, taken)
    fitted = [_fit(table, name, settings, taken) for name in others]
    columns, blocks, first = [], [], 0
    for one in fitted:
        if one.column is not None:
            columns.append(dataclasses.replace(one.column, first=first))
            blocks.append(_dense(encode_column(one.column, one.parsed)))
            first += one.column.size
    if columns:
        parts |= {"attributes": np.concatenate(blocks, axis=1), "columns": tuple(columns)}
    warnings = [warning for one in fitted for warning in one.warnings]
    summaries = (*_role_summaries(table, settings, parts), *(one.summary for one in fitted))
    return EdgeColumns(_values(table, settings, parts, shown, taken), summaries, (*_undated(table, parts), *warnings))


def encode_edge_values(
    table: Table, settings: EdgeSettings, ends: Sequence[str], like: EdgeValues, *, rows: IntArray | None = None
) -> EdgeColumns:
    """Values of the edges in some rows as those of ``like`` were read; nothing is fitted.

    A type that ``like`` does not have is an error: nothing was learned about it.
    """
    settings = settings.as_before(like)
    taken = np.arange(len(table)) if rows is None else rows
    parts = _parts(table, settings, taken, like.type_names or None)
    summaries = list(_role_summaries(table, settings, parts))
    if like.attributes is not None:
        blocks = []
        for column in like.columns or ():
            known = Reading(
                decimal=getattr(column, "decimal_point", settings.reading.decimal), missing=settings.reading.missing
            )
            pattern = column.pattern if isinstance(column, DateColumn) else None
            parsed = _some(parse_column(table, column.name, known, kind=column.kind, pattern=pattern), taken)
            blocks.append(_dense(encode_column(column, parsed)))
            missing = int(parsed.missing.sum())
            summaries.append(
                ColumnSummary(name=column.name, kind=column.kind, num_features=column.size, missing=missing)
            )
        if not blocks:
            raise InputError(
                "the edges of the graph have attributes that did not come from a table, so that rows of a table cannot "
                "be encoded"
            )
        parts |= {"attributes": np.concatenate(blocks, axis=1), "columns": like.columns}
    data = table.data
    for name in shown_before(like):
        if name not in table.columns:
            data = data.append_column(name, pa.nulls(len(table), pa.string()))
    whole = Table(table.name, data, tuple(data.column_names))
    values = _values(whole, settings, parts, shown_before(like), taken)
    if values is not None:
        values = dataclasses.replace(values, type_verbs=like.type_verbs)
    return EdgeColumns(values, tuple(summaries), tuple(_undated(table, parts)))


def shown_columns(table: Table, settings: EdgeSettings, ends: Sequence[str]) -> list[str]:
    """Columns whose cells are kept to be shown: all but the ends and those to ignore."""
    for name in (*settings.roles.values(), *settings.ignore):
        table.check_has(name)
        if name in ends:
            raise InputError(f"{table.name}: column {name!r} is an end of the edges, it cannot be anything else")
    return [name for name in table.columns if name not in (*ends, *settings.ignore)]


def shown_before(values: EdgeValues) -> tuple[str, ...]:
    """Columns whose cells are shown of edges that were read before."""
    return () if values.raw is None else values.raw.columns


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    column: Column | None
    parsed: Parsed
    summary: ColumnSummary
    warnings: tuple[str, ...] = ()


def _fit(table: Table, name: str, settings: EdgeSettings, rows: IntArray) -> _Fitted:
    kind = settings.kinds.get(name)
    parsed = _some(parse_column(table, name, settings.reading, kind=kind), rows)
    missing = int(parsed.missing.sum())
    told = (f"edge column {name!r}: {parsed.note}",) if parsed.note else ()
    column = fit_column(name, parsed, 0, text_words=TEXT_WORDS, keep=kind is not None)
    if isinstance(column, str):
        how = f"; --edge-column {name}={parsed.kind} uses it" if column in (KEY, NAMES_ROWS) else ""
        return _Fitted(
            None, parsed, ColumnSummary(name=name, kind="left out", missing=missing, note=column + how), told
        )
    summary = ColumnSummary(name=name, kind=column.kind, num_features=column.size, missing=missing)
    return _Fitted(column, parsed, summary, told)


def _parts(
    table: Table, settings: EdgeSettings, rows: IntArray, known_types: Sequence[str] | None = None
) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if settings.directed:
        parts["direction"] = np.ones(len(rows), np.int8)
    if settings.weight is not None:
        parts["weight"] = _weights(table, settings.weight, settings.reading)[rows]
    if settings.type is not None:
        types, names = _types(table, settings.type, settings.reading, rows, known_types)
        parts |= {"type": types, "type_names": names}
    if settings.time is not None:
        parts["time"] = read_times(table, settings.time, settings.reading)[rows]
    return parts


def _weights(table: Table, name: str, reading: Reading) -> FloatArray:
    parsed = parse_column(table, name, reading, kind="number")
    assert parsed.numbers is not None
    numbers = parsed.numbers
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        weights: FloatArray = numbers.astype(np.float32)
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(wrong):
        row = int(wrong[0])
        if parsed.missing[row]:
            text = "an edge without a weight; write 1 for one that counts as any other"
        else:
            text = f"a weight must be above 0, got {numbers[row]:g}; leave out an edge that does not count"
        raise table.error(name, row, f"{text} ({such_rows(len(wrong))})")
    return weights


def _types(
    table: Table, name: str, reading: Reading, rows: IntArray, known: Sequence[str] | None
) -> tuple[Any, tuple[str, ...]]:
    texts = as_names(table, name, reading)
    if known is None:
        return encoded_types(texts.take(pa.array(rows)).to_pylist())
    named = pc.fill_null(texts, MISSING)
    places = pc.fill_null(pc.index_in(named, value_set=pa.array(known, pa.string())), -1)
    kinds = places.to_numpy(zero_copy_only=False).astype(np.int32)
    unknown = rows[kinds[rows] < 0]
    if len(unknown):
        row = int(unknown[0])
        text = named[row].as_py()
        hint = did_you_mean(text, known)
        raise table.error(
            name, row, f"{text!r} is not a type of edge that the model knows: {', '.join(map(repr, known))}{hint}"
        )
    return kinds[rows], tuple(known)


def _values(
    table: Table,
    settings: EdgeSettings,
    parts: dict[str, Any],
    shown: Sequence[str],
    rows: IntArray,
) -> EdgeValues | None:
    """The edge values, with the cells that are shown; None where there is nothing but ends and cells to show."""
    if not parts:
        return None
    if shown:
        parts["raw"] = raw_table(dataclasses.replace(table, data=table.data.take(pa.array(rows))), shown)
    if parts.get("columns"):
        parts["attribute_names"] = tuple(name for column in parts["columns"] for name in column.feature_names)
    return EdgeValues(**parts, names=tuple(settings.roles.items()))


def _role_summaries(table: Table, settings: EdgeSettings, parts: dict[str, Any]) -> list[ColumnSummary]:
    notes = {}
    if "weight" in parts and len(parts["weight"]):
        notes["weight"] = f"from {parts['weight'].min():g} to {parts['weight'].max():g}"
    if "type" in parts:
        counts = np.bincount(parts["type"], minlength=len(parts["type_names"]))
        notes["type"] = ", ".join(f"{name}: {count:,}" for name, count in zip(parts["type_names"], counts.tolist()))
    if "time" in parts and (parts["time"] != NO_TIME).any():
        dated = parts["time"][parts["time"] != NO_TIME]
        low, high = (str(np.datetime64(int(time), "s").astype("datetime64[D]")) for time in (dated.min(), dated.max()))
        notes["time"] = f"from {low} to {high}"
    return [ColumnSummary(name=name, kind=part, note=notes.get(part, "")) for part, name in settings.roles.items()]


def _undated(table: Table, parts: dict[str, Any]) -> list[str]:
    undated = int((parts["time"] == NO_TIME).sum()) if "time" in parts else 0
    return [f"{undated:,} edges of {table.name} have no date: they are taken as always there"] if undated else []


def _some(parsed: Parsed, rows: IntArray) -> Parsed:
    """The values of some rows."""
    numbers = None if parsed.numbers is None else parsed.numbers[rows]
    texts = None if parsed.texts is None else parsed.texts.take(pa.array(rows))
    return dataclasses.replace(parsed, numbers=numbers, texts=texts, missing=parsed.missing[rows])


def _dense(features: Features) -> FloatArray:
    return features if isinstance(features, np.ndarray) else np.asarray(features.toarray(), np.float32)
