"""From tables of nodes and edges to a graph: the order of the steps.

One table of nodes is the simple case of one table per node type, and tables that fit into memory the simple case of
those that do not: columns are read and fitted one at a time (`se_gnn.tables.given`), then rows are encoded in blocks.
In memory a table is one block; else blocks are written to files (`se_gnn.graph.streaming`).
Shapes: N nodes of all types, E edges.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.errors import InputError, did_you_mean
from se_gnn.files import locked, writing_to
from se_gnn.graph import UNKNOWN, Classes, Edges, Graph, Nodes, RawTable
from se_gnn.graph.arrays import BoolArray, IntArray, as_features, dense
from se_gnn.graph.columns import Column
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.graph.rows import Rows, as_rows
from se_gnn.graph.split import Split, split_by_time, split_stratified
from se_gnn.graph.storage import load_graph
from se_gnn.graph.streaming import mapped_edges, mapped_features, mapped_sparse_features
from se_gnn.graph.target import Target
from se_gnn.tables.edges import ONE, EdgeTable, edge_tables
from se_gnn.tables.features import arrow_texts
from se_gnn.tables.given import GivenTables, read_given
from se_gnn.tables.imported import Imported
from se_gnn.tables.node_types import own_columns
from se_gnn.tables.nodes import read_labels, read_numbers, read_split
from se_gnn.tables.settings import FIRST_EDGE, ImportSettings
from se_gnn.tables.source import FIXED_BYTES, Table, check_memory, memory_of
from se_gnn.tables.summarize import summarize
from se_gnn.tables.values import read_times

MAX_MEMORY = "SE_GNN_MAX_MEMORY"


def read_tables(
    nodes: Any,
    edges: Any,
    settings: ImportSettings | None = None,
    *,
    like: Graph | None = None,
    strict: bool = False,
    out: str | Path | None = None,
    max_memory: int | str | None = None,
    **given: Any,
) -> Imported:
    """Make a graph of a node table and an edge table, or of one table per node type and one per edge type.

    The graph is ``read_tables(...).graph``; ``print(read_tables(...).summary)`` shows what was understood.

    Args:
        nodes: one row per node: path of a CSV or Parquet file, a pandas DataFrame, or an Arrow table. Several types of
            nodes: a dictionary of such tables by type.
        edges: one row per edge, given in the same ways; several types of edges: a dictionary by type, or a list of
            :class:`EdgeTable`.
        settings: which columns are what, and how they are read; or give its fields as keywords:
            ``read_tables("accounts.csv", "payments.csv", id="account", label="fraud", source="from", target="to")``.
        like: a graph that was imported before. Its encoding and its classes are used, and nothing is fitted. A split
            column decides all parts. Without one, nodes of the same name stay in the same part of the split, and nodes
            labeled since then form the test set. If no training node of that graph is present, all labeled nodes vote.
        strict: a warning is an error.
        out: a folder to write the graph to.
        max_memory: memory to work within, in bytes or as "4GB"; None: ``SE_GNN_MAX_MEMORY``, or a quarter of what is
            free. Tables that need more are read some rows at a time into ``out``, and the graph is mapped from there.
        given: fields of :class:`ImportSettings`.
    """
    settings = _settings(settings, given)
    sources = dict(nodes) if isinstance(nodes, Mapping) else {ONE: nodes}
    tables = edge_tables(edges)
    _check_given(sources, tables, settings, several=isinstance(nodes, Mapping))
    budget = _budget(max_memory)
    needed = sum(map(memory_of, [*sources.values(), *(one.table for one in tables)]))
    fits = needed <= budget
    if fits and settings.feature_type != "float32":
        raise InputError("feature_type is for tables that do not fit into memory: these do, leave it out")
    with contextlib.ExitStack() as work:
        if fits:
            imported = Import(sources, tables, settings, like).in_memory()
        elif out is None:
            raise InputError(
                f"the tables need about {needed / 1e9:,.1f} GB of memory, and may take {budget / 1e9:,.1f} GB: name a "
                "folder for the graph (out), to which they are streamed, or raise SE_GNN_MAX_MEMORY"
            )
        else:
            work.enter_context(locked(work.enter_context(writing_to(out))))
            imported = Import(sources, tables, settings, like, work=work, budget=budget).streamed(budget)
        if strict and (warnings := imported.summary.warnings):
            listed = "".join(f"\n  - {warning}" for warning in warnings)
            raise InputError(f"strict: {len(warnings)} warnings, nothing is written:{listed}")
        if out is not None:
            imported.save(out)
    return imported if fits else dataclasses.replace(imported, graph=load_graph(str(out)))


def _budget(max_memory: int | str | None) -> int:
    if isinstance(max_memory, int):
        return max_memory
    if max_memory is None and MAX_MEMORY not in os.environ:
        return int(psutil.virtual_memory().available // 4)
    from se_gnn.device import memory_budget  # with torch, which takes a second to import

    return memory_budget(max_memory)


def _settings(settings: ImportSettings | None, given: Mapping[str, Any]) -> ImportSettings:
    known = [one.name for one in dataclasses.fields(ImportSettings)]
    wrong = next((name for name in given if name not in known), None)
    if wrong is not None:
        raise InputError(f"unknown setting {wrong!r}{did_you_mean(wrong, known)}; known: {', '.join(known)}")
    if settings is not None:
        return dataclasses.replace(settings, **given)
    if "id" not in given:
        raise InputError("id must name a column of the node table, as id='account'")
    if "label" not in given and "target_number" not in given:
        raise InputError(
            "label must name the column with the class, as label='fraud'; or target_number the one with the number to "
            "predict, as target_number='income'"
        )
    return ImportSettings(**given)


def _check_given(
    nodes: Mapping[str, Any], edges: Sequence[EdgeTable], settings: ImportSettings, *, several: bool
) -> None:
    if not edges:
        raise InputError("edges: give at least one table, as --edges writes=FILE")
    types = [one.type for one in edges]
    twice = next((name for i, name in enumerate(types) if name in types[:i]), None)
    if twice is not None:
        raise InputError(f"edges {twice!r} are given twice; each type has one table")
    wrong = next((name for name in nodes if several and (not name or ":" in name)), None)
    if wrong is not None:
        raise InputError(f"the name of a node type must not be empty or hold a colon, got {wrong!r}")
    typed = any(name != ONE for name in types)
    if several and not typed:
        raise InputError("edges: with several types of nodes, name the type of each edge table, as --edges writes=FILE")
    if typed and settings.edge_type is not None:
        raise InputError("edge_type: where each edge type has a table of its own, its name is the type")


class Import(GivenTables):
    """Tables on their way to a graph, in memory or not; the table of one node type has a label."""

    def __init__(
        self,
        nodes: Mapping[str, Any],
        edges: Sequence[EdgeTable],
        settings: ImportSettings,
        like: Graph | None,
        *,
        work: contextlib.ExitStack | None = None,
        budget: int | None = None,
    ) -> None:
        if like is not None:
            _check_as_before(like, list(nodes), [one.type for one in edges], settings)
        tables, edges = read_given(nodes, edges, settings, work=work)
        every = [*tables.values(), *(one.table for one in edges)]
        _check_columns(tables, every[len(tables) :], settings)
        if budget is not None:
            check_memory(every, budget)
        super().__init__(tables, edges, settings, like, budget=budget)
        self.labeled = next(one for one in self.nodes if one.labeled)
        self.known: Target  # of the nodes in that table
        if settings.target_number is not None:
            self.known, notes = read_numbers(self.labeled.table, settings.target_number, settings.unit)
        else:
            classes = None if like is None else like.class_names
            self.known, notes = read_labels(self.labeled.table, settings.label, classes, merge=settings.merge_classes)
        read = [note for table in every for note in _notes(table, settings)]
        self.notes = [*read, *(note for one in self.nodes for note in one.notes), *notes]

    @property
    def places(self) -> slice:
        """Where the nodes that may have a label are in the graph."""
        before = sum(map(len, self.nodes[: self.nodes.index(self.labeled)]))
        return slice(before, before + len(self.labeled))

    def in_memory(self) -> Imported:
        """The graph of tables that fit into memory."""
        pairs, values = self.all_edges()
        features = as_rows(as_features(self.features(pairs)))
        graph = self._graph(features, Edges.build(pairs, self.num_nodes, values), raw=self.raw())
        nodes = {one.type: one.table.data for one in self.nodes}
        edges = {one.of_type: one.table.data for one in self.edges}
        return Imported(graph, summarize(self, graph), self.settings, nodes, edges)

    def streamed(self, budget: int) -> Imported:
        """The graph of tables that do not fit into memory, in files that are removed with it."""
        if not self.has_attributes:
            remedy = "add a column, or raise" if self.like is None else "raise"
            raise InputError(
                f"{self.nodes[0].table.name} has no column that says something about a node; features from the edges "
                f"around it need the tables in memory: {remedy} SE_GNN_MAX_MEMORY"
            )
        width = sum(column.size for column in self.columns)
        if self.several:
            features = mapped_sparse_features(self.typed_features(), width)
        else:
            features = mapped_features(map(dense, self.nodes[0].encode(budget)), width, self.settings.feature_type)
        left = budget - FIXED_BYTES * self.num_nodes // 2
        carried = None if self.carried is None else dataclasses.replace(self.carried, raw=None)
        graph = self._graph(features, mapped_edges(self.edge_blocks(), self.num_nodes, left, carried), raw=None)
        return Imported(graph, summarize(self, graph), self.settings, {}, {})

    def _graph(self, features: Rows, edges: Edges, *, raw: RawTable | None) -> Graph:
        """The graph of features and edges, in memory or mapped; cells are kept in memory only."""
        columns = self.columns
        nodes = Nodes(
            features=features,
            names=arrow_texts(self.names()),
            feature_names=tuple(name for column in columns for name in column.feature_names),
            columns=columns,
            captions=self.settings.caption and arrow_texts(one.captions() for one in self.nodes),
            raw=raw,
            types=self.node_types(),
            type_names=tuple(one.type for one in self.nodes) if self.several else (),
            roles=tuple(self.settings.roles.items()),
            verified=self.budget is not None,
        )
        unknown = self.known.take(np.empty(0, np.int64)).followed_by_unknown(self.num_nodes)
        array = unknown.array.copy()
        array[self.places] = self.known.array
        target = dataclasses.replace(unknown.with_array(array), node_type=self.labeled.type or None)
        name = self.settings.name or Path(self.labeled.table.name).stem
        return Graph(nodes=nodes, edges=edges, target=target, split=self.split(), name=name)

    def split(self) -> Split:
        """The split that a column gives, all parts of it, or else the one of the graph before; else it is drawn."""
        given = self.settings
        labels = self.known.labels if isinstance(self.known, Classes) else np.where(self.known.known, 0, UNKNOWN)
        most = None if given.target_number is not None else given.max_train  # no class can outvote another
        shares: dict[str, Any] = {"train": given.train_share, "validation": given.val_share, "most": most}
        if given.split is not None:
            parts = read_split(self.labeled.table, given.split, labels)
        elif self.like is not None:
            parts = self._split_of(self.like, labels != UNKNOWN)
        elif given.split_by_time is not None:
            parts = split_by_time(labels, self._node_times(), **shares, unknown=NO_TIME)
        else:
            parts = split_stratified(labels, **shares, generator=np.random.default_rng(given.seed))
        return Split(**{part: ids + self.places.start for part, ids in parts.items()})

    def _split_of(self, like: Graph, labeled: BoolArray) -> Split:
        """The split of the graph before, by the names of the nodes; nodes labeled since then form the test set.

        If no training node of it is present, all labeled nodes vote.
        """
        names, left = self.names()[self.nodes.index(self.labeled)], labeled.copy()
        parts: dict[str, IntArray] = {}
        for part in ("train", "validation", "calibration"):
            then = pa.array([like.node_names[node] for node in getattr(like, part)], pa.string())
            parts[part] = np.flatnonzero(pc.is_in(names, value_set=then).to_numpy(zero_copy_only=False) & labeled)
            left[parts[part]] = False
        if not len(parts["train"]):
            return Split(train=np.flatnonzero(labeled))
        return Split(**parts, test=np.flatnonzero(left))

    def _node_times(self) -> IntArray:
        """When each node came to be: by a column of its table, or by its first edge; `NO_TIME`: unknown."""
        column, own = self.settings.split_by_time, self.labeled
        assert column is not None
        if column in own.table.columns:
            return read_times(own.table, column)
        if column != FIRST_EDGE:
            own.table.check_has(column)
        if self.settings.edge_time is None:
            raise InputError(f"split_by_time {FIRST_EDGE!r} needs edge_time, the column of the edge table with dates")
        never = np.iinfo(np.int64).max
        first = np.full(self.num_nodes, never)
        for block in self.edge_blocks():
            times = block.values.time if block.values is not None else None
            assert times is not None, "edge_time is given"
            dated = times != NO_TIME
            np.minimum.at(first, block.pairs[dated], times[dated, None])
        return np.where(first == never, NO_TIME, first)[self.places]


def _notes(table: Table, settings: ImportSettings) -> list[str]:
    """What people should know about how a table was read."""
    if settings.decimal is not None or not table.commas:
        return list(table.notes)
    some = len(table.commas) < len(table.columns)
    which = f"numbers in {', '.join(map(repr, sorted(table.commas)))}" if some else "numbers"
    return [
        *table.notes,
        f"{table.name}: {which} are read with a decimal comma, as 3,5; if that is wrong, use --set decimal=.",
    ]


def _check_columns(nodes: Mapping[str, Table], edges: Sequence[Table], settings: ImportSettings) -> None:
    """Refuse columns that no table has, and a label column that is not in one node table."""
    holding = [name for name, table in nodes.items() if settings.label in table.columns]
    if ONE in nodes:
        nodes[ONE].check_has(*settings.taken())
    elif not holding:
        raise InputError(
            f"no node table has the label column {settings.label!r}: "
            + "; ".join(f"{name} has {', '.join(map(repr, table.columns))}" for name, table in nodes.items())
        )
    elif len(holding) > 1:
        raise InputError(
            f"the label column {settings.label!r} is in the tables of {' and '.join(holding)}, but one type is labeled"
            ": rename the others"
        )
    else:
        nodes[holding[0]].check_has(settings.split)
    of_edges = (
        settings.edge_weight,
        settings.edge_type,
        settings.edge_time,
        *settings.edge_ignore,
        *settings.edge_kinds,
    )
    of_nodes = (settings.caption, *settings.ignore, *settings.keep, *settings.kinds)
    for what, tables, names in (("node", list(nodes.values()), of_nodes), ("edge", edges, of_edges)):
        for name in (name for name in names if name is not None):
            if len(tables) == 1:
                tables[0].check_has(name)
            elif not any(name in table.columns for table in tables):
                raise InputError(f"no {what} table has a column {name!r}: {', '.join(table.name for table in tables)}")


def _check_as_before(like: Graph, types: list[str], edge_types: list[str], settings: ImportSettings) -> None:
    """Refuse what contradicts the graph that was imported before: it decides how new tables are read."""
    if like.columns is None:
        raise InputError(f"{like.name} was not imported from tables: it has no encoding to apply")
    if like.node_type_names != (() if types == [ONE] else tuple(types)):
        known = ", ".join(f"{name}=FILE" for name in like.node_type_names) or "one table without a type"
        raise InputError(f"nodes: {like.name} has other node types; give its tables in its order: {known}")
    values = like.edge_values
    unknown = [name for name in edge_types if name != ONE and values is not None and name not in values.type_names]
    if unknown and values is not None:
        listed = ", ".join(map(repr, values.type_names))
        raise InputError(f"edges {unknown[0]!r}: the edges of {like.name} are of the types {listed}")
    parts = dict(() if values is None else values.names)
    of_nodes = _kinds(like.columns, like.node_type_names)
    of_edges = _kinds((values and values.columns) or (), () if values is None else values.type_names)
    wrong = ["directed"] if settings.directed and (values is None or values.direction is None) else []
    for part in ("weight", "type", "time"):
        name = getattr(settings, f"edge_{part}")
        if name not in (None, parts.get(part)) and not (part == "time" and settings.until is not None):
            wrong.append(f"edge column {name!r} as {part}")
    for what, kinds, ignored, used in (
        ("column", settings.kinds, settings.ignore, of_nodes),
        ("edge column", settings.edge_kinds, settings.edge_ignore, of_edges),
    ):
        wrong += [f"{what} {name!r} as {kind}" for name, kind in kinds.items() if (name, kind) not in used]
        wrong += [f"{what} {name!r} as ignore" for name in ignored if name in dict(used)]
    wrong += [f"column {name!r} as keep" for name in settings.keep if name not in dict(of_nodes)]
    if wrong:
        raise InputError(f"{wrong[0]} contradicts {like.name}, whose encoding the new tables get: leave it out")


def _kinds(columns: Sequence[Column], types: Sequence[str]) -> set[tuple[str, str]]:
    """Names in the tables and kinds of all columns that are encoded."""
    own = [column for one in types for column in own_columns(columns, one)]
    return {(column.name, column.kind) for column in (*columns, *own)}
