"""From a node table and an edge table to a graph: the order of the steps, and what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from se_gnn.datasets.split import Split, split_stratified
from se_gnn.datasets.tables.columns import NodeColumns, encode_like, fit_columns
from se_gnn.datasets.tables.edges import Edges, read_edges
from se_gnn.datasets.tables.nodes import read_ids, read_labels, read_split
from se_gnn.datasets.tables.read import Table, read_table
from se_gnn.datasets.tables.summary import ColumnSummary, Summary, homophily
from se_gnn.datasets.tables.values import Reading
from se_gnn.errors import InputError
from se_gnn.files import SMALL, commit_files, parse_json, read_current, writing_to
from se_gnn.graph import UNKNOWN, AttributedGraph
from se_gnn.graph.attributed import IntArray
from se_gnn.graph.store import graph_files, load_graph

TABLE = "nodes.parquet"
ABOUT = "import.json"
MOST_TRAIN = 200  # of a class, in a drawn split
FEW_LABELED = 3  # of a class, below which a vote rests on chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which columns are what."""

    id: str
    label: str
    source: str
    target: str
    split: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """A graph, what was understood of its tables, and the node table itself, as it was given."""

    graph: AttributedGraph
    summary: Summary
    nodes: pa.Table
    roles: Roles

    def to_tables(self) -> tuple[pa.Table, pa.Table]:
        """Node table and edge table; importing them with ``roles`` and the split column gives the same graph.

        The node table is the one that was given, value by value; a split that was drawn is added as a column. The edge
        table has each undirected edge once, by the ids of the node table.
        """
        nodes, graph = self.nodes, self.graph
        if self.roles.split is None:
            parts = np.full(graph.num_nodes, "", dtype=object)
            for part in ("train", "val", "test"):
                parts[getattr(graph, part)] = part
            nodes = nodes.append_column(self.split_column, pa.array(parts, pa.string()))
        ids = nodes.column(self.roles.id).combine_chunks()
        ends = [ids.take(pa.array(graph.edges[:, end])) for end in (0, 1)]
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
        sink = pa.BufferOutputStream()
        pa_parquet.write_table(self.nodes, sink)
        about = {"roles": _plain(self.roles), "summary": self.summary.to_dict()}
        files = {
            **graph_files(self.graph),
            TABLE: sink.getvalue().to_pybytes(),
            ABOUT: json.dumps(about, indent=1, ensure_ascii=False).encode(),
        }
        with writing_to(folder) as path:
            commit_files(path, files)


def load_import(folder: str | Path) -> Imported:
    """What :meth:`Imported.save` wrote."""
    path = Path(folder)
    graph = load_graph(path)
    about = parse_json(read_current(path, ABOUT, limit=SMALL), path / ABOUT)
    try:
        summary = dict(about["summary"])
        summary["columns"] = tuple(ColumnSummary(**column) for column in summary["columns"])
        summary |= {name: tuple(summary[name]) for name in ("unused_edge_columns", "warnings")}
        nodes = pa_parquet.read_table(pa.BufferReader(read_current(path, TABLE)))
        return Imported(graph, Summary(**summary), nodes, Roles(**about["roles"]))
    except (KeyError, TypeError, pa.ArrowException) as error:
        raise InputError(f"the import in {path} cannot be read: {error}") from error


