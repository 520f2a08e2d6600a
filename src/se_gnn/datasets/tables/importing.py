"""From a node table and an edge table to a graph: the order of the steps, and what is kept of them."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from se_gnn.datasets.tables.columns import NodeColumns, encode_like, fit_columns, leak_warnings
from se_gnn.datasets.tables.edge_rows import distinct_edges, edge_values, until_date
from se_gnn.datasets.tables.edge_times import first_times, read_times
from se_gnn.datasets.tables.edges import Edges, read_edges
from se_gnn.datasets.tables.nodes import read_captions, read_ids, read_labels, read_split
from se_gnn.datasets.tables.raw import raw_table
from se_gnn.datasets.tables.read import Table, read_table
from se_gnn.datasets.tables.settings import ImportSettings, Roles
from se_gnn.datasets.tables.summary import ColumnSummary, Summary, homophily
from se_gnn.errors import InputError
from se_gnn.files import SMALL, commit_files, parse_json, read_current, writing_to
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.columns import StructureColumn
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.graph.split import Split, split_by_time, split_stratified
from se_gnn.graph.storage import ARRAY_FILES, graph_files, load_graph

TABLE = "nodes.parquet"
EDGE_TABLE = "edges.parquet"  # where edges carry values
ABOUT = "import.json"
FIRST_EDGE = "edges"  # in place of a column: the date of a node is that of its first edge
FEW_LABELED = 3  # of a class, below which a vote rests on chance
MOST_CLASSES_WARNED = 3  # of each, in a warning of its own; more share one


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """A graph, what was understood of its tables, and the node table itself, as it was given."""

    graph: Graph
    summary: Summary
    nodes: pa.Table
    roles: Roles
    edges: pa.Table | None = None  # its rows, in the order of the graph, where edges carry values

    def to_tables(self) -> tuple[pa.Table, pa.Table]:
        """Node table and edge table; importing them with the same settings and the split column gives the same graph.

        The node table is the one that was given, value by value; a split that was drawn is added as a column. The edge
        table has each undirected edge once, by the ids of the node table; where edges carry values, it is the table
        that was given, without the rows that were merged or left out.
        """
        nodes, graph = self.nodes, self.graph
        if self.roles.split is None:
            parts = np.full(graph.num_nodes, "", dtype=object)
            for part, chosen in graph.split.items():
                parts[chosen] = part
            nodes = nodes.append_column(self.split_column, pa.array(parts, pa.string()))
        if self.edges is not None:
            return nodes, self.edges
        ids = nodes.column(self.roles.id).combine_chunks()
        ends = [ids.take(pa.array(graph.edges.ends[:, end])) for end in (0, 1)]
        return nodes, pa.table(ends, names=[self.roles.source, self.roles.target])

    @property
    def split_column(self) -> str:
        """The column of :meth:`to_tables` that holds the split."""
        if self.roles.split is not None:
            return self.roles.split
        name = "split"
        while name in self.nodes.column_names:
            name += "_"
        return name

    def save(self, folder: str | Path) -> None:
        """Write graph, node table and summary into a folder; `se-gnn train` takes it, :func:`load_import` too."""
        about = {"roles": dataclasses.asdict(self.roles), "summary": self.summary.to_dict()}
        files = {
            **graph_files(self.graph),
            TABLE: _parquet(self.nodes),
            **({} if self.edges is None else {EDGE_TABLE: _parquet(self.edges)}),
            ABOUT: json.dumps(about, indent=1, ensure_ascii=False).encode(),
        }
        with writing_to(folder) as path:
            commit_files(path, files, remove=(ARRAY_FILES,))


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pa_parquet.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def load_import(folder: str | Path) -> Imported:
    """What :meth:`Imported.save` wrote."""
    path = Path(folder)
    graph = load_graph(path)
    about = parse_json(read_current(path, ABOUT, limit=SMALL), path / ABOUT)
    try:
        summary = dict(about["summary"])
        for name in ("columns", "edge_columns"):
            summary[name] = tuple(ColumnSummary(**column) for column in summary.get(name, ()))
        summary |= {name: tuple(summary[name]) for name in ("unused_edge_columns", "warnings")}
        nodes = pa_parquet.read_table(pa.BufferReader(read_current(path, TABLE)))
        edges = None
        if graph.edge_values is not None:
            edges = pa_parquet.read_table(pa.BufferReader(read_current(path, EDGE_TABLE)))
        roles = {**about["roles"], "edge_ignore": tuple(about["roles"].get("edge_ignore", ()))}
        return Imported(graph, Summary(**summary), nodes, Roles(**roles), edges)
    except (KeyError, TypeError, pa.ArrowException) as error:
        raise InputError(f"the import in {path} cannot be read: {error}") from error


def import_tables(
    nodes: Any, edges: Any, settings: ImportSettings, *, like: Graph | None = None, strict: bool = False
) -> Imported:
    """Make a graph of a node table and an edge table.

    Args:
        nodes: one row per node: path of a CSV or Parquet file, a pandas DataFrame, or an Arrow table.
        edges: one row per edge, given in the same ways.
        settings: which columns are what, and how they are read.
        like: a graph that was imported before: its encoding and its classes are used, nothing is fitted. Without
            a split column, its nodes keep their part by their names, and nodes that got a label since then test; where
            none of those who voted is there, all labeled nodes vote.
        strict: a warning is an error.
    """
    given = settings
    node_table = read_table(nodes, what="nodes", separator=given.separator)
    for column in (*given.taken, *given.ignore, *given.keep, *([given.caption] if given.caption else [])):
        node_table.check_has(column)
    edge_table = read_table(edges, what="edges", separator=given.separator, of_edges=True)
    for end in (given.source, given.target):
        edge_table.check_has(end)
    ids = read_ids(node_table, given.id)
    classes = None if like is None else like.class_names
    labels = read_labels(node_table, given.label, given.reading, classes, merge=given.merge_classes)
    found = read_edges(
        edge_table, given.source, given.target, ids, nodes=node_table.name, drop_dangling=given.drop_dangling
    )
    found, later = until_date(edge_table, found, given.of_edges, given.until)
    parts = _split(node_table, given, labels.classes, like, ids.to_pylist(), (edge_table, found))
    ends = (given.source, given.target)
    distinct, merged = distinct_edges(edge_table, found, given.of_edges, ends, like, len(ids))
    of_edges = edge_values(edge_table, distinct, given.of_edges, ends, like)
    if of_edges.values is None:
        merged = None
    else:
        found = distinct
    attributes = [column for column in node_table.columns if column not in (*given.taken, *given.ignore)]
    if like is None:
        fitted = fit_columns(node_table, attributes, given, found.pairs)
        leaks = leak_warnings(fitted, labels.classes, parts.train, given.seed)
    else:
        fitted = encode_like(node_table, attributes, given.reading, like, found.pairs)
        leaks = []
    graph = Graph.build(
        name=given.name or Path(node_table.name).stem,
        features=fitted.features,
        feature_names=[feature for column in fitted.columns for feature in column.feature_names],
        columns=fitted.columns,
        edges=found.pairs,
        edge_values=of_edges.values,
        labels=labels.classes,
        class_names=labels.names,
        node_names=ids.to_pylist(),
        captions=None if given.caption is None else read_captions(node_table, given.caption),
        raw=raw_table(node_table, attributes),
        train=parts.train,
        validation=parts.validation,
        test=parts.test,
    )
    if merged is not None:
        graph = graph.replace(edges=dataclasses.replace(graph.edges, merged=merged, verified=True))
    graph = _with_calibration_of(like, graph)
    warnings = [*labels.warnings, *label_warnings(graph, like), *fitted.warnings, *leaks, *of_edges.warnings]
    if found.dangling:
        warnings.append(f"{found.dangling:,} of {found.given:,} edges name a node that is not there and were left out")
    summary = _summary(graph, node_table, edge_table, given, fitted, found, _how_split(given, like), tuple(warnings))
    summary = dataclasses.replace(summary, edge_columns=of_edges.summaries, edges_later=later)
    if strict:
        check_no_warnings(summary)
    rows = None if merged is None else edge_table.data.take(pa.array(found.rows))
    return Imported(graph, summary, node_table.data, given.roles, rows)


def check_no_warnings(summary: Summary) -> None:
    """What ``strict`` asks for."""
    if summary.warnings:
        listed = "".join(f"\n  - {warning}" for warning in summary.warnings)
        raise InputError(f"strict: {len(summary.warnings)} warnings, nothing is written:{listed}")


def _split(
    table: Table,
    settings: ImportSettings,
    labels: IntArray,
    like: Graph | None,
    names: list[str],
    edges: tuple[Table, Edges],
) -> Split:
    """The split that a column gives, or the one of the graph before, by the names of the nodes; else it is drawn.

    Nodes that got their label since then test. Where nobody who voted before is there, all labeled nodes vote.
    """
    if settings.split is not None:
        return read_split(table, settings.split, labels)
    if like is None and settings.split_by_time is not None:
        times = _node_times(table, settings, edges, len(labels))
        train_share, val_share, most = settings.train_share, settings.val_share, settings.max_train
        return split_by_time(labels, times, train=train_share, validation=val_share, most=most, unknown=NO_TIME)
    if like is None:
        generator = np.random.default_rng(settings.seed)
        train_share, val_share = settings.train_share, settings.val_share
        return split_stratified(
            labels, train=train_share, validation=val_share, most=settings.max_train, generator=generator
        )
    known = np.flatnonzero(labels != UNKNOWN)
    train, val, held = (_known_before(like, part, known, names) for part in ("train", "validation", "calibration"))
    if not len(train):
        return Split(train=known)
    return Split(train, val, np.setdiff1d(known, np.concatenate([train, val, held])))


def _node_times(table: Table, settings: ImportSettings, edges: tuple[Table, Edges], num_nodes: int) -> IntArray:
    """When each node came to be: by a column of its table, or by its first edge."""
    column = settings.split_by_time
    assert column is not None
    if column in table.columns:
        return read_times(table, column, settings.reading)
    if column != FIRST_EDGE:
        table.check_has(column)
    if settings.edge_time is None:
        raise InputError(f"split_by_time {FIRST_EDGE!r} needs edge_time, the column of the edge table with the dates")
    edge_table, found = edges
    times = read_times(edge_table, settings.edge_time, settings.reading)[found.rows]
    return first_times(found.pairs, times, num_nodes)


def _known_before(like: Graph, part: str, nodes: IntArray, names: list[str]) -> IntArray:
    """Those of some nodes that are in a part of the split of the graph before, by their names."""
    then = {like.node_names[node] for node in getattr(like, part)}
    return np.array([node for node in nodes if names[node] in then], dtype=np.int64)


def _with_calibration_of(like: Graph | None, graph: Graph) -> Graph:
    """The graph with the calibration nodes of the one before, as far as they are in no other part."""
    if like is None or not len(like.calibration):
        return graph
    others = np.concatenate([graph.train, graph.validation, graph.test])
    free = np.setdiff1d(np.flatnonzero(graph.labels != UNKNOWN), others)
    held = _known_before(like, "calibration", free, list(graph.node_names))
    return graph.replace(split=dataclasses.replace(graph.split, calibration=held))


def _how_split(settings: ImportSettings, like: Graph | None) -> str:
    if settings.split is not None:
        return f"column {settings.split!r}"
    if like is not None:
        return "those who voted before vote"
    if settings.split_by_time is not None:
        edges = settings.split_by_time == FIRST_EDGE
        what = "first edge of each node" if edges else f"column {settings.split_by_time!r}"
        return f"by time, the latest test: {what}"
    most = f", at most {settings.max_train:,} of a class" if settings.max_train else ""
    return f"drawn by class with seed {settings.seed}{most}"


def label_warnings(graph: Graph, like: Graph | None) -> list[str]:
    """Classes with so few labeled nodes that a vote for them rests on chance."""
    counts = np.bincount(graph.labels[graph.train], minlength=graph.num_classes)
    if like is not None and not len(graph.train):
        return ["no node is labeled: nobody can vote; a table for prediction holds the labeled nodes, too"]
    few = [(name, count) for name, count in zip(graph.class_names, counts.tolist()) if count < FEW_LABELED]
    if len(few) > MOST_CLASSES_WARNED:
        listed = ", ".join(f"{name!r} {count}" for name, count in few[:MOST_CLASSES_WARNED])
        return [
            f"{len(few):,} of {graph.num_classes:,} classes have fewer than {FEW_LABELED} training rows ({listed}, and "
            f"{len(few) - MOST_CLASSES_WARNED:,} more): a vote for them rests on chance; label more of them"
        ]
    return [
        f"class {name!r} has {count} training {'row' if count == 1 else 'rows'}: a vote for it rests on chance; label "
        "more of them, or empty these labels"
        for name, count in few
    ]


def _summary(
    graph: Graph,
    nodes: Table,
    edges: Table,
    settings: ImportSettings,
    fitted: NodeColumns,
    found: Edges,
    how: str,
    warnings: tuple[str, ...],
) -> Summary:
    known = {settings.id: "id", settings.label: "label", settings.split: "split"}
    by_name = {column.name: column for column in fitted.summaries}
    by_name |= {name: ColumnSummary(name=name, kind="ignored") for name in settings.ignore}
    columns = [by_name.get(name) or ColumnSummary(name=name, kind=known[name]) for name in nodes.columns]
    columns = [_with_caption(column) if column.name == settings.caption else column for column in columns]
    columns += [column for column in fitted.summaries if column.kind == StructureColumn.kind]
    return graph_summary(
        graph,
        nodes_table=nodes.name,
        edges_table=edges.name,
        columns=tuple(columns),
        unused_edge_columns=_unused(graph, edges, settings),
        split=how,
        edges_given=found.given,
        edges_dangling=found.dangling,
        warnings=warnings,
    )


def graph_summary(graph: Graph, **known: Any) -> Summary:
    """What can be counted in a graph, besides what is known of its tables."""
    counts = np.bincount(graph.labels[graph.labels != UNKNOWN], minlength=graph.num_classes)
    share, chance = homophily(graph)
    return Summary(
        num_nodes=graph.num_nodes,
        num_features=graph.num_features,
        directed=graph.edge_values is not None and graph.edge_values.direction is not None,
        parallel=graph.num_edges - len(np.unique(graph.edges.ends, axis=0)) if graph.edge_values is not None else 0,
        classes=dict(zip(graph.class_names, counts.tolist())),
        unlabeled=int((graph.labels == UNKNOWN).sum()),
        num_train=len(graph.train),
        num_val=len(graph.validation),
        num_test=len(graph.test),
        edges_duplicate=graph.merged.duplicates,
        edges_reciprocal=graph.merged.reciprocal,
        self_loops=graph.merged.self_loops,
        num_edges=graph.num_edges,
        isolated=int((graph.degrees == 0).sum()),
        degree_mean=float(graph.degrees.mean()),
        degree_max=int(graph.degrees.max()),
        homophily=share,
        homophily_by_chance=chance,
        **known,
    )


def _unused(graph: Graph, edges: Table, settings: ImportSettings) -> tuple[str, ...]:
    """Columns of the edge table that the graph does not carry."""
    carried = () if graph.edge_values is None or graph.edge_values.raw is None else graph.edge_values.raw.columns
    return tuple(name for name in edges.columns if name not in (settings.source, settings.target, *carried))


def _with_caption(column: ColumnSummary) -> ColumnSummary:
    note = f"caption of the nodes; {column.note}" if column.note else "caption of the nodes"
    return dataclasses.replace(column, note=note)
