"""From tables of nodes and edges to a graph: the order of the steps.

One table of nodes is the simple case of one table per node type, and tables that fit into memory the simple case of
those that do not: columns are read and fitted one at a time in either case, then rows are encoded all at once, or in
blocks that are written to disk (`se_gnn.tables.streaming`). Shapes: N nodes of all types, E edges.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import psutil
import pyarrow as pa
import scipy.sparse as sp

from se_gnn.errors import InputError, did_you_mean
from se_gnn.files import commit_files, locked, remove_tree, visible_names, writing_to
from se_gnn.graph import Classes, Edges, EdgeValues, Graph, Nodes
from se_gnn.graph.arrays import Features, IntArray, as_features
from se_gnn.graph.columns import Column, StructureColumn
from se_gnn.graph.edges import EdgeReport
from se_gnn.graph.rows import as_rows, features_like
from se_gnn.graph.storage import ARRAY_FILES, HEADER, about_target, about_values, is_graph_file, read_graph
from se_gnn.graph.streaming import EdgeBlock, GraphWriter
from se_gnn.tables.edges import (
    EdgeColumns,
    EdgeLayout,
    EdgeRows,
    EdgeTable,
    distinct_edges,
    edge_tables,
    own_columns,
    read_edge_values,
    until_date,
)
from se_gnn.tables.features import FittedColumns, encode_structure, fit_structure, raw_table
from se_gnn.tables.given import ONE, GivenTables, NodeTable, OneEdgeTable, called
from se_gnn.tables.imported import TABLE_FILES, Imported
from se_gnn.tables.node_types import NodesOfType, join_types, joined_columns, name_column, place_features, type_mark
from se_gnn.tables.settings import ColumnSummary, ImportSettings, Summary, is_import_file
from se_gnn.tables.source import memory_of
from se_gnn.tables.streaming import (
    BYTES_A_CELL,
    FIXED_BYTES,
    ROWS_SHARE,
    check_memory,
    row_digests,
    write_features,
    write_texts,
    write_typed_features,
)
from se_gnn.tables.summarize import summarize

MAX_MEMORY = "SE_GNN_MAX_MEMORY"
WORK = ".importing"  # folder for what is not a graph yet


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
        like: a graph that was imported before: its encoding and its classes are used, nothing is fitted. Without
            a split column, its nodes keep their part by their names, and nodes that got a label since then test; where
            none of those who voted is there, all labeled nodes vote.
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
    if needed <= budget:
        if settings.feature_type != "float32":
            raise InputError("feature_type is for tables that do not fit into memory: these do, leave it out")
        imported = _Import.read(sources, tables, settings, like, None).in_memory()
        _check_strict(imported.summary, strict)
        if out is not None:
            imported.save(out)
        return imported
    if out is None:
        raise InputError(
            f"the tables need about {needed / 1e9:,.1f} GB of memory, and may take {budget / 1e9:,.1f} GB: name a "
            "folder for the graph (out), to which they are streamed, or raise SE_GNN_MAX_MEMORY"
        )
    with _work_folder(Path(out)) as work:
        return _Import.read(sources, tables, settings, like, work).streamed(Path(out), work, budget, strict=strict)


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


@contextlib.contextmanager
def _work_folder(out: Path) -> Iterator[Path]:
    """A folder for what is not a graph yet; what a kill leaves there is removed by the next import."""
    with writing_to(out), locked(out):
        foreign = [n for n in visible_names(out) if n != WORK and not (is_import_file(n) or is_graph_file(n))]
        if foreign:
            raise InputError(f"{out} holds {foreign[0]}, which is not part of a graph; name another folder")
        work = out / WORK
        remove_tree(work)
        work.mkdir()
        try:
            yield work
        finally:
            remove_tree(work)


def _check_strict(summary: Summary, strict: bool) -> None:
    if strict and summary.warnings:
        listed = "".join(f"\n  - {warning}" for warning in summary.warnings)
        raise InputError(f"strict: {len(summary.warnings)} warnings, nothing is written:{listed}")


@dataclass(frozen=True, slots=True, eq=False)
class _Import(GivenTables):
    """Tables on their way to a graph, in memory or not."""

    def in_memory(self) -> Imported:
        """The graph of tables that fit into memory."""
        found = [self.rows(one) for one in self.edges]
        split = self.split(found)
        found, of_edges, reports = self._edge_values(found)
        pairs = np.concatenate([one.pairs for one in found])
        fitted, features, columns = self._features(pairs)
        nodes = Nodes(
            features=as_rows(as_features(features)),
            names=tuple(pa.concat_arrays(self.names()).to_pylist()),
            feature_names=tuple(name for column in columns for name in column.feature_names),
            columns=columns,
            captions=self.captions(),
            raw=self.raw(),
            types=self.node_types(),
            type_names=self.type_names,
            roles=tuple(self.settings.roles.items()),
        )
        edges = Edges.build(pairs, len(nodes), of_edges.values)
        if edges.values is not None:
            edges = dataclasses.replace(edges, merged=_total([*reports, edges.merged], found), verified=True)
        graph = Graph(nodes=nodes, edges=edges, target=self.target(), split=split, name=self.name)
        summary = summarize(self, graph, fitted, of_edges, found)
        rows = {one.given.type: one.table.select(rows=own.rows) for one, own in zip(self.edges, found)}
        tables = {one.type: one.table.data for one in self.nodes}
        return Imported(graph, summary, self.settings, tables, {} if of_edges.values is None else rows)

    def streamed(self, out: Path, work: Path, budget: int, *, strict: bool) -> Imported:
        """The graph of tables that do not fit into memory, written to a folder some rows at a time."""
        check_memory([*(one.table for one in self.nodes), *(one.table for one in self.edges)], budget)
        split, writer = self.split(None), GraphWriter(work)
        fitted = [self._fit(one, streamed=True) for one in self.nodes]
        columns = self._columns(fitted)
        self._write_features(writer, fitted, budget)
        write_texts(writer, "nodes.names", self.names())
        if self.settings.caption is not None:
            write_texts(writer, "nodes.captions", map(self.caption, self.nodes))
        target = self.target()
        writer.put("labels" if isinstance(target, Classes) else "values", target.array)
        for part, ids in split.items():
            writer.put(f"split.{part}", ids)
        if self.several:
            writer.put("nodes.types", self.node_types())
        of_tables = [self._values_of(one, None) for one in self.edges]
        layout = self._layout([one.values for one in of_tables])
        template = of_tables[0].values if layout is None else layout.template
        found: list[EdgeRows] = []
        blocks = (
            block
            for one, own in zip(self.edges, of_tables)
            for block in self._blocks(one, own.values, layout, found, budget)
        )
        merged = writer.edges(blocks, self.num_nodes, budget - FIXED_BYTES * self.num_nodes // 2, template)
        about = {
            "name": self.name,
            "mapped": True,
            "num_features": sum(column.size for column in columns),
            "feature_names": [name for column in columns for name in column.feature_names],
            "columns": columns,
            "node_type_names": self.type_names,
            **about_target(target),
            "roles": tuple(self.settings.roles.items()),
            "merged": merged,
            "edge_values": None if template is None else about_values(dataclasses.replace(template, raw=None)),
        }
        files = writer.files(about)
        header = cast(bytes, files[HEADER])
        graph = read_graph(work, header, just_written=True)
        of_edges = EdgeColumns(template, *self._edge_summaries(of_tables, found))
        imported = Imported(graph, summarize(self, graph, fitted, of_edges, found), self.settings, {}, {})
        _check_strict(imported.summary, strict)
        commit_files(out, {**files, **imported.record()}, remove=(ARRAY_FILES, *TABLE_FILES))
        return dataclasses.replace(imported, graph=read_graph(out, header, just_written=True))

    def _write_features(self, writer: GraphWriter, fitted: Sequence[FittedColumns], budget: int) -> None:
        given = [
            (one.table, functools.partial(one.encoded, found.columns), sum(column.size for column in found.columns))
            for one, found in zip(self.nodes, fitted)
        ]
        if not self.several:
            write_features(writer, *given[0], budget, self.settings.feature_type)
            return
        like = self.like
        marks = None if like is None else [type_mark(like, one.type) for one in self.nodes]
        write_typed_features(writer, given, marks, budget)

    def _fit(self, one: NodeTable, *, streamed: bool = False) -> FittedColumns:
        """The columns of one table, as those of the graph before, where there is one."""
        if self.like is None:
            found = one.fit(streamed=streamed)
            if streamed and self.several:
                named = not found.columns or (self.settings.name_types and one is not self.labeled)
                names = name_column(one.ids.to_pylist(), one.table.columns) if named else ()
                return dataclasses.replace(found, columns=(*found.columns, *names))
            if streamed and not found.columns:
                raise InputError(
                    f"{one.table.name} has no column that says something about a node; features from the edges around "
                    "it need the tables in memory: add a column, or raise SE_GNN_MAX_MEMORY"
                )
            return found
        columns = self.like.columns or ()
        if self.several:
            columns = own_columns(columns, one.type)
        if any(isinstance(column, StructureColumn) for column in columns):
            return FittedColumns((), np.empty((len(one.ids), 0), np.float32))
        if not streamed:
            return one.encode(columns)
        summaries = [ColumnSummary(name=c.name, kind=c.kind, num_features=c.size) for c in columns]
        return FittedColumns(tuple(columns), np.empty((0, 0), np.float32), tuple(summaries))

    def _columns(self, fitted: Sequence[FittedColumns]) -> tuple[Column, ...]:
        """The columns of all types, where the features are not in memory."""
        if not self.several:
            return fitted[0].columns
        if self.like is not None:
            return self.like.columns or ()
        return joined_columns({one.type: found.columns for one, found in zip(self.nodes, fitted)}) or ()

    def _features(self, pairs: IntArray) -> tuple[list[FittedColumns], Features, tuple[Column, ...]]:
        """The features of all nodes, and the columns they were."""
        fitted = [self._fit(one) for one in self.nodes]
        like = self.like
        if self.several and like is not None:
            blocks = [place_features(like, one.type, own.features) for one, own in zip(self.nodes, fitted)]
            return fitted, features_like(like.nodes.features, sp.vstack(blocks)).whole(), like.columns or ()
        if self.several:
            joined = join_types(
                {
                    one.type: NodesOfType(
                        names=one.ids.to_pylist(),
                        features=found.features if found.columns else None,
                        columns=found.columns or None,
                        taken=one.table.columns,
                    )
                    for one, found in zip(self.nodes, fitted)
                },
                labeled=self.labeled.type if self.settings.name_types else None,
            )
            assert joined.columns is not None
            return fitted, joined.features, joined.columns
        found, table = fitted[0], self.nodes[0].table
        if not found.columns:
            own = found
            if like is None:
                found = fit_structure(table.name, len(table), pairs)
            else:
                found = encode_structure(like.columns or (), len(table), pairs)
            summaries, warnings = (*own.summaries, *found.summaries), (*own.warnings, *found.warnings)
            found = dataclasses.replace(found, summaries=summaries, warnings=warnings)
        return [found], found.features, found.columns

    def _edge_values(self, found: list[EdgeRows]) -> tuple[list[EdgeRows], EdgeColumns, list[EdgeReport]]:
        """The rows that become edges in the order of the graph, what they carry, and what was merged."""
        reports: list[EdgeReport] = []
        like = None if self.like is None else self.like.edge_values
        if self.like is not None and like is None:
            return found, EdgeColumns(None), reports
        distinct, shown = [], [self._cells(one) for one in self.edges]
        for one, rows, cells in zip(self.edges, found, shown):
            directed = one.settings.directed if like is None else like.direction is not None
            kept, report = distinct_edges(one.table, rows, directed, cells, self.num_nodes)
            distinct.append(kept)
            reports += [report] if report is not None else []
        read = [self._values_of(one, rows.rows) for one, rows in zip(self.edges, distinct)]
        layout = self._layout([one.values for one in read])
        if layout is None:
            return (found if read[0].values is None else distinct), read[0], reports
        kept_cells = like is None or like.raw is not None
        whole = list(dict.fromkeys(name for names in shown for name in names)) if kept_cells else []
        raws = [raw_table(one.table, whole, rows.rows) if whole else None for one, rows in zip(self.edges, distinct)]
        placed = [
            layout.place(one.given.type, own.values, len(rows.rows), raw)
            for one, own, rows, raw in zip(self.edges, read, distinct, raws)
        ]
        values = functools.reduce(EdgeValues.joined, placed)
        return distinct, EdgeColumns(values, *self._edge_summaries(read, distinct)), reports

    def _cells(self, one: OneEdgeTable) -> list[str]:
        """Columns that tell edges apart: those that are shown; where the graph before shows cells, those of them."""
        shown = one.settings.shown(one.table)
        before = None if self.like is None or self.like.edge_values is None else self.like.edge_values.raw
        return shown if before is None else [name for name in shown if name in before.columns]

    def _values_of(self, one: OneEdgeTable, rows: IntArray | None) -> EdgeColumns:
        """What the edges in some rows of a table carry; without rows, how to read it from blocks of the table."""
        if self.like is None:
            in_time = until_date(one.table, one.settings, self.settings.until) if rows is None else None
            fitted_on = rows if in_time is None else np.flatnonzero(in_time)
            return read_edge_values(one.table, one.settings, rows=fitted_on, streamed=rows is None)
        like = self.like.edge_values
        if like is None:
            return EdgeColumns(None)
        own = like.take(np.empty(0, np.int64))
        if self.typed:
            own = EdgeLayout(like.type_names, own).own(one.given.type)
        if rows is None:
            return EdgeColumns(dataclasses.replace(own, raw=None))
        return read_edge_values(one.table, one.settings, like=own, rows=rows, several=self.typed, cells=not self.typed)

    def _layout(self, values: Sequence[EdgeValues | None]) -> EdgeLayout | None:
        """The layout of the edges of all tables; None: there is one table, whose edges have no type of their own."""
        if not self.typed or (self.like is not None and self.like.edge_values is None):
            return None
        if self.like is None:
            return EdgeLayout.of([one.given.type for one in self.edges], values, directed=self.settings.directed)
        assert self.like.edge_values is not None
        return EdgeLayout(self.like.edge_values.type_names, self.like.edge_values.take(np.empty(0, np.int64)))

    def _blocks(
        self,
        one: OneEdgeTable,
        template: EdgeValues | None,
        layout: EdgeLayout | None,
        found: list[EdgeRows],
        budget: int,
    ) -> Iterator[EdgeBlock]:
        """The edges of a table, some rows at a time, in the layout of all; counts them in ``found``."""
        counts = EdgeRows(np.empty((0, 2), np.int64), np.empty(0, np.int64), 0)
        cells, several = self._cells(one), self.typed
        settings = one.settings if template is None else one.settings.for_blocks(template, one.table, several=several)
        step = max(1, budget // ROWS_SHARE // (BYTES_A_CELL * (2 + len(cells))))
        kept = 0
        for table in one.table.blocks(step):
            rows = self.rows(dataclasses.replace(one, table=table))
            values, digests = None, None
            if template is not None:
                values = read_edge_values(
                    table, settings, like=template, rows=rows.rows, several=several, cells=False
                ).values
            if layout is not None:
                values = layout.place(one.given.type, values, len(rows.rows))
            if values is not None:
                digests = row_digests(table, cells, rows.rows)
            counts = EdgeRows(
                counts.pairs, counts.rows, counts.given + rows.given, counts.dangling + rows.dangling,
                counts.later + rows.later,
            )  # fmt: skip
            kept += len(rows.rows)
            yield EdgeBlock(rows.pairs, values, digests)
        found.append(dataclasses.replace(counts, rows=np.empty(kept, np.int8)))

    def _edge_summaries(
        self, read: Sequence[EdgeColumns], found: Sequence[EdgeRows]
    ) -> tuple[tuple[ColumnSummary, ...], tuple[str, ...]]:
        warnings = tuple(text for one in read for text in one.warnings)
        if not self.typed:
            return read[0].summaries, warnings
        counts = ", ".join(f"{one.given.type}: {len(rows.rows):,}" for one, rows in zip(self.edges, found))
        summaries = [ColumnSummary(name="(type)", kind="type", note=counts)]
        for one, own in zip(self.edges, read):
            summaries += [dataclasses.replace(c, name=called(one.given.type, c.name)) for c in own.summaries]
        return tuple(summaries), warnings


def _total(reports: Sequence[EdgeReport], found: Sequence[EdgeRows]) -> EdgeReport:
    """What was merged in all."""
    given = sum(one.given - one.dangling - one.later for one in found)
    parts = {part: sum(getattr(one, part) for one in reports) for part in ("self_loops", "reciprocal", "duplicates")}
    return EdgeReport(given=given, **parts)
