"""From tables of nodes and edges to a graph: the order of the steps.

One table of nodes is the simple case of one table per node type, and tables that fit into memory the simple case of
those that do not: columns are read and fitted one at a time (`se_gnn.tables.given`), then rows are encoded in blocks.
In memory a table is one block; else blocks are written to disk (`se_gnn.graph.streaming`).
Shapes: N nodes of all types, E edges.
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
import scipy.sparse as sp

from se_gnn.errors import InputError, did_you_mean
from se_gnn.files import commit_files, locked, remove_tree, visible_names, writing_to
from se_gnn.graph import Edges, EdgeValues, Graph, Nodes
from se_gnn.graph.arrays import Features, IntArray, as_features, dense
from se_gnn.graph.columns import Column
from se_gnn.graph.rows import Rows, as_rows, features_like
from se_gnn.graph.storage import ARRAY_FILES, HEADER, graph_files, is_graph_file, read_graph
from se_gnn.graph.streaming import EdgeBlock, GraphWriter
from se_gnn.tables.edges import EdgeRows, EdgeTable, edge_tables
from se_gnn.tables.features import (
    FittedColumns,
    arrow_texts,
    encode_structure,
    fit_structure,
    row_digests,
    structure_columns,
)
from se_gnn.tables.given import ONE, GivenTables
from se_gnn.tables.imported import TABLE_FILES, Imported
from se_gnn.tables.node_types import dense_if_filled, joined_columns, mean_length, type_mark, typed_rows
from se_gnn.tables.settings import ImportSettings, Summary, is_import_file
from se_gnn.tables.source import FIXED_BYTES, memory_of
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
        imported = _Import.read(sources, tables, settings, like).in_memory()
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
        found = _Import.read(sources, tables, settings, like, work=work, budget=budget)
        return found.streamed(Path(out), work, strict=strict)


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Import(GivenTables):
    """Tables on their way to a graph, in memory or not."""

    def in_memory(self) -> Imported:
        """The graph of tables that fit into memory."""
        blocks = list(self.edge_blocks())
        found = [rows for _, rows in blocks]
        pairs, values = np.concatenate([rows.pairs for rows in found]), None
        if self.carried is not None:
            read = [one.read(self.carried, rows.rows, self.cells) for one, rows in blocks]
            values = functools.reduce(EdgeValues.joined, filter(None, read))
        of_nodes = self.of_nodes if self._has_attributes else [self._structure(pairs)]
        features = as_rows(as_features(self._features(of_nodes, pairs)))
        graph = self._graph(features, Edges.build(pairs, self.num_nodes, values), self._columns(of_nodes))
        nodes, edges = (
            {one.type: one.table.data for one in self.nodes},
            {one.of_type: one.table.data for one in self.edges},
        )
        return Imported(graph, summarize(self, graph, of_nodes, found), self.settings, nodes, edges)

    def streamed(self, out: Path, work: Path, *, strict: bool) -> Imported:
        """The graph of tables that do not fit into memory, written to a folder some rows at a time."""
        assert self.budget is not None
        if not self._has_attributes:
            remedy = "add a column, or raise" if self.like is None else "raise"
            raise InputError(
                f"{self.nodes[0].table.name} has no column that says something about a node; features from the edges "
                f"around it need the tables in memory: {remedy} SE_GNN_MAX_MEMORY"
            )
        writer, columns = GraphWriter(work), self._columns(self.of_nodes)
        width = sum(column.size for column in columns)
        if self.several:
            features = writer.sparse_features(self._typed_features(), width)
        else:
            blocks = map(dense, self.nodes[0].encode(columns, self.budget))
            features = writer.features(blocks, width, self.settings.feature_type)
        found: list[EdgeRows] = []
        carried = None if self.carried is None else dataclasses.replace(self.carried, raw=None)

        def written() -> Iterator[EdgeBlock]:
            for one, rows in self.edge_blocks():
                found.append(rows.take(slice(0)))
                digests = None if carried is None else row_digests(one.table, self.cells, rows.rows)
                yield EdgeBlock(rows.pairs, one.read(carried, rows.rows, ()), digests)

        edges = writer.edges(written(), self.num_nodes, self.budget - FIXED_BYTES * self.num_nodes // 2, carried)
        if not edges.merged.given:
            lost, later = (sum(getattr(one, why) for one in found) for why in ("dangling", "later"))
            raise InputError(
                f"no row becomes an edge: {lost:,} refer to unknown nodes, {later:,} are after the last date"
            )
        graph = self._graph(features, edges, columns)
        imported = Imported(graph, summarize(self, graph, self.of_nodes, found), self.settings, {}, {})
        _check_strict(imported.summary, strict)
        files = graph_files(graph, written=writer.written)
        commit_files(out, {**files, **imported.record()}, remove=(ARRAY_FILES, *TABLE_FILES))
        return dataclasses.replace(imported, graph=read_graph(out, cast(bytes, files[HEADER]), just_written=True))

    def _graph(self, features: Rows, edges: Edges, columns: tuple[Column, ...]) -> Graph:
        """The graph of features and edges, in memory or mapped; cells are kept in memory only."""
        in_memory, caption = self.budget is None, self.settings.caption
        nodes = Nodes(
            features=features,
            names=arrow_texts(self.names()),
            feature_names=tuple(name for column in columns for name in column.feature_names),
            columns=columns,
            captions=caption and arrow_texts(one.captions(caption) for one in self.nodes),
            raw=self.raw() if in_memory else None,
            types=self.node_types(),
            type_names=self.type_names,
            roles=tuple(self.settings.roles.items()),
            verified=not in_memory,
        )
        return Graph(nodes=nodes, edges=edges, target=self.target(), split=self.split(), name=self.name)

    @property
    def _has_attributes(self) -> bool:
        """Whether a column says something about a node, or its type does."""
        return self.several or bool(self.of_nodes[0].columns)

    def _structure(self, pairs: IntArray) -> FittedColumns:
        """Columns for the edges, where no column of the only node table says anything."""
        name, own, like = self.nodes[0].table.name, self.of_nodes[0], self.like
        found = fit_structure(name, self.num_nodes, pairs) if like is None else structure_columns(like.columns or ())
        summaries, warnings = (*own.summaries, *found.summaries), (*own.warnings, *found.warnings)
        return FittedColumns(found.columns, summaries, warnings)

    def _columns(self, of_nodes: Sequence[FittedColumns]) -> tuple[Column, ...]:
        """The columns of all types."""
        if self.several:
            return joined_columns({one.type: own.columns for one, own in zip(self.nodes, of_nodes)}, marked=True)
        return of_nodes[0].columns

    def _features(self, of_nodes: Sequence[FittedColumns], pairs: IntArray) -> Features:
        """The features of all nodes, in memory; ``pairs`` are the edges."""
        if not self._has_attributes:
            return encode_structure(of_nodes[0].columns, self.num_nodes, pairs)
        if not self.several:
            return next(self.nodes[0].encode(of_nodes[0].columns, None))
        blocks = list(self._typed_features())
        if self.like is None:
            return dense_if_filled(blocks)
        whole: Features = features_like(self.like.nodes.features, sp.vstack(blocks)).whole()
        return whole

    def _typed_features(self) -> Iterator[sp.csr_array]:
        """The features of nodes of several types, some rows at a time, each in its place among those of all types."""
        firsts = np.cumsum([0, *(1 + own.size for own in self.of_nodes)]).tolist()
        for one, first, own in zip(self.nodes, firsts, self.of_nodes):
            held = list(one.encode(own.columns, None)) if self.budget is None else None
            if self.like is None:
                mark = mean_length(held or one.encode(own.columns, self.budget))
            else:
                mark, _ = type_mark(self.like, one.type)
            for block in held or one.encode(own.columns, self.budget):
                yield typed_rows(block, mark, first, firsts[-1])
