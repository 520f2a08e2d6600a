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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    EdgeRoles,
    EdgeRows,
    EdgeTable,
    distinct_edges,
    edge_tables,
    read_edge_values,
)
from se_gnn.tables.features import FittedColumns, encode_structure, fit_structure, raw_table
from se_gnn.tables.given import ONE, GivenTables, NodeTable
from se_gnn.tables.imported import TABLE_FILES, Imported
from se_gnn.tables.node_types import (
    dense_if_filled,
    joined_columns,
    mean_length,
    own_columns,
    type_mark,
    typed_rows,
)
from se_gnn.tables.settings import ImportSettings, Summary, is_import_file
from se_gnn.tables.source import memory_of
from se_gnn.tables.streaming import (
    BYTES_A_CELL,
    FIXED_BYTES,
    ROWS_SHARE,
    check_memory,
    in_blocks,
    row_digests,
    write_features,
    write_sparse_features,
    write_texts,
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
        like: a graph that was imported before. Its encoding and its classes are used, and nothing is fitted. Without a
            split column, nodes of the same name stay in the same part of the split, and nodes labeled since then form
            the test set. If no training node of that graph is present, all labeled nodes vote.
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
        split = self.split(zip(self.edges, found))
        distinct, reports = self._distinct(found)
        of_edges = [self._values_of(one, rows.rows) for one, rows in zip(self.edges, distinct)]
        values = self._joined(of_edges, distinct)
        found = found if values is None else distinct
        pairs = np.concatenate([one.pairs for one in found])
        fitted = [self._fit(one) for one in self.nodes]
        if not self.several and not fitted[0].columns:
            fitted = [self._structure(fitted[0], pairs)]
        columns = self._columns(fitted)
        nodes = Nodes(
            features=as_rows(as_features(self._features(fitted))),
            names=tuple(pa.concat_arrays(self.names()).to_pylist()),
            feature_names=tuple(name for column in columns for name in column.feature_names),
            columns=columns,
            captions=None if self.settings.caption is None else tuple(pa.concat_arrays(self.captions()).to_pylist()),
            raw=self.raw(),
            types=self.node_types(),
            type_names=self.type_names,
            roles=tuple(self.settings.roles.items()),
        )
        edges = Edges.build(pairs, len(nodes), values)
        if values is not None:
            edges = dataclasses.replace(edges, merged=_total([*reports, edges.merged], found), verified=True)
        graph = Graph(nodes=nodes, edges=edges, target=self.target(), split=split, name=self.name)
        summary = summarize(self, graph, fitted, of_edges, found)
        rows = {one.of_type: one.table.select(rows=own.rows) for one, own in zip(self.edges, found)}
        tables = {one.type: one.table.data for one in self.nodes}
        return Imported(graph, summary, self.settings, tables, {} if values is None else rows)

    def streamed(self, out: Path, work: Path, budget: int, *, strict: bool) -> Imported:
        """The graph of tables that do not fit into memory, written to a folder some rows at a time."""
        check_memory([*(one.table for one in self.nodes), *(one.table for one in self.edges)], budget)
        writer = GraphWriter(work)
        of_edges = [self._values_of(one, None) for one in self.edges]
        layout = self._layout(of_edges).without_cells()
        blocks = [self._in_blocks(one, layout, budget) for one in self.edges]
        split = self.split((one, self.rows(one)) for some in blocks for one in some())
        fitted = [self._fit(one, streamed=True) for one in self.nodes]
        columns = self._columns(fitted)
        self._write_features(writer, fitted, budget)
        write_texts(writer, "nodes.names", self.names())
        if self.settings.caption is not None:
            write_texts(writer, "nodes.captions", self.captions())
        target = self.target()
        writer.put("labels" if isinstance(target, Classes) else "values", target.array)
        for part, ids in split.items():
            writer.put(f"split.{part}", ids)
        if self.several:
            writer.put("nodes.types", self.node_types())
        found: list[EdgeRows] = []
        written = (self._edge_block(one, layout, found) for some in blocks for one in some())
        merged = writer.edges(written, self.num_nodes, budget - FIXED_BYTES * self.num_nodes // 2, layout.template)
        if not merged.given:
            lost, later = (sum(getattr(one, why) for one in found) for why in ("dangling", "later"))
            raise InputError(
                f"no row becomes an edge: {lost:,} refer to unknown nodes, {later:,} are after the last date"
            )
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
            "edge_values": None if layout.template is None else about_values(layout.template),
        }
        files = writer.files(about)
        header = cast(bytes, files[HEADER])
        graph = read_graph(work, header, just_written=True)
        imported = Imported(graph, summarize(self, graph, fitted, of_edges, found), self.settings, {}, {})
        _check_strict(imported.summary, strict)
        commit_files(out, {**files, **imported.record()}, remove=(ARRAY_FILES, *TABLE_FILES))
        return dataclasses.replace(imported, graph=read_graph(out, header, just_written=True))

    def _fit(self, one: NodeTable, *, streamed: bool = False) -> FittedColumns:
        """The columns of one table, as those of the graph before, where there is one."""
        if self.like is None:
            found = one.fit(streamed=streamed)
            if self.several and (not found.columns or (self.settings.name_types and one is not self.labeled)):
                found = one.named(found, streamed=streamed)
        else:
            columns = own_columns(self.like.columns or (), one.type)
            structural = any(isinstance(column, StructureColumn) for column in columns)
            found = one.encode(() if structural else columns, streamed=streamed)
        if streamed and not self.several and not found.columns:
            remedy = "add a column, or raise" if self.like is None else "raise"
            raise InputError(
                f"{one.table.name} has no column that says something about a node; features from the edges around it "
                f"need the tables in memory: {remedy} SE_GNN_MAX_MEMORY"
            )
        return found

    def _structure(self, own: FittedColumns, pairs: IntArray) -> FittedColumns:
        """Features from the edges, where no column of the only node table says anything."""
        table = self.nodes[0].table
        if self.like is None:
            found = fit_structure(table.name, len(table), pairs)
        else:
            found = encode_structure(self.like.columns or (), len(table), pairs)
        summaries, warnings = (*own.summaries, *found.summaries), (*own.warnings, *found.warnings)
        return dataclasses.replace(found, summaries=summaries, warnings=warnings)

    def _columns(self, fitted: Sequence[FittedColumns]) -> tuple[Column, ...]:
        """The columns of all types."""
        if self.several:
            return joined_columns({one.type: found.columns for one, found in zip(self.nodes, fitted)}, marked=True)
        return fitted[0].columns

    def _features(self, fitted: Sequence[FittedColumns]) -> Features:
        """The features of all nodes, in memory."""
        if not self.several:
            return fitted[0].features
        blocks = list(self._typed(fitted, [functools.partial(list, [own.features]) for own in fitted]))
        if self.like is None:
            return dense_if_filled(blocks)
        whole: Features = features_like(self.like.nodes.features, sp.vstack(blocks)).whole()
        return whole

    def _write_features(self, writer: GraphWriter, fitted: Sequence[FittedColumns], budget: int) -> None:
        """The features of all nodes, in blocks of rows."""

        def encoded(one: NodeTable, columns: Sequence[Column]) -> Iterator[Features]:
            for block in in_blocks(one.table, sum(column.size for column in columns), budget):
                yield one.encode(columns, block).features

        blocks = [functools.partial(encoded, one, own.columns) for one, own in zip(self.nodes, fitted)]
        if self.several:
            write_sparse_features(writer, self._typed(fitted, blocks))
        else:
            width = sum(column.size for column in fitted[0].columns)
            write_features(writer, blocks[0](), width, self.settings.feature_type)

    def _typed(
        self, fitted: Sequence[FittedColumns], blocks: Sequence[Callable[[], Iterable[Features]]]
    ) -> Iterator[sp.csr_array]:
        """The features of nodes of several types, which come in blocks, each in its place among those of all types."""
        firsts = np.cumsum([0, *(1 + sum(column.size for column in own.columns) for own in fitted)]).tolist()
        for one, first, own in zip(self.nodes, firsts, blocks):
            mark = mean_length(own()) if self.like is None else type_mark(self.like, one.type)[0]
            yield from (typed_rows(block, mark, first, firsts[-1]) for block in own())

    def _distinct(self, found: list[EdgeRows]) -> tuple[list[EdgeRows], list[EdgeReport]]:
        """The rows that become edges where edges carry values, in the order of the graph, and what was merged."""
        like = None if self.like is None else self.like.edge_values
        if self.like is not None and like is None:
            return found, []
        parted = []
        for one, rows in zip(self.edges, found):
            directed = one.directed if like is None else like.direction is not None
            parted.append(distinct_edges(one, rows, directed, self._cells(one), self.num_nodes))
        return [rows for rows, _ in parted], [report for _, report in parted if report is not None]

    def _cells(self, one: EdgeRoles) -> list[str]:
        """Columns that tell edges apart: those that are shown; where the graph before shows cells, those of them."""
        shown = one.shown
        before = None if self.like is None or self.like.edge_values is None else self.like.edge_values.raw
        return shown if before is None else [name for name in shown if name in before.columns]

    def _values_of(self, one: EdgeRoles, rows: IntArray | None) -> EdgeColumns:
        """What the edges in some rows of a table carry; without rows, how to read it from blocks of the table."""
        if self.like is None:
            in_time = one.until(self.settings.until) if rows is None else None
            fitted_on = rows if in_time is None else np.flatnonzero(in_time)
            return read_edge_values(one, rows=fitted_on, streamed=rows is None)
        own = self._layout(()).own(one)
        if own is None or rows is None:
            return EdgeColumns(None)
        return read_edge_values(one, like=own, rows=rows)

    def _layout(self, read: Sequence[EdgeColumns]) -> EdgeLayout:
        """The layout of the edges of all tables: that of the graph before, or the one for what was read."""
        if self.like is not None:
            return EdgeLayout.like(self.like.edge_values, typed=self.typed)
        types = [one.of_type for one in self.edges]
        return EdgeLayout.of(types, [one.values for one in read], directed=self.settings.directed)

    def _joined(self, read: Sequence[EdgeColumns], rows: Sequence[EdgeRows]) -> EdgeValues | None:
        """The values of the edges of all tables, with their cells."""
        layout = self._layout(read)
        if layout.template is None:
            return None
        shown = layout.shown
        if self.like is None:
            shown = tuple(dict.fromkeys(name for one in self.edges for name in self._cells(one)))
        placed = [
            layout.place(one.of_type, own.values, raw_table(one.table, shown, kept.rows))
            for one, own, kept in zip(self.edges, read, rows)
        ]
        held = [values for values in placed if values is not None]
        return functools.reduce(EdgeValues.joined, held) if held else None

    def _in_blocks(self, one: EdgeRoles, layout: EdgeLayout, budget: int) -> Callable[[], Iterator[EdgeRoles]]:
        """A table some rows at a time, as often as it is asked for."""
        own = layout.own(one)
        step = max(1, budget // ROWS_SHARE // (BYTES_A_CELL * (2 + len(self._cells(one)))))
        return (one if own is None else one.as_before(own)).blocks(step)

    def _edge_block(self, one: EdgeRoles, layout: EdgeLayout, found: list[EdgeRows]) -> EdgeBlock:
        """The edges of a block of rows, in the layout of all; counts them in ``found``."""
        rows = self.rows(one)
        values = layout.read(one, rows.rows)
        digests = None if values is None else row_digests(one.table, self._cells(one), rows.rows)
        found.append(rows.take(slice(0)))
        return EdgeBlock(rows.pairs, values, digests)


def _total(reports: Sequence[EdgeReport], found: Sequence[EdgeRows]) -> EdgeReport:
    """What was merged in all."""
    given = sum(one.given - one.dangling - one.later for one in found)
    parts = {part: sum(getattr(one, part) for one in reports) for part in ("self_loops", "reciprocal", "duplicates")}
    return EdgeReport(given=given, **parts)
