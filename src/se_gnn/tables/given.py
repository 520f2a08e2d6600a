"""Tables of nodes and edges that were given: read, checked, and their columns fitted or known from another graph.

An import (`se_gnn.tables.importer`) and rows that join a graph later (:func:`read_new_nodes`) are the same thing up to
here. Tables that do not fit into memory are read some rows at a time; those that do are one block.
Shapes: N nodes of all types, E edges.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import EdgeValues, Graph, RawTable
from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.columns import Column, type_prefix
from se_gnn.graph.extend import NewNodes
from se_gnn.graph.rows import features_like
from se_gnn.graph.streaming import EdgeBlock
from se_gnn.tables.edges import ONE, EdgeRoles, EdgeTable, Ids, edge_tables, fit_edges
from se_gnn.tables.features import known_columns, raw_table, row_digests
from se_gnn.tables.node_types import dense_if_filled, joined_columns, mean_length, own_columns, type_mark, typed_rows
from se_gnn.tables.nodes import NodeTable
from se_gnn.tables.settings import ImportSettings
from se_gnn.tables.source import BYTES_A_CELL, Table, read_table, rows_within
from se_gnn.tables.structure import encode_structure, fit_structure
from se_gnn.tables.values import as_names

LISTED = 10  # dangling edges that an error shows
DROP = "--set drop_dangling=true leaves these edges out."
JOIN = "New edges join known nodes and the rows of the new table."


def read_given(
    nodes: Mapping[str, Any],
    edges: Sequence[EdgeTable],
    settings: ImportSettings,
    *,
    new: str = "",
    work: ExitStack | None = None,
) -> tuple[dict[str, Table], list[EdgeTable]]:
    """All tables, as they were given; with ``work`` they need not fit into memory."""
    of_nodes = {
        name: read_table(table, settings, what=f"{new}nodes {name}".strip(), work=work) for name, table in nodes.items()
    }
    of_edges = [
        read_table(one.table, settings, what=f"{new}edges {one.type}".strip(), of_edges=True, work=work)
        for one in edges
    ]
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
        self.edges = [EdgeRoles(one, settings, self.ids) for one in edges]
        if like is None:
            self.carried = fit_edges(self.edges)  # by the edges of all tables, as values of no edge
        else:
            self.carried = None if like.edge_values is None else like.edge_values.take(np.empty(0, np.int64))
            columns = (self.carried and self.carried.columns) or ()
            for one in self.edges:
                one.fitted = known_columns(one.table, own_columns(columns, one.of_type))
        for one in self.edges:
            one.carry(self.carried)
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

    @cached_property
    def ids(self) -> dict[str, Ids]:
        """The names of the nodes of each type, as edges call them, and where they are in the graph."""
        firsts = (self.num_known + np.cumsum([0, *map(len, self.nodes)])).tolist()
        if self.joined is None:
            in_blocks = self.budget is not None
            return {one.type: Ids(one.ids, first, in_blocks=in_blocks) for one, first in zip(self.nodes, firsts)}
        found, names = {}, np.array(list(self.joined.node_names), dtype=object)
        new = {one.type: (one.ids, np.arange(first, first + len(one))) for one, first in zip(self.nodes, firsts)}
        for name in self.joined.node_type_names or (ONE,):
            places = self.joined.nodes.of_type(name) if name else np.arange(len(names))
            own: Any = names[places]
            if self.called_by_type:
                own = [text.removeprefix(f"{name} ") for text in own]
            known = pa.array(own, pa.string())
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
        return features_like(self.like.nodes.features, sp.vstack(blocks)).whole()

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
            for block in one.table.blocks(rows_within(self.budget, BYTES_A_CELL * (2 + len(one.shown)))):
                pairs, rows = self._rows(one, block)
                if self.budget is None or carried is None:
                    yield EdgeBlock(pairs, one.read(block, carried, rows, cells))
                else:
                    yield EdgeBlock(pairs, one.read(block, carried, rows, ()), row_digests(block, cells, rows))
        lost, later = self.counts["dangling"], self.counts["later"]
        if self.edges and lost + later == self.counts["given"]:
            raise InputError(
                f"no row becomes an edge: {lost:,} refer to unknown nodes, {later:,} are after the last date"
            )

    def _rows(self, one: EdgeRoles, block: Table) -> tuple[IntArray, IntArray]:
        """The nodes that edges join, [E, 2], and their rows, [E]; rows that do not become edges are counted.

        Each end is looked up among the nodes of its type: ids of two types may be the same.
        """
        names = [as_names(block, end, missing=()) for end in one.ends]
        places = np.stack([self.ids[own].positions(column) for own, column in zip(one.joins, names)], axis=1)
        known = np.flatnonzero((places >= 0).all(axis=1))
        if len(known) < len(block):
            self._check_lost(one, block, names, places)
        in_time = one.in_time(block)
        kept = known if in_time is None else known[np.isin(known, in_time)]
        self.counts.update(given=len(block), dangling=len(block) - len(known), later=len(known) - len(kept))
        found = [self.ids[own].in_graph(place) for own, place in zip(one.joins, places[kept].T)]
        return np.stack(found, axis=1), kept

    def _check_lost(self, one: EdgeRoles, block: Table, names: Sequence[pa.Array], places: IntArray) -> None:
        """Refuse ends of another node type, whose edges were not declared, and unknown ends unless they are dropped."""
        joins = one.joins
        for end, texts, own, place in zip(one.ends, names, joins, places.T):
            missing = np.flatnonzero(place < 0)
            for other, known in self.ids.items():
                there = missing[known.positions(texts.take(pa.array(missing))) >= 0] if other != own else missing[:0]
                if len(there):
                    row = int(there[0])
                    message = f"{texts[row].as_py()!r} is a node of type {other}, but these edges join {joins[0]} and "
                    raise block.error(
                        end, row, f"{message}{joins[1]}; edges between other types are a type of their own"
                    )
        tables = [of.table.name for of in self.nodes if self.joined is not None or of.type in joins]
        if self.joined is None:
            nodes, hint = " or ".join(dict.fromkeys(tables)), DROP
        else:
            nodes, hint = " nor ".join([self.joined.name, *tables]), JOIN
        lost = np.flatnonzero((places < 0).any(axis=1))
        if len(lost) == len(block) and block.first is None:
            first, seen = self.ids[joins[0]].names[0].as_py(), names[0][0].as_py()
            raise InputError(
                f"{block.name}: no edge joins two nodes of {nodes}; column {one.ends[0]!r} holds names such as "
                f"{seen!r}, the nodes are called {first!r} and so on; are these the right columns?"
            )
        if self.joined is None and self.settings.drop_dangling:
            return
        which = "refers to an unknown node" if len(lost) == 1 else "refer to unknown nodes"
        lines = []
        for row in lost[:LISTED].tolist():
            for end, texts, own, place in zip(one.ends, names, joins, places[row]):
                if place < 0:
                    name = texts[row].as_py()
                    shown = "no name at all" if name is None else repr(name)
                    of_type = f", which is no {own}" if len(self.ids) > 1 else ""
                    lines.append(f"  row {block.number(row)}, column {end!r}: {shown}{of_type}")
        if len(lost) > LISTED:
            lines.append(f"  and {len(lost) - LISTED:,} more rows")
        listed = ";\n".join(lines)  # which reads well on one line, too
        raise InputError(
            f"{block.name}: {len(lost):,} of {len(block):,} edges {which} (not in {nodes}):\n{listed}.\n"
            f"Rows are counted without the header. {hint}"
        )

    def all_edges(self) -> tuple[IntArray, EdgeValues | None]:
        """The ends of all edges, [E, 2], and what they carry, in memory."""
        blocks = list(self.edge_blocks())
        held = [block.values for block in blocks if block.values is not None]
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(block.pairs for block in blocks)])
        return pairs, functools.reduce(EdgeValues.joined, held) if held else None


def read_new_nodes(
    graph: Graph,
    nodes: Any,
    edges: Any = None,
    *,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    caption: str | None = None,
    ignore: Sequence[str] = (),
    decimal: str | None = None,
    missing: Sequence[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
) -> NewNodes:
    """Read new nodes and their edges; nothing is fitted. Columns that are not named are called as in the import.

    Args:
        graph: the graph that they join, imported from tables.
        nodes: one row per new node, with the columns of the graph's table: a path, a DataFrame or an Arrow table. Where
            the graph has several types of nodes: a dictionary of such tables by type.
        edges: one row per edge, its ends by name; an end is a known node or a new one. Where each edge type had a table
            of its own: a dictionary by type, or a list of :class:`EdgeTable`. None: there are none.
        id: column that names the new nodes.
        source: column with one end of an edge.
        target: column with the other end.
        caption: column with what people see for a node.
        ignore: columns that the graph's table did not have, to be left out; without it they are an error.
        decimal: decimal point of numbers where the encoding does not say; None: detected.
        missing: words that mean "no value".
        separator: between the columns of a CSV file; None: detected.
        encoding: of a CSV file; None: detected.
    """
    if graph.columns is None:
        raise InputError(
            f"{graph.name} was not imported from tables, so that rows of a table cannot be encoded: give the features "
            "of new nodes as an array, SEGNNClassifier.extend(features, edges) in Python"
        )
    sources = dict(nodes) if isinstance(nodes, Mapping) else {ONE: nodes}
    given, values, roles = [] if edges is None else edge_tables(edges), graph.edge_values, dict(graph.nodes.roles)
    by_table = values is not None and values.type is not None and "type" not in dict(values.names)
    edge_types = values.type_names if values is not None and by_table else (ONE,)
    _check_types(graph, "nodes", list(sources), graph.node_type_names or (ONE,))
    _check_types(graph, "edges", [one.type for one in given], edge_types)

    def called(role: str, column: str | None, types: Sequence[str]) -> dict[str, str]:
        """The column of each type that has a role: as named, as in the import, or called as the role is."""
        return {name: column or roles.get(f"{role} of {name}") or roles.get(role, role) for name in types}

    ids = called("id", id, list(sources))
    settings = ImportSettings(
        id=ids.get(ONE, ids),
        label=roles.get("label", "(label)"),
        split=roles.get("split"),
        source=called("source", source, edge_types),
        target=called("target", target, edge_types),
        caption=caption or roles.get("caption"),
        ignore=ignore,
        decimal=decimal,
        missing=missing,
        separator=separator,
        encoding=encoding,
    )
    tables, of_edges = read_given(sources, given, settings, new="new ")
    for name, table in tables.items():
        table.check_has(ids[name], caption, *ignore)
        _check_columns(graph, name, table, settings)
    found = GivenTables(tables, of_edges, settings, graph, joins=True)
    names: list[str] = [name for own in found.names() for name in own.to_pylist()]
    known = graph.nodes.known(names)
    if known:
        first, types = names.index(known[0]), np.repeat(np.arange(len(found.nodes)), list(map(len, found.nodes)))
        one, row = found.nodes[types[first]], int((types[:first] == types[first]).sum())
        raise one.table.error(one.id, row, f"node {known[0]!r} is in {graph.name} already; new nodes have new names")
    pairs, carried = found.all_edges()
    features = found.features(np.concatenate([graph.edges.ends, pairs]) if not found.has_attributes else pairs)
    captions = [text for one in found.nodes for text in one.captions().to_pylist()]
    return NewNodes(
        names=tuple(names),
        features=features[-len(names) :],
        pairs=pairs,
        edge_values=carried,
        known_features=None if found.has_attributes else features[: -len(names)],
        captions=tuple(captions) if any(captions) else None,
        raw=found.raw(),
        node_types=found.node_types(),
        notes=tuple(_notes(found)),
    )


def _notes(found: GivenTables) -> list[str]:
    """What people should know about the rows."""
    notes = []
    for one in found.nodes:
        notes += [*one.table.notes, *one.notes]
        for role, name in (("label", one.settings.label), ("split", one.settings.split)):
            if name in one.table.columns and name not in one.settings.ignore:
                notes.append(
                    f"column {name!r} of {one.table.name} is the {role} of known nodes: it is not read of new ones"
                )
    for one in found.nodes:
        notes += one.fitted.warnings
        seen = [column for column in one.fitted.summaries if "categor" in column.note or "(other)" in column.note]
        notes += [f"column {column.name!r}: {column.note}" for column in seen]
    return notes


def _check_types(graph: Graph, what: str, given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse tables of new nodes or edges of a type that the graph does not have; the only type has no name."""
    if set(given) <= set(known):
        return
    if list(known) == [ONE]:
        raise InputError(f"{graph.name} has {what} of one type: give new {what} as one table, without a type")
    listed = ", ".join(f"{name}=FILE" for name in known)
    raise InputError(f"{graph.name} has several types of {what}: say of which type new {what} are, as {listed}")


def _check_columns(graph: Graph, type_name: str, table: Table, settings: ImportSettings) -> None:
    """Refuse columns that the table of the graph did not have."""
    prefix, shown = type_prefix(type_name), [one.name for one in own_columns(graph.columns or (), type_name)]
    if graph.raw is not None:
        shown = [name.removeprefix(prefix) for name in graph.raw.columns if name.startswith(prefix)]
    known = [*shown, *settings.taken(type_name), *settings.ignore, *filter(None, [settings.caption])]
    unknown = [name for name in table.columns if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise InputError(
            f"{table.name} has columns that the graph's table did not have: {', '.join(map(repr, unknown[:10]))}{hint}"
            f"; leave it out{' of the rows, or in Python' if table.given else ''}: {table.option(unknown[0], 'ignore')}"
        )
