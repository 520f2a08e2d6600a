"""All attribute columns of a node table: fitted, or encoded as another table was. Shapes: N rows, F features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.datasets.structure import DECIMALS, structure_numbers
from se_gnn.datasets.tables.encoding import KEY, NAMES_ROWS, encode_column, fit_column, fit_structure, join_features
from se_gnn.datasets.tables.leaks import leaking_columns
from se_gnn.datasets.tables.read import Table
from se_gnn.datasets.tables.settings import ImportSettings
from se_gnn.datasets.tables.summary import ColumnSummary
from se_gnn.datasets.tables.values import Parsed, Reading, check_kinds, parse_column
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, Features, FloatArray, IntArray
from se_gnn.graph.columns import CategoryColumn, Column, DateColumn, NumberColumn, StructureColumn


@dataclass(frozen=True, slots=True, eq=False)
class NodeColumns:
    """Columns with their features, [N, F], and what people should know about them."""

    columns: tuple[Column, ...]
    features: Features
    summaries: tuple[ColumnSummary, ...]
    warnings: tuple[str, ...]


def fit_columns(table: Table, names: Sequence[str], settings: ImportSettings, edges: IntArray) -> NodeColumns:
    """Fit an encoding of each column on all rows, and encode them; no label is looked at.

    Where no column says anything about a node, the edges around it do: how many there are, and in how many triangles.
    """
    found = fit_attributes(table, names, settings)
    if found.columns:
        return found
    fitted, features = _fit_structure(table, edges)
    told = (
        f"{table.name} has no column that says something about a node; features are taken from the edges around it: "
        + ", ".join(column.name for column in fitted)
    )
    summaries = [ColumnSummary(name=column.name, kind=column.kind, num_features=1) for column in fitted]
    return NodeColumns(fitted, features, (*found.summaries, *summaries), (*found.warnings, told))


def fit_attributes(table: Table, names: Sequence[str], settings: ImportSettings) -> NodeColumns:
    """Fit an encoding of each column that says something about a node; there may be none, and no features then."""
    check_kinds(table, settings.kinds, names)
    columns: list[Column] = []
    blocks: list[Features] = []
    summaries: list[ColumnSummary] = []
    warnings: list[str] = []
    for name in names:
        parsed = parse_column(table, name, settings.reading, kind=settings.kinds.get(name))
        missing = int(parsed.missing.sum())
        if parsed.note:
            warnings.append(f"column {name!r}: {parsed.note}")
        first = sum(column.size for column in columns)
        keep = name in settings.keep or name in settings.kinds
        column = fit_column(name, parsed, first, text_words=settings.text_words, keep=keep)
        if isinstance(column, str):
            summaries.append(ColumnSummary(name=name, kind="left out", missing=missing, note=column))
            how = f"; --column {name}=keep uses it as an attribute" if column in (KEY, NAMES_ROWS) else ""
            warnings.append(f"column {name!r} is left out: {column}{how}")
            continue
        columns.append(column)
        blocks.append(encode_column(column, parsed))
        summaries.append(
            ColumnSummary(
                name=name, kind=column.kind, num_features=column.size, missing=missing, note=_note(column, parsed)
            )
        )
    features = join_features(blocks) if blocks else np.empty((len(table), 0), np.float32)
    return NodeColumns(tuple(columns), features, tuple(summaries), tuple(warnings))


def leak_warnings(fitted: NodeColumns, labels: IntArray, train: IntArray, seed: int) -> list[str]:
    """Columns that give the class of training rows away."""
    leaks = leaking_columns(
        fitted.columns, fitted.features[train], labels[train], generator=np.random.default_rng(seed)
    )
    return [
        f"column {name!r} alone tells the class of {score:.1%} of the training rows, each class counting the same: is "
        f"it known before the class is? If not, leave it out: --column {name}=ignore"
        for name, score in leaks.items()
    ]


def _fit_structure(table: Table, edges: IntArray) -> tuple[tuple[Column, ...], FloatArray]:
    fitted: list[Column] = []
    blocks = []
    for name, numbers in structure_numbers(edges, len(table)).items():
        column = fit_structure(name, numbers, len(fitted), decimals=DECIMALS[name])
        if column is not None:
            fitted.append(column)
            blocks.append(column.encode(numbers).astype(np.float32))
    if not fitted:
        raise InputError(
            f"{table.name} has no column that says something about a node, and all nodes have the same number of edges "
            "and triangles: there is nothing to tell them apart by"
        )
    return tuple(fitted), np.stack(blocks, axis=1)


def encode_like(table: Table, names: Sequence[str], reading: Reading, like: Graph, edges: IntArray) -> NodeColumns:
    """Encode the rows of a new table as those of ``like`` were; nothing is fitted."""
    if like.columns is None:
        raise InputError(f"{like.name} was not imported from tables: it has no encoding to apply")
    blocks: list[Features] = []
    warnings: list[str] = []
    summaries: list[ColumnSummary] = []
    structure = structure_numbers(edges, len(table)) if isinstance(like.columns[0], StructureColumn) else {}
    for column in like.columns:
        if isinstance(column, StructureColumn):
            blocks.append(column.encode(structure[column.name]).astype(np.float32)[:, None])
            summaries.append(ColumnSummary(name=column.name, kind=column.kind, num_features=1))
            continue
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
    return NodeColumns(like.columns, join_features(blocks), tuple(summaries), tuple(warnings))


def _note(column: Column, parsed: Parsed) -> str:
    """What is worth a word in the summary."""
    if isinstance(column, NumberColumn) and column.log_unit is not None:
        return "heavy tail, compared by magnitude"
    if isinstance(column, CategoryColumn):
        unknown = int(_without_place(column, parsed).sum())
        if unknown:
            where = "share the feature (other)" if column.has_other else "of unknown categories"
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
    told = f"{missing:,} missing values, but none in the rows that the encoding was fitted on: {filled}, unmarked"
    return [f"column {column.name!r}: {told}"]
