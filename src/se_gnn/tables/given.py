"""The tables of an import as they were given: read, checked, and their columns fitted.

Tables that do not fit into memory are read some rows at a time; those that do are one block.

Shapes: N nodes of all types, E edges.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Classes, EdgeValues, Graph, RawTable
from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.columns import Column, StructureColumn, type_prefix
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.graph.split import Split, split_by_time, split_stratified
from se_gnn.graph.target import Target
from se_gnn.tables.edges import EdgeRoles, EdgeRows, EdgeTable, Ids, find_ends, fit_edges
from se_gnn.tables.features import FittedColumns, encode_columns, fit_columns, known_columns, raw_table
from se_gnn.tables.node_types import name_column, own_columns
from se_gnn.tables.nodes import read_captions, read_ids, read_labels, read_numbers, read_split, with_names
from se_gnn.tables.settings import ColumnSummary, ImportSettings
from se_gnn.tables.source import BYTES_A_CELL, Table, check_memory, read_table, rows_within
from se_gnn.tables.values import read_times

FIRST_EDGE = "edges"  # in place of a column: the date of a node is that of its first edge
READ_WITH = ("separator", "encoding", "decimal", "missing")
ONE = ""  # name of the only node type, and of the only edge type


@dataclass(frozen=True, slots=True, eq=False)
class NodeRows:
    """The rows of one node type, with their ids."""

    type: str
    table: Table
    ids: pa.Array
    notes: list[str]  # what people should know about how it was read

    def like(self, graph: Graph) -> FittedColumns:
        """The encoding of the columns of a graph that was imported before."""
        columns = own_columns(graph.columns or (), self.type)
        if any(isinstance(column, StructureColumn) for column in columns):
            return FittedColumns()
        return known_columns(with_names(self.table, columns, self.ids), columns)

    def encode(self, columns: Sequence[Column], budget: int | None) -> Iterator[Features]:
        """The features of its rows, some rows at a time where they have to fit a budget."""
        bytes_a_row = 8 * (sum(column.size for column in columns) + 4) + BYTES_A_CELL * len(self.table.columns)
        for block in self.table.blocks(rows_within(budget, bytes_a_row)):
            named = with_names(block, columns, self.ids.slice(block.first or 0, len(block)))
            yield encode_columns(named, columns)

    def captions(self, column: str | None) -> pa.Array:
        """What people see for each node; empty where the table does not have the column."""
        if column in self.table.columns:
            return read_captions(self.table, str(column))
        return pa.array([""] * len(self.ids), pa.string())


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable(NodeRows):
    """The table of one node type, and which of its columns are what."""

    id: str
    attributes: list[str]
    settings: ImportSettings

    @classmethod
    def of(cls, type_name: str, table: Table, settings: ImportSettings) -> NodeTable:
        """A table with its ids."""
        column = settings.id_of(type_name or None)
        labeled = settings.label in table.columns
        table.check_has(column)
        ids, notes = read_ids(table, column)
        attributes = settings.attributes(table.columns, type_name or None, labeled=labeled)
        return cls(type_name, table, ids, [*_notes(table, settings), *notes], column, attributes, settings)

    @property
    def shown(self) -> list[str]:
        """Columns whose cells are shown: those of the attributes, and the caption."""
        return [name for name in self.table.columns if name in (*self.attributes, self.settings.caption)]

    def fit(self, *, named: bool) -> FittedColumns:
        """The encoding of its columns.

        Nodes of one of several types are also told apart by their names, if these are few: those that are to be
        ``named``, and those that have no attribute.
        """
        known, given = self.attributes, self.settings
        found = fit_columns(
            self.table,
            known,
            kinds={name: kind for name, kind in given.kinds.items() if not self.type or name in known},
            keep=[name for name in given.keep if name in known],
            text_words=given.text_words,
        )
        if not self.type or (found.columns and not named):
            return found
        names = name_column(self.ids.to_pylist(), self.table.columns)
        return dataclasses.replace(found, columns=(*found.columns, *names))

    def summaries(self, found: FittedColumns) -> Iterator[ColumnSummary]:
        """What became of each column, in their order."""
        given, by_name = self.settings, {column.name: column for column in found.summaries}
        target = "label" if given.target_number is None else "target"
        roles: dict[str | None, str] = {given.label: target, given.split: "split", self.id: "id"}
        for name in self.table.columns:
            summary = by_name.get(name)
            if summary is None:
                kind = "caption" if name == given.caption else roles.get(name, "ignored")
                kind = "left out" if kind == "ignored" and name in self.attributes else kind
                notes = {
                    "target": "the number to predict",
                    "caption": "shown to people, not used as an attribute",
                    "left out": "not part of the encoding",
                }
                summary = ColumnSummary(name=name, kind=kind, note=notes.get(kind, ""))
            elif name == given.caption:
                note = f"; {summary.note}" if summary.note else ""
                summary = dataclasses.replace(summary, note=f"caption of the nodes{note}")
            yield dataclasses.replace(summary, name=type_prefix(self.type) + name)
        for column in found.summaries:
            if column.kind == StructureColumn.kind:
                yield column


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GivenTables:
    """All tables, with how each column is encoded."""

    nodes: list[NodeTable]
    edges: list[EdgeRoles]
    settings: ImportSettings
    like: Graph | None
    labeled: NodeTable
    known: Target  # of the labeled nodes' table
    ids: dict[str, Ids]
    notes: list[str]
    carried: EdgeValues | None  # by the edges of all tables, as values of no edge
    of_edges: list[FittedColumns]  # the attributes of the edges of each table
    of_nodes: list[FittedColumns]  # the attributes of the nodes of each table
    budget: int | None  # bytes of memory to work within; None: the tables fit there

    @classmethod
    def read(
        cls,
        nodes: Mapping[str, Any],
        edges: Sequence[EdgeTable],
        settings: ImportSettings,
        like: Graph | None,
        *,
        work: Path | None = None,
        budget: int | None = None,
    ) -> Self:
        """Read and check all tables, and fit their columns; ``work`` is a folder for those that do not fit memory."""
        how: dict[str, Any] = {name: getattr(settings, name) for name in READ_WITH} | {"work": work}
        tables = {name: read_table(one, what=f"nodes {name}".strip(), **how) for name, one in nodes.items()}
        _check_columns(tables, settings)
        _check_like(like, list(tables), [one.type for one in edges])
        if like is not None:
            _check_as_before(like, settings)
        read = [NodeTable.of(name, table, settings) for name, table in tables.items()]
        own = next(one for one in read if settings.label in one.table.columns)
        known: Target
        if settings.target_number is not None:
            known, of_labels = read_numbers(own.table, settings.target_number, settings.unit)
        else:
            classes = None if like is None else like.class_names
            known, of_labels = read_labels(own.table, settings.label, classes, merge=settings.merge_classes)
        firsts = np.cumsum([0, *(len(one.ids) for one in read)]).tolist()
        ids = {one.type: Ids(one.ids, first, in_blocks=work is not None) for one, first in zip(read, firsts)}
        what = [read_table(one.table, what=f"edges {one.type}".strip(), of_edges=True, **how) for one in edges]
        if budget is not None:
            check_memory([*tables.values(), *what], budget)
        if edges[0].type != ONE:
            _check_edge_columns(what, settings)
        roles = [EdgeRoles.of(settings, one, table, ids) for one, table in zip(edges, what)]
        if like is None:
            carried, of_edges = fit_edges(roles, settings.until)
            of_nodes = [one.fit(named=settings.name_types and one is not own) for one in read]
        else:
            carried = None if like.edge_values is None else like.edge_values.take(np.empty(0, np.int64))
            columns = (carried and carried.columns) or ()
            of_edges = [known_columns(one.table, own_columns(columns, one.of_type)) for one in roles]
            of_nodes = [one.like(like) for one in read]
        notes = [note for one in read for note in one.notes]
        notes += [note for table in what for note in _notes(table, settings)]
        return cls(
            nodes=read,
            edges=[one.like(carried) for one in roles],
            settings=settings,
            like=like,
            labeled=own,
            known=known,
            ids=ids,
            notes=[*notes, *of_labels],
            carried=carried,
            of_edges=of_edges,
            of_nodes=of_nodes,
            budget=budget,
        )

    @property
    def several(self) -> bool:
        """Whether nodes are of several types."""
        return self.nodes[0].type != ONE

    @property
    def typed(self) -> bool:
        """Whether each edge type has a table of its own."""
        return self.edges[0].of_type != ONE

    @property
    def num_nodes(self) -> int:
        """N."""
        return sum(len(one.ids) for one in self.nodes)

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self.settings.name or Path(self.labeled.table.name).stem

    @property
    def first(self) -> int:
        """The first node that may have a label."""
        before = self.nodes[: self.nodes.index(self.labeled)]
        return sum(len(one.ids) for one in before)

    @property
    def type_names(self) -> tuple[str, ...]:
        """The node types, where there are several."""
        return tuple(one.type for one in self.nodes) if self.several else ()

    def node_types(self) -> Any:
        """Type of each node, [N], where there are several."""
        sizes = [len(one.ids) for one in self.nodes]
        return np.repeat(np.arange(len(sizes)), sizes).astype(np.int32) if self.several else None

    def names(self) -> list[pa.Array]:
        """What the nodes of each type are called; by their type, too, where ids of two types are the same."""
        own = [one.ids for one in self.nodes]
        if not self.several or len(pc.unique(pa.concat_arrays(own))) == self.num_nodes:
            return own
        return [pc.binary_join_element_wise(one.type, one.ids, " ") for one in self.nodes]

    def target(self) -> Target:
        """What is predicted, for the nodes of all types."""
        whole = self.known.take(np.empty(0, np.int64)).followed_by_unknown(self.num_nodes)
        array = whole.array.copy()
        array[self.first : self.first + len(self.known)] = self.known.array
        return dataclasses.replace(whole.with_array(array), node_type=self.labeled.type or None)

    def raw(self) -> RawTable:
        """The rows of all tables, columns called by their type; empty where a node is of another type."""
        whole = [type_prefix(one.type) + name for one in self.nodes for name in one.shown]
        blocks = [raw_table(one.table, whole, prefix=type_prefix(one.type)) for one in self.nodes]
        return functools.reduce(RawTable.joined, blocks)

    @property
    def cells(self) -> tuple[str, ...]:
        """Columns of the edge tables that are shown and tell edges apart: those that the graph before shows, or all."""
        before = None if self.like is None or self.like.edge_values is None else self.like.edge_values.raw
        return (
            tuple(dict.fromkeys(name for one in self.edges for name in one.shown)) if before is None else before.columns
        )

    def edge_blocks(self) -> Iterator[tuple[EdgeRoles, EdgeRows]]:
        """Blocks of all edge tables, with the rows that become edges."""
        for one in self.edges:
            for block in one.blocks(rows_within(self.budget, BYTES_A_CELL * (2 + len(one.shown)))):
                yield block, self._rows(block)

    def _rows(self, one: EdgeRoles) -> EdgeRows:
        nodes = " or ".join(dict.fromkeys(of.table.name for of in self.nodes if of.type in one.joins))
        found = find_ends(one, self.ids, nodes=nodes, drop_dangling=self.settings.drop_dangling)
        in_time = one.until(self.settings.until)
        if in_time is None:
            return found
        kept = in_time[found.rows]
        if len(kept) and not kept.any() and one.table.first is None:
            raise InputError(f"until: {one.table.name} has no edge up to {self.settings.until}")
        return dataclasses.replace(found.take(kept), later=int((~kept).sum()))

    def split(self) -> Split:
        """The split that a column gives, or the one of the graph before, by the names of the nodes; else it is drawn.

        Nodes labeled since then form the test set. If no training node of it is present, all labeled nodes vote.
        """
        given, like, own = self.settings, self.like, self.labeled
        labels = self.known.labels if isinstance(self.known, Classes) else np.where(self.known.known, 0, UNKNOWN)
        most = None if given.target_number is not None else given.max_train  # no class can outvote another
        shares: dict[str, Any] = {"train": given.train_share, "validation": given.val_share, "most": most}
        if given.split is not None:
            parts = read_split(own.table, given.split, labels)
        elif like is None and given.split_by_time is not None:
            parts = split_by_time(labels, self._node_times(), **shares, unknown=NO_TIME)
        elif like is None:
            parts = split_stratified(labels, **shares, generator=np.random.default_rng(given.seed))
        else:
            known = np.flatnonzero(labels != UNKNOWN)
            parts = Split(train=self._known_before("train", known), validation=self._known_before("validation", known))
            if not len(parts.train):
                parts = Split(train=known)
            else:
                held = self._known_before("calibration", known)
                rest = np.setdiff1d(known, np.concatenate([parts.train, parts.validation, held]))
                parts = Split(parts.train, parts.validation, rest)
        if like is not None and len(like.calibration):
            others = np.concatenate([parts.train, parts.validation, parts.test])
            free = np.setdiff1d(np.flatnonzero(labels != UNKNOWN), others)
            parts = dataclasses.replace(parts, calibration=self._known_before("calibration", free))
        return Split(**{part: ids + self.first for part, ids in parts.items()})

    def _known_before(self, part: str, nodes: IntArray) -> IntArray:
        """Those of some nodes that are in a part of the split of the graph before, by their names."""
        assert self.like is not None
        then = {self.like.node_names[node] for node in getattr(self.like, part).tolist()}
        names = self.names()[self.nodes.index(self.labeled)].take(pa.array(nodes)).to_pylist()
        return np.array([node for node, name in zip(nodes.tolist(), names) if name in then], dtype=np.int64)

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
        for one, rows in self.edge_blocks():
            if "time" in one.roles:
                times = one.times()[rows.rows]
                dated = times != NO_TIME
                np.minimum.at(first, rows.pairs[dated], times[dated, None])
        return np.where(first == never, NO_TIME, first)[self.first : self.first + len(own.ids)]


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


def _check_columns(tables: Mapping[str, Table], settings: ImportSettings) -> None:
    """Refuse columns that no node table has, and a label column that is not in one of them."""
    if ONE in tables:
        named = (*settings.taken(), *settings.ignore, *settings.keep, settings.caption)
        tables[ONE].check_has(*named)
        return
    holding = [name for name, table in tables.items() if settings.label in table.columns]
    if not holding:
        raise InputError(
            f"no node table has the label column {settings.label!r}: "
            + "; ".join(f"{name} has {', '.join(map(repr, table.columns))}" for name, table in tables.items())
        )
    if len(holding) > 1:
        raise InputError(
            f"the label column {settings.label!r} is in the tables of {' and '.join(holding)}, but one type is labeled"
            ": rename the others"
        )
    tables[holding[0]].check_has(settings.split)
    for name in (settings.caption, *settings.ignore, *settings.keep, *settings.kinds):
        if name is not None and not any(name in table.columns for table in tables.values()):
            raise InputError(f"no node table has a column {name!r}: {', '.join(one.name for one in tables.values())}")


def _check_edge_columns(tables: Sequence[Table], settings: ImportSettings) -> None:
    wanted = [settings.edge_weight, settings.edge_time, *settings.edge_ignore, *settings.edge_kinds]
    for name in (name for name in wanted if name is not None):
        if not any(name in table.columns for table in tables):
            raise InputError(f"no edge table has a column {name!r}: {', '.join(table.name for table in tables)}")


def _check_as_before(like: Graph, settings: ImportSettings) -> None:
    """Refuse settings that contradict the graph that was imported before: it decides how new tables are read."""
    values = like.edge_values
    parts = dict(() if values is None else values.names)
    of_nodes = _kinds(like.columns or (), like.node_type_names)
    of_edges = _kinds((values and values.columns) or (), () if values is None else values.type_names)

    def contradictions() -> Iterator[str]:
        if settings.directed and (values is None or values.direction is None):
            yield "directed"
        for part in ("weight", "type", "time"):
            name = getattr(settings, f"edge_{part}")
            if name not in (None, parts.get(part)) and not (part == "time" and settings.until is not None):
                yield f"edge column {name!r} as {part}"
        for what, kinds, ignored, used in (
            ("column", settings.kinds, settings.ignore, of_nodes),
            ("edge column", settings.edge_kinds, settings.edge_ignore, of_edges),
        ):
            yield from (f"{what} {name!r} as {kind}" for name, kind in kinds.items() if (name, kind) not in used)
            yield from (f"{what} {name!r} as ignore" for name in ignored if name in dict(used))
        yield from (f"column {name!r} as keep" for name in settings.keep if name not in dict(of_nodes))

    found = next(contradictions(), None)
    if found is not None:
        raise InputError(f"{found} contradicts {like.name}, whose encoding the new tables get: leave it out")


def _kinds(columns: Sequence[Column], types: Sequence[str]) -> set[tuple[str, str]]:
    """Names in the tables and kinds of all columns that are encoded."""
    own = [column for one in types for column in own_columns(columns, one)]
    return {(column.name, column.kind) for column in (*columns, *own)}


def _check_like(like: Graph | None, types: Sequence[str], edge_types: Sequence[str]) -> None:
    """Tables for a graph that was imported before are of the same types."""
    if like is None:
        return
    if like.columns is None:
        raise InputError(f"{like.name} was not imported from tables: it has no encoding to apply")
    if like.node_type_names != (() if list(types) == [ONE] else tuple(types)):
        known = ", ".join(f"{name}=FILE" for name in like.node_type_names) or "one table without a type"
        raise InputError(f"nodes: {like.name} has other node types; give its tables in its order: {known}")
    values = like.edge_values
    if list(edge_types) != [ONE] and values is not None:
        unknown = next((name for name in edge_types if name not in values.type_names), None)
        if unknown is not None:
            listed = ", ".join(map(repr, values.type_names))
            raise InputError(f"edges {unknown!r}: the edges of {like.name} are of the types {listed}")
