"""Several kinds of nodes: one node table per kind, one edge table per type. Shapes: N nodes of all kinds, E edges.

The features are blocks by kind (`se_gnn.datasets.kinds`): a first layer for each kind, and one space after it. One kind
is labeled: the one whose table has the label column.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from se_gnn.datasets.kinds import NodesOfKind, column_name, join_kinds
from se_gnn.datasets.tables.columns import NodeColumns, fit_attributes, leak_warnings
from se_gnn.datasets.tables.edge_columns import EdgeSettings
from se_gnn.datasets.tables.edge_rows import distinct_edges, until_date
from se_gnn.datasets.tables.importing import ABOUT, check_no_warnings, graph_summary, label_warnings
from se_gnn.datasets.tables.joined_values import TypedEdges, join_values
from se_gnn.datasets.tables.nodes import read_captions, read_ids, read_labels, read_split
from se_gnn.datasets.tables.raw import raw_table
from se_gnn.datasets.tables.read import Table, read_table
from se_gnn.datasets.tables.settings import ImportSettings
from se_gnn.datasets.tables.summary import ColumnSummary, Summary
from se_gnn.datasets.tables.typed_edges import EdgesOfType, read_typed_edges
from se_gnn.errors import InputError
from se_gnn.files import commit_files, writing_to
from se_gnn.graph import UNKNOWN, Graph, RawTable
from se_gnn.graph.edges import EdgeReport
from se_gnn.graph.rows import Texts
from se_gnn.graph.split import Split, split_stratified
from se_gnn.graph.storage import ARRAY_FILES, graph_files

__all__ = ["EdgesOfType", "ImportedKinds", "import_kinds"]


@dataclass(frozen=True, slots=True, eq=False)
class ImportedKinds:
    """A graph of several kinds of nodes, what was understood of its tables, and the tables."""

    graph: Graph
    summary: Summary
    nodes: Mapping[str, pa.Table]  # by kind
    edges: Mapping[str, pa.Table]  # by type, the rows that became edges

    def save(self, folder: str | Path) -> None:
        """Write graph and summary into a folder; `se-gnn train` takes it."""
        about = {"summary": self.summary.to_dict()}
        files = {**graph_files(self.graph), ABOUT: json.dumps(about, indent=1, ensure_ascii=False).encode()}
        with writing_to(folder) as path:
            commit_files(path, files, remove=(ARRAY_FILES,))


def import_kinds(
    nodes: Mapping[str, Any],
    edges: Sequence[EdgesOfType],
    settings: ImportSettings,
    *,
    ids: Mapping[str, str] | None = None,
    strict: bool = False,
) -> ImportedKinds:
    """Make a graph of one node table per kind and one edge table per type.

    Args:
        nodes: the table of each kind: a path, a DataFrame, or an Arrow table.
        edges: the table of each type.
        settings: which columns are what; a setting that names a column is for every table that has it.
        ids: the id column of a kind where it is not ``settings.id``.
        strict: a warning is an error.
    """
    _check_given(nodes, edges, settings)
    tables = {
        kind: read_table(table, what=f"nodes {kind}", separator=settings.separator) for kind, table in nodes.items()
    }
    id_columns = {kind: (ids or {}).get(kind, settings.id) for kind in tables}
    names = {kind: read_ids(table, id_columns[kind]) for kind, table in tables.items()}
    labeled = _labeled_kind(tables, settings)
    labels = read_labels(tables[labeled], settings.label, settings.reading, merge=settings.merge_classes)
    split = _split(tables[labeled], settings, labels.classes)
    fitted = {}
    for kind, table in tables.items():
        own = _settings_of(table, id_columns[kind], settings, labeled=kind == labeled)
        attributes = [name for name in table.columns if name not in (*own.taken, *own.ignore)]
        if kind != labeled:
            attributes = [name for name in table.columns if name not in (id_columns[kind], *own.ignore)]
        fitted[kind] = fit_attributes(table, attributes, own), attributes
    joined = join_kinds(
        {
            kind: NodesOfKind(names=names[kind].to_pylist(), features=found.features, columns=found.columns)
            if found.columns
            else NodesOfKind(names=names[kind].to_pylist())
            for kind, (found, _) in fitted.items()
        }
    )
    read, reports, later = _read_edges(edges, settings, names, joined.first)
    whole = join_values(read, directed=settings.directed)
    place = joined.first[labeled]
    classes = np.full(len(joined.names), UNKNOWN, np.int64)
    classes[place : place + len(labels.classes)] = labels.classes
    graph = Graph.build(
        name=settings.name or Path(tables[labeled].name).stem,
        features=joined.features,
        feature_names=joined.feature_names,
        columns=joined.columns,
        edges=whole.pairs,
        edge_values=whole.values,
        labels=classes,
        class_names=labels.names,
        node_names=joined.names,
        node_types=joined.kinds,
        node_type_names=joined.type_names,
        captions=_captions(tables, settings.caption),
        raw=_raw({kind: (tables[kind], shown) for kind, (_, shown) in fitted.items()}),
        train=split.train + place,
        validation=split.validation + place,
        test=split.test + place,
    )
    given, dangling = sum(one.edges.given for one in read), sum(one.edges.dangling for one in read)
    merged = _report([*reports, graph.merged], given - dangling - later)
    graph = graph.replace(edges=dataclasses.replace(graph.edges, merged=merged, verified=True))
    warnings = [*labels.warnings, *label_warnings(graph, None)]
    warnings += [f"{kind}: {warning}" for kind, (found, _) in fitted.items() for warning in found.warnings]
    if fitted[labeled][0].columns:
        warnings += leak_warnings(fitted[labeled][0], labels.classes, split.train, settings.seed)
    warnings += whole.warnings
    if dangling:
        warnings.append(f"{dangling:,} of {given:,} edges name a node that is not there and were left out")
    summary = graph_summary(
        graph,
        nodes_table=", ".join(table.name for table in tables.values()),
        edges_table=", ".join(one.table.name for one in read),
        columns=tuple(_columns(tables, fitted, id_columns, labeled, settings)),
        unused_edge_columns=(),
        split="column " + repr(settings.split) if settings.split else f"drawn by class with seed {settings.seed}",
        edges_given=given,
        edges_dangling=dangling,
        warnings=tuple(warnings),
    )
    counts = {kind: len(table) for kind, table in tables.items()}
    summary = dataclasses.replace(summary, edge_columns=whole.summaries, edges_later=later, node_types=counts)
    if strict:
        check_no_warnings(summary)
    kept = {one.type: one.table.data.take(pa.array(one.edges.rows)) for one in read}
    return ImportedKinds(graph, summary, {kind: table.data for kind, table in tables.items()}, kept)


def _check_given(nodes: Mapping[str, Any], edges: Sequence[EdgesOfType], settings: ImportSettings) -> None:
    if not edges:
        raise InputError("edges: give at least one table, as --edges writes=FILE")
    types = [one.type for one in edges]
    twice = next((name for i, name in enumerate(types) if name in types[:i]), None)
    if twice is not None:
        raise InputError(f"edges {twice!r} are given twice; each type has one table")
    wrong = next((kind for kind in nodes if not kind or ":" in kind), None)
    if wrong is not None:
        raise InputError(f"the name of a kind of nodes must not be empty or hold a colon, got {wrong!r}")
    if settings.split_by_time is not None:
        raise InputError("split_by_time is for one kind of nodes; give the split of several kinds as a column")
    if settings.edge_type is not None:
        raise InputError("edge_type: with several kinds of nodes each type of edge has a table of its own")


def _labeled_kind(tables: Mapping[str, Table], settings: ImportSettings) -> str:
    holding = [kind for kind, table in tables.items() if settings.label in table.columns]
    if not holding:
        raise InputError(
            f"no node table has the label column {settings.label!r}: "
            + "; ".join(f"{kind} has {', '.join(map(repr, table.columns))}" for kind, table in tables.items())
        )
    if len(holding) > 1:
        raise InputError(
            f"the label column {settings.label!r} is in the tables of {' and '.join(holding)}, but one kind is labeled"
            ": rename the others"
        )
    return holding[0]


def _settings_of(table: Table, id: str, settings: ImportSettings, *, labeled: bool) -> ImportSettings:
    """The settings as far as they are about columns of one table."""

    def known(names: Iterable[str]) -> list[str]:
        return [name for name in names if name in table.columns]

    return dataclasses.replace(
        settings,
        id=id,
        split=settings.split if labeled else None,
        ignore=known(settings.ignore),
        keep=known(settings.keep),
        kinds={name: settings.kinds[name] for name in known(settings.kinds)},
    )


def _split(table: Table, settings: ImportSettings, labels: Any) -> Split:
    if settings.split is not None:
        return read_split(table, settings.split, labels)
    return split_stratified(
        labels,
        train=settings.train_share,
        validation=settings.val_share,
        most=settings.max_train,
        generator=np.random.default_rng(settings.seed),
    )


def _read_edges(
    given: Sequence[EdgesOfType], settings: ImportSettings, names: Mapping[str, pa.Array], first: Mapping[str, int]
) -> tuple[list[TypedEdges], list[EdgeReport], int]:
    """The edges of each type, each with what it carries; what was merged; and how many are after the last date."""
    ends = (settings.source, settings.target)
    num_nodes = sum(len(ids) for ids in names.values())
    tables = [
        read_table(one.table, what=f"edges {one.type}", separator=settings.separator, of_edges=True) for one in given
    ]
    wanted = [settings.edge_weight, settings.edge_time, *settings.edge_ignore, *settings.edge_kinds]
    for name in (name for name in wanted if name is not None):
        if not any(name in table.columns for table in tables):
            raise InputError(f"no edge table has a column {name!r}: {', '.join(table.name for table in tables)}")
    read: list[TypedEdges] = []
    reports: list[EdgeReport] = []
    later = 0
    for one, table in zip(given, tables):
        for end in ends:
            table.check_has(end)
        own = _edge_settings(table, settings)
        found = read_typed_edges(one, table, ends, names, first, drop_dangling=settings.drop_dangling)
        if own.time is not None:
            found, after = until_date(table, found, own, settings.until)
            later += after
        distinct, report = distinct_edges(table, found, own, ends, None, num_nodes)
        if report is not None:
            found = distinct
            reports.append(report)
        read.append(TypedEdges(one.type, table, found, own, ends))
    return read, reports, later


def _edge_settings(table: Table, settings: ImportSettings) -> EdgeSettings:
    """The settings as far as they are about columns of one edge table."""
    whole = settings.of_edges
    return dataclasses.replace(
        whole,
        weight=whole.weight if whole.weight in table.columns else None,
        time=whole.time if whole.time in table.columns else None,
        ignore=[name for name in whole.ignore if name in table.columns],
        kinds={name: kind for name, kind in whole.kinds.items() if name in table.columns},
    )


def _report(reports: Sequence[EdgeReport], given: int) -> EdgeReport:
    """What was merged in all."""
    parts = {part: sum(getattr(one, part) for one in reports) for part in ("self_loops", "reciprocal", "duplicates")}
    return EdgeReport(given=given, **parts)


def _captions(tables: Mapping[str, Table], column: str | None) -> tuple[str, ...] | None:
    """What people see for each node; empty where the table of its kind does not have the column."""
    if column is None:
        return None
    if not any(column in table.columns for table in tables.values()):
        raise InputError(f"no node table has the caption column {column!r}")
    return tuple(
        caption
        for table in tables.values()
        for caption in (read_captions(table, column) if column in table.columns else ("",) * len(table))
    )


def _raw(given: Mapping[str, tuple[Table, Sequence[str]]]) -> RawTable:
    """The rows of all tables, columns called by their kind; empty where a node is of another kind."""
    whole = [column_name(kind, name) for kind, (_, shown) in given.items() for name in shown]
    rows = None
    for kind, (table, shown) in given.items():
        own = {column_name(kind, name): table.column(name) for name in shown}
        cells = {name: own.get(name, pa.chunked_array([pa.nulls(len(table), pa.string())])) for name in whole}
        block = raw_table(Table(table.name, pa.table(cells), tuple(whole)), whole) if whole else _no_cells(len(table))
        rows = block if rows is None else rows.joined(block)
    assert rows is not None
    return rows


def _no_cells(count: int) -> RawTable:
    return RawTable(columns=(), codes=np.empty((count, 0), np.int32), texts=Texts.of(()))


def _columns(
    tables: Mapping[str, Table],
    fitted: Mapping[str, tuple[NodeColumns, Sequence[str]]],
    ids: Mapping[str, str],
    labeled: str,
    settings: ImportSettings,
) -> Iterator[ColumnSummary]:
    """What became of each column of each node table, in their order."""
    for kind, table in tables.items():
        found = {column.name: column for column in fitted[kind][0].summaries}
        roles = {ids[kind]: "id"} | ({settings.label: "label", settings.split: "split"} if kind == labeled else {})
        for name in table.columns:
            summary = found.get(name) or ColumnSummary(name=name, kind=roles.get(name, "ignored"))
            yield dataclasses.replace(summary, name=column_name(kind, name))