def import_tables(
    nodes: Any,
    edges: Any,
    *,
    id: str,
    label: str,
    source: str = "source",
    target: str = "target",
    split: str | None = None,
    like: AttributedGraph | None = None,
    train_share: float = 0.6,
    val_share: float = 0.2,
    max_train: int | None = MOST_TRAIN,
    seed: int = 0,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    drop_dangling: bool = False,
    strict: bool = False,
    separator: str | None = None,
    decimal: str = ".",
    missing: Sequence[str] = (),
    name: str | None = None,
) -> Imported:
    """Make a graph of a node table and an edge table.

    Args:
        nodes: a row a node: path of a CSV or Parquet file, a pandas DataFrame, or an Arrow table.
        edges: a row an edge, given in the same ways.
        id: column of ``nodes`` that names them.
        label: column of ``nodes`` with the class; empty where it is not known.
        source: column of ``edges`` with one end.
        target: column of ``edges`` with the other end.
        split: column of ``nodes`` that says train, val, test or nothing; None: the split is drawn.
        like: a graph that was imported before: its encoding and its classes are used, nothing is fitted. Without
            ``split``, its nodes keep their part by their names, and nodes that got a label since then test; where none
            of those who voted is there, all labeled nodes vote.
        train_share: share of the labeled nodes of each class that a drawn split gives to training.
        val_share: the same for validation.
        max_train: the most nodes of a class that a drawn split gives to training, and to validation: the time of a
            training grows with the square of the labeled nodes, and a class that is a hundred times as large as another
            would outvote it. Those beyond are in no part. None: no limit.
        seed: draws the split.
        ignore: columns of ``nodes`` to leave out.
        kinds: what a column is, where it is not understood right: number, boolean, category, date or text.
        drop_dangling: leave out edges that name no node of ``nodes``; else they are an error.
        strict: a warning is an error.
        separator: between the columns of CSV files; None: found out.
        decimal: decimal point in CSV files, ``.`` or ``,``.
        missing: words that mean "no value" in every column, besides the empty one.
        name: of the graph; None: that of the file.
    """
    reading = Reading(decimal=decimal, missing=frozenset(missing))
    _check_shares(train_share, val_share, max_train)
    roles = Roles(id=id, label=label, source=source, target=target, split=split)
    taken = [column for column in (id, label, split) if column is not None]
    if len(set(taken)) < len(taken):
        raise InputError(f"id, label and split must be different columns, got {', '.join(map(repr, taken))}")
    if source == target:
        raise InputError(f"source and target must be different columns, got {source!r} twice")
    node_table = read_table(nodes, what="nodes", separator=separator)
    for column in (*taken, *ignore):
        node_table.check_has(column)
    edge_table = read_table(edges, what="edges", separator=separator, only=(source, target))
    ids = read_ids(node_table, id)
    classes = None if like is None else like.class_names
    labels, class_names = read_labels(node_table, label, reading, classes)
    parts = _split(node_table, roles, labels, like, ids.to_pylist())
    if parts is None:
        shares: dict[str, Any] = {"train": train_share, "val": val_share, "most": max_train}
        parts = split_stratified(labels, **shares, generator=np.random.default_rng(seed))
    attributes = [column for column in node_table.columns if column not in (*taken, *ignore)]
    if like is None:
        fitted = fit_columns(node_table, attributes, reading, dict(kinds or {}), labels, parts.train, seed)
    else:
        fitted = encode_like(node_table, attributes, reading, like)
    found = read_edges(edge_table, source, target, ids, nodes=node_table.name, drop_dangling=drop_dangling)
    graph = AttributedGraph.build(
        name=name or (Path(node_table.name).stem),
        features=fitted.features,
        feature_names=tuple(feature for column in fitted.columns for feature in column.feature_names),
        columns=fitted.columns,
        edges=found.pairs,
        labels=labels,
        class_names=class_names,
        node_names=ids.to_pylist(),
        train=parts.train,
        val=parts.val,
        test=parts.test,
    )
    warnings = [*_label_warnings(graph, like), *fitted.warnings]
    if found.dangling:
        warnings.append(f"{found.dangling:,} of {found.given:,} edges name a node that is not there and were left out")
    drawn = f"drawn by class with seed {seed}" + (f", at most {max_train:,} of a class" if max_train else "")
    how = f"column {split!r}" if split else "those who voted before vote" if like else drawn
    summary = _summary(graph, node_table, edge_table, roles, fitted, ignore, found, how, tuple(warnings))
    if strict:
        check_no_warnings(summary)
    return Imported(graph, summary, node_table.data, roles)


