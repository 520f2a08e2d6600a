"""All attribute columns of a node table: fitted, or encoded as another table was. Shapes: N rows, F features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.datasets.tables.encoding import encode_column, fit_column
from se_gnn.datasets.tables.leaks import leaking_columns
from se_gnn.datasets.tables.read import Table
from se_gnn.datasets.tables.summary import ColumnSummary
from se_gnn.datasets.tables.values import Parsed, Reading, check_kinds, parse_column
from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import BoolArray, FloatArray, IntArray
from se_gnn.graph.columns import CategoryColumn, Column, DateColumn, NumberColumn


@dataclass(frozen=True, slots=True, eq=False)
class NodeColumns:
    """Columns with their features, [N, F], and what people should know about them."""

    columns: tuple[Column, ...]
    features: FloatArray
    summaries: tuple[ColumnSummary, ...]
    warnings: tuple[str, ...]


def fit_columns(
    table: Table,
    names: Sequence[str],
    reading: Reading,
    kinds: dict[str, str],
    labels: IntArray,
    train: IntArray,
    seed: int,
) -> NodeColumns:
    """Fit an encoding of each column on the training rows, and encode all rows."""
    check_kinds(table, kinds, names)
    is_train = np.zeros(len(table), dtype=bool)
    is_train[train] = True
    columns: list[Column] = []
    blocks: list[FloatArray] = []
    summaries: list[ColumnSummary] = []
    warnings: list[str] = []
    for name in names:
        parsed = parse_column(table, name, reading, kind=kinds.get(name))
        missing = int(parsed.missing.sum())
        if parsed.note:
            warnings.append(f"column {name!r}: {parsed.note}")
        column = fit_column(name, parsed, is_train, sum(column.size for column in columns))
        if isinstance(column, str):
            summaries.append(ColumnSummary(name=name, kind="left out", missing=missing, note=column))
            warnings.append(f"column {name!r} is left out: {column}")
            continue
        columns.append(column)
        blocks.append(encode_column(column, parsed))
        summaries.append(
            ColumnSummary(
                name=name, kind=column.kind, num_features=column.size, missing=missing, note=_note(column, parsed)
            )
        )
        warnings += _unmarked(column, parsed)
    if not columns:
        raise InputError(f"{table.name} has no column that can become a feature, besides id, label and split")
    features = np.concatenate(blocks, axis=1)
    leaks = leaking_columns(tuple(columns), features[train], labels[train], generator=np.random.default_rng(seed))
    warnings += [
        f"column {name!r} alone tells the class of {score:.1%} of the training rows, each class counting the same: is "
        f"it known before the class is? If not, leave it out: --ignore {name}"
        for name, score in leaks.items()
    ]
    return NodeColumns(tuple(columns), features, tuple(summaries), tuple(warnings))


def encode_like(table: Table, names: Sequence[str], reading: Reading, like: AttributedGraph) -> NodeColumns:
    """Encode the rows of a new table as those of ``like`` were; nothing is fitted."""
    if like.columns is None:
        raise InputError(f"{like.name} was not imported from tables: it has no encoding to apply")
    blocks, warnings = [], []
    summaries: list[ColumnSummary] = []
    for column in like.columns:
        known = Reading(decimal=getattr(column, "decimal_point", reading.decimal), missing=reading.missing)
        pattern = column.pattern if isinstance(column, DateColumn) else None
        parsed = parse_column(table, column.name, known, kind=column.kind, pattern=pattern)
        blocks.append(encode_column(column, parsed))
        summaries.append(
            ColumnSummary(
                name=column.name,
                kind=column.kind,
                num_features=column.size,
                missing=int(parsed.missing.sum()),
                note=_note(column, parsed),
            )
        )
        warnings += _unmarked(column, parsed)
    used = {column.name for column in like.columns}
    summaries += [
        ColumnSummary(name=name, kind="left out", note="not part of the encoding") for name in names if name not in used
    ]
    return NodeColumns(like.columns, np.concatenate(blocks, axis=1), tuple(summaries), tuple(warnings))


def _note(column: Column, parsed: Parsed) -> str:
    """What is worth a word in the summary."""
    if isinstance(column, NumberColumn) and column.log_unit is not None:
        return "heavy tail, compared by magnitude"
    if isinstance(column, CategoryColumn):
        unknown = int(_without_place(column, parsed).sum())
        if unknown:
            where = "share the feature (other)" if column.has_other else "of categories that no training row has"
            return f"{unknown:,} rows {where}"
    return ""


def _without_place(column: CategoryColumn, parsed: Parsed) -> BoolArray:
    known = pc.is_in(parsed.texts, value_set=pa.array(column.categories, pa.string()))
    rows: BoolArray = ~known.to_numpy(zero_copy_only=False) & ~parsed.missing
    return rows


def _unmarked(column: Column, parsed: Parsed) -> list[str]:
    missing = int(parsed.missing.sum())
    if column.marked or not missing:
        return []
    filled = "filled with the mean" if column.kind in ("number", "boolean", "date") else "without a category or a word"
    return [f"column {column.name!r}: {missing:,} missing values, but none in the training rows: {filled}, unmarked"]
