"""Tables of nodes and edges that were given: read, checked, and their columns fitted or known from another graph.

An import and rows that join a graph later (`se_gnn.tables.new_nodes`) are the same thing up to here. Tables that do not
fit into memory are read some rows at a time; those that do are one block. Shapes: N nodes of all types, E edges.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues, Graph, RawTable
from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.columns import Column, type_prefix
from se_gnn.graph.rows import features_like
from se_gnn.graph.streaming import EdgeBlock
from se_gnn.tables.edges import ONE, EdgeRoles, EdgeTable, Ids, find_ends, fit_edges
from se_gnn.tables.features import known_columns, raw_table, row_digests
from se_gnn.tables.node_types import dense_if_filled, joined_columns, mean_length, own_columns, type_mark, typed_rows
from se_gnn.tables.nodes import NodeTable
from se_gnn.tables.settings import ImportSettings
from se_gnn.tables.source import BYTES_A_CELL, Table, read_table, rows_within
from se_gnn.tables.structure import encode_structure, fit_structure

DROP = "--set drop_dangling=true leaves these edges out."
JOIN = "New edges join known nodes and the rows of the new table."


def read_given(
    nodes: Mapping[str, Any],
    edges: Sequence[EdgeTable],
    settings: ImportSettings,
    *,
    new: str = "",
    work: Path | None = None,
) -> tuple[dict[str, Table], list[EdgeTable]]:
    """All tables, as they were given; ``work`` is a folder for those that do not fit into memory."""
    how: dict[str, Any] = {name: getattr(settings, name) for name in ("separator", "encoding", "decimal", "missing")}
    how["work"] = work
    of_nodes = {name: read_table(table, what=f"{new}nodes {name}".strip(), **how) for name, table in nodes.items()}
    of_edges = [read_table(one.table, what=f"{new}edges {one.type}".strip(), of_edges=True, **how) for one in edges]
    return of_nodes, [dataclasses.replace(one, table=table) for one, table in zip(edges, of_edges)]


class GivenTables:
    """All tables, with how each column is encoded.

    Args:
        nodes: the table of each type.
        edges: the tables of the edges.
        settings: which columns are what.
        like: a graph that was imported before, whose encoding is used; None: it is fitted.
        joins: the nodes join ``like``, and edges may lead to its nodes.
        budget: bytes of memory to work within; None: the tables fit there.
    """

    def __init__(
        self,
        nodes: Mapping[str, Table],
        edges: Sequence[EdgeTable],
        settings: ImportSettings,
        like: Graph | None,
        *,
        joins: bool = False,
        budget: int | None = None,
    ) -> None:
        self.settings, self.like, self.budget = settings, like, budget
        self.joined = like if joins else None
        self.num_known = like.num_nodes if like is not None and joins else 0
        self.several = ONE not in nodes
        self.nodes = [NodeTable(name, table, settings, like) for name, table in nodes.items()]
        self.ids = self._ids()
        roles = [EdgeRoles.of(settings, one, self.ids) for one in edges]
        self.carried: EdgeValues | None  # by the edges of all tables, as values of no edge
        if like is None:
            self.carried, fitted = fit_edges(roles, settings.until)
        else:
            self.carried = None if like.edge_values is None else like.edge_values.take(np.empty(0, np.int64))
            columns = (self.carried and self.carried.columns) or ()
            fitted = [known_columns(one.table, own_columns(columns, one.of_type)) for one in roles]
        self.edges = [one.like(self.carried, own) for one, own in zip(roles, fitted)]
        self.structure: tuple[Column, ...] = ()  # where no column of the only node table says anything about a node
        self.counts = Counter[str]()  # of rows of the edge tables: given, dangling and later, which are left out

    @property
    def num_nodes(self) -> int:
        """N."""
        return sum(map(len, self.nodes))

    @property
    def has_attributes(self) -> bool:
        """Whether a column says something about a node, or its type does."""
        return self.several or bool(self.nodes[0].fitted.columns)

    @cached_property
    def called_by_type(self) -> bool:
        """Whether nodes are called by their type, too, because ids of two types are the same."""
        if self.joined is None:
            return self.several and len(pc.unique(pa.concat_arrays([one.ids for one in self.nodes]))) < self.num_nodes
        names, known = self.joined.node_names, self.joined.nodes
        first = {name: known.of_type(name)[:1].tolist() for name in self.joined.node_type_names}
        return bool(first) and all(names[node].startswith(f"{name} ") for name, own in first.items() for node in own)

    def names(self) -> list[pa.Array]:
        """What the nodes of each type are called."""
        if not self.called_by_type:
            return [one.ids for one in self.nodes]
        return [pc.binary_join_element_wise(one.type, one.ids, " ") for one in self.nodes]

    def _ids(self) -> dict[str, Ids]:
        """The names of the nodes of each type, as edges call them, and where they are in the graph."""
        firsts = (self.num_known + np.cumsum([0, *map(len, self.nodes)])).tolist()
        if self.joined is None:
            in_blocks = self.budget is not None
            return {one.type: Ids(one.ids, first, in_blocks=in_blocks) for one, first in zip(self.nodes, firsts)}
        found, names = {}, np.array(list(self.joined.node_names), dtype=object)
        new = {one.type: (one.ids, np.arange(first, first + len(one))) for one, first in zip(self.nodes, firsts)}
        for name in self.joined.node_type_names or (ONE,):
            places = self.joined.nodes.of_type(name) if name else np.arange(len(names))
            prefix = f"{name} " if self.called_by_type else ""
            known = pa.array([text.removeprefix(prefix) for text in names[places]], pa.string())
            ids, later = new.get(name, (known[:0], places[:0]))
            found[name] = Ids(pa.concat_arrays([known, ids.cast(pa.string())]), np.concatenate([places, later]))
        return found

    def node_types(self) -> Any:
        """Type of each node, [N], where there are several."""
        if not self.several:
            return None
        known = [one.type for one in self.nodes] if self.joined is None else self.joined.node_type_names
        return np.repeat([known.index(one.type) for one in self.nodes], list(map(len, self.nodes))).astype(np.int32)

    def raw(self) -> RawTable | None:
        """The rows of all tables, columns called by their type; empty where a node is of another type."""
        if self.joined is None:
            whole: Sequence[str] = [type_prefix(one.type) + name for one in self.nodes for name in one.shown]
        elif self.joined.raw is None:
            return None
        else:
            whole = self.joined.raw.columns
        blocks = [raw_table(one.table, whole, prefix=type_prefix(one.type)) for one in self.nodes]
        return functools.reduce(RawTable.joined, blocks)

    def features(self, pairs: IntArray) -> Features:
        """The features of all nodes, in memory.

        If no column says anything about a node, they are those of its edges, ``pairs``: known nodes come first then.
        """
        if not self.has_attributes:
            count, like = self.num_known + self.num_nodes, self.like
            self.structure = (
                fit_structure(self.nodes[0].table.name, count, pairs) if like is None else like.columns or ()
            )
            return encode_structure(self.structure, count, pairs)
        if not self.several:
            return next(self.nodes[0].encode(None))
        blocks = list(self.typed_features())
        if self.like is None:
            return dense_if_filled(blocks)
        whole: Features = features_like(self.like.nodes.features, sp.vstack(blocks)).whole()
        return whole

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that became features, of all types."""
        if self.several:
            return joined_columns({one.type: one.fitted.columns for one in self.nodes}, marked=True)
        return self.structure or self.nodes[0].fitted.columns

    def typed_features(self) -> Iterator[sp.csr_array]:
        """The features of nodes of several types, some rows at a time, each in its place among those of all types."""
        firsts = np.cumsum([0, *(1 + one.fitted.size for one in self.nodes)]).tolist()
        for one, first in zip(self.nodes, firsts):
            held = list(one.encode(None)) if self.budget is None else None
            if self.like is None:
                mark, width = mean_length(held or one.encode(self.budget)), firsts[-1]
            else:
                (mark, first), width = type_mark(self.like, one.type), self.like.num_features
            for block in held or one.encode(self.budget):
                yield typed_rows(block, mark, first, width)

    @cached_property
    def _cells(self) -> tuple[str, ...]:
        """Columns of the edge tables that are shown and tell edges apart: those that the graph before shows, or all."""
        before = None if self.like is None or self.like.edge_values is None else self.like.edge_values.raw
        if before is not None or self.joined is not None:
            return () if before is None else before.columns
        return tuple(dict.fromkeys(name for one in self.edges for name in one.shown))

    def edge_blocks(self) -> Iterator[EdgeBlock]:
        """All edges with what they carry, some rows at a time where they have to fit a budget.

        Cells are kept in memory only; else a digest tells rows apart whose cells differ.
        """
        self.counts, cells, carried = Counter(), self._cells, self.carried
        if carried is not None and self.budget is not None:
            carried = dataclasses.replace(carried, raw=None)
        for one in self.edges:
            for block in one.blocks(rows_within(self.budget, BYTES_A_CELL * (2 + len(one.shown)))):
                pairs, rows = self._rows(block)
                if self.budget is None or carried is None:
                    yield EdgeBlock(pairs, block.read(carried, rows, cells))
                else:
                    yield EdgeBlock(pairs, block.read(carried, rows, ()), row_digests(block.table, cells, rows))
        lost, later = self.counts["dangling"], self.counts["later"]
        if self.edges and lost + later == self.counts["given"]:
            raise InputError(
                f"no row becomes an edge: {lost:,} refer to unknown nodes, {later:,} are after the last date"
            )

    def _rows(self, one: EdgeRoles) -> tuple[IntArray, IntArray]:
        """The nodes that edges join, and their rows; those that are no edges are counted."""
        tables = [of.table.name for of in self.nodes if self.joined is not None or of.type in one.joins]
        if self.joined is None:
            hint = None if self.settings.drop_dangling else DROP
            pairs, rows = find_ends(one, self.ids, nodes=" or ".join(dict.fromkeys(tables)), hint=hint)
        else:
            pairs, rows = find_ends(one, self.ids, nodes=" nor ".join([self.joined.name, *tables]), hint=JOIN)
        in_time = one.until(self.settings.until)
        kept = slice(None) if in_time is None else np.flatnonzero(in_time[rows])
        count = len(one.table)
        self.counts.update(given=count, dangling=count - len(rows), later=len(rows) - len(rows[kept]))
        return pairs[kept], rows[kept]

    def all_edges(self) -> tuple[IntArray, EdgeValues | None]:
        """The ends of all edges, [E, 2], and what they carry, in memory."""
        blocks = list(self.edge_blocks())
        held = [block.values for block in blocks if block.values is not None]
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(block.pairs for block in blocks)])
        return pairs, functools.reduce(EdgeValues.joined, held) if held else None