def check_no_warnings(summary: Summary) -> None:
    """What ``strict`` asks for."""
    if summary.warnings:
        listed = "".join(f"\n  - {warning}" for warning in summary.warnings)
        raise InputError(f"strict: {len(summary.warnings)} warnings, nothing is written:{listed}")


def _check_shares(train: float, val: float, most: int | None) -> None:
    if not (train > 0 and val >= 0 and train + val <= 1):
        raise InputError(f"train share must be above 0, val share at least 0, both at most 1, got {train} and {val}")
    if most is not None and most < 1:
        raise InputError(f"max_train must be at least 1, got {most}")


def _split(
    table: Table, roles: Roles, labels: IntArray, like: AttributedGraph | None, names: list[str]
) -> Split | None:
    """The split that a column gives, or the one of the graph before, by the names of the nodes; None: to be drawn.

    Nodes that got their label since then test. Where nobody who voted before is there, all labeled nodes vote.
    """
    if roles.split is not None:
        return read_split(table, roles.split, labels)
    if like is None:
        return None
    known = np.flatnonzero(labels != UNKNOWN)
    parts = {part: {like.node_names[node] for node in getattr(like, part)} for part in ("train", "val")}
    train, val = ([node for node in known if names[node] in parts[part]] for part in ("train", "val"))
    if not train:
        return Split(known, np.empty(0, np.int64), np.empty(0, np.int64))
    test = np.setdiff1d(known, [*train, *val])
    return Split(np.array(train, np.int64), np.array(val, np.int64), test)


def _label_warnings(graph: AttributedGraph, like: AttributedGraph | None) -> list[str]:
    counts = np.bincount(graph.labels[graph.train], minlength=graph.num_classes)
    if like is not None and not len(graph.train):
        return ["no node is labeled: nobody can vote; a table for prediction holds the labeled nodes, too"]
    return [
        f"class {name!r} has {count} training {'row' if count == 1 else 'rows'}: a vote for it rests on chance"
        for name, count in zip(graph.class_names, counts.tolist())
        if count < FEW_LABELED
    ]


def _summary(
    graph: AttributedGraph,
    nodes: Table,
    edges: Table,
    roles: Roles,
    fitted: NodeColumns,
    ignore: Sequence[str],
    found: Edges,
    how: str,
    warnings: tuple[str, ...],
) -> Summary:
    known = {roles.id: "id", roles.label: "label", roles.split: "split"}
    by_name = {column.name: column for column in fitted.summaries}
    by_name |= {name: ColumnSummary(name=name, kind="ignored") for name in ignore}
    columns = tuple(by_name.get(name) or ColumnSummary(name=name, kind=known[name]) for name in nodes.columns)
    counts = np.bincount(graph.labels[graph.labels != UNKNOWN], minlength=graph.num_classes)
    share, chance = homophily(graph)
    return Summary(
        nodes_table=nodes.name,
        edges_table=edges.name,
        num_nodes=graph.num_nodes,
        num_features=graph.num_features,
        columns=columns,
        unused_edge_columns=tuple(name for name in edges.columns if name not in (roles.source, roles.target)),
        classes=dict(zip(graph.class_names, counts.tolist())),
        unlabeled=int((graph.labels == UNKNOWN).sum()),
        split=how,
        num_train=len(graph.train),
        num_val=len(graph.val),
        num_test=len(graph.test),
        edges_given=found.given,
        edges_dangling=found.dangling,
        edges_duplicate=graph.merged.duplicates,
        edges_reciprocal=graph.merged.reciprocal,
        self_loops=graph.merged.self_loops,
        num_edges=graph.num_edges,
        isolated=int((graph.degrees == 0).sum()),
        degree_mean=float(graph.degrees.mean()),
        degree_max=int(graph.degrees.max()),
        homophily=share,
        homophily_by_chance=chance,
        warnings=warnings,
    )


def _plain(roles: Roles) -> dict[str, Any]:
    return {field: getattr(roles, field) for field in ("id", "label", "source", "target", "split")}
