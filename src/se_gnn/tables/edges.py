"""Edge tables: two columns that name nodes, and what each edge carries: weight, type, time and attributes.

Every column is read over all rows, so that an error names the row of the file, and fitted on all of them, or on those
up to a date.
One table of edges between nodes of one type is the simple case of several tables, one per type of edge, each between
two types of nodes. Shapes: E edges, A attributes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import EdgeValues
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray, dense
from se_gnn.graph.columns import MISSING, type_prefix
from se_gnn.graph.edge_values import ARRAYS, NO_TIME, as_seconds
from se_gnn.tables.features import FittedColumns, encode_columns, fit_columns, raw_table
from se_gnn.tables.node_types import joined_columns, own_columns
from se_gnn.tables.settings import ImportSettings
from se_gnn.tables.source import Table, such_rows
from se_gnn.tables.values import as_names, date_form, parse_column, read_times

ONE = ""  # name of the only node type, and of the only edge type
BLOCK = 1 << 16  # names that are made bytes at a time
TEXT_WORDS = 50  # of a text column of edges: their attributes are kept dense


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EdgeTable:
    """The edges of one type.

    Args:
        type: what people see, a verb at best: "writes".
        table: one row per edge: a path, a DataFrame, or an Arrow table.
        joins: the node type of its sources and that of its targets; None: found from the ids.
    """

    type: str
    table: Any
    joins: tuple[str, str] | None = None


def edge_tables(edges: Any) -> list[EdgeTable]:
    """Edge tables as people give them: one without a type, a dictionary by type, or a list."""
    if isinstance(edges, Mapping):
        return [EdgeTable(type=name, table=table) for name, table in edges.items()]
    return list(edges) if isinstance(edges, list | tuple) else [EdgeTable(type="", table=edges)]


class EdgeRoles:
    """An edge table, and which of its columns are what; see :class:`ImportSettings`. It is read whole or in blocks."""

    def __init__(self, given: EdgeTable, settings: ImportSettings, ids: Mapping[str, Ids]) -> None:
        self.table: Table = given.table
        self.of_type, self.ends = given.type, settings.ends_of(given.type)
        self.table.check_has(*self.ends)
        columns = {"weight": settings.edge_weight, "type": settings.edge_type, "time": settings.edge_time}
        # where each type has a table, it has some of the columns
        self.roles = {part: name for part, name in columns.items() if name in self.table.columns and name is not None}
        self.ignore = [name for name in settings.edge_ignore if name in self.table.columns]
        wrong = next((name for name in (*self.roles.values(), *self.ignore) if name in self.ends), None)
        if wrong is not None:
            raise InputError(f"{self.table.name}: column {wrong!r} is an end of the edges, it cannot be anything else")
        self.joins = _joined_types(given, self.ends, ids)  # the node types
        self.kinds = {name: kind for name, kind in settings.edge_kinds.items() if name in self.table.columns}
        self.directed, self.until = settings.directed, settings.until
        self.until_by = self.roles.get("time")  # the dates that `until` cuts by, also where edges carry no date
        self.empty_weight: float | None = None  # of an edge without one; None: the median of the table
        self.dates: tuple[str, str | None] | None = None  # how dates are written; None: as the table looks
        self.fitted = FittedColumns()  # the encoding of its attributes
        self.notes: list[str] = []  # what people should know about the roles

    @property
    def shown(self) -> list[str]:
        """Columns whose cells are kept to be shown: all but the ends and those to ignore."""
        return [name for name in self.table.columns if name not in (*self.ends, *self.ignore)]

    @property
    def dated_by(self) -> str | None:
        """The column with dates."""
        return self.roles.get("time") or self.until_by

    def times(self, block: Table) -> IntArray:
        """The date of each row."""
        return read_times(block, str(self.dated_by), self.dates)

    def in_time(self, block: Table) -> IntArray | None:
        """The rows that are edges up to the last date, or without one; None: all are."""
        if self.until is None or self.until_by is None:
            return None
        return np.flatnonzero(self.times(block) <= as_seconds(self.until))

    def fit(self) -> None:
        """Fit the encoding of its attributes; rows after the last date have no influence."""
        names = [name for name in self.shown if name not in self.roles.values()]
        rows = self.in_time(self.table)
        self.fitted = fit_columns(self.table, names, kinds=self.kinds, text_words=TEXT_WORDS, rows=rows)

    def carry(self, template: EdgeValues | None) -> None:
        """Take over the direction and the columns that the edges of a graph carry.

        What a block of rows does not show is found in the whole table: the median weight, and the form of dates.
        """
        known = () if template is None else template.names
        self.roles = {part: name for part, name in known if not self.of_type or name in self.table.columns}
        self.directed = template is not None and template.direction is not None
        if "weight" in self.roles:
            weights, empty = self.weights(self.table)
            self.empty_weight = float(np.median(weights))
            if empty:
                why = f"have no weight: they count as the median edge, {self.empty_weight:g}"
                self.notes.append(f"{empty:,} edges of {self.table.name} {why}")
        if self.dated_by is not None:
            self.dates = date_form(self.table, self.dated_by)
            undated = int((self.times(self.table) == NO_TIME).sum()) if "time" in self.roles else 0
            if undated:
                self.notes.append(
                    f"{undated:,} edges of {self.table.name} have no date: they are taken as always there"
                )

    def weights(self, table: Table) -> tuple[FloatArray, int]:
        """The weight of each row, and how many are empty: these get the median of the others."""
        name = self.roles["weight"]
        parsed = parse_column(table, name, kind="number")
        assert parsed.numbers is not None
        numbers = parsed.numbers
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            weights: FloatArray = numbers.astype(np.float32)
            wrong = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)) & ~parsed.missing)
        if len(wrong):
            row = int(wrong[0])
            text = f"a weight must be above 0, got {numbers[row]:g}; leave out an edge that does not count"
            remedy = f"or use the column as an attribute: {table.option(name, 'number')}"
            raise table.error(name, row, f"{text}, {remedy} ({such_rows(len(wrong))})")
        empty, usual = int(parsed.missing.sum()), self.empty_weight
        if not empty:
            return weights, 0
        if empty == len(weights) and usual is None:
            raise InputError(f"{table.name}, column {name!r} holds no weight in any row")
        filled = np.where(parsed.missing, np.nanmedian(weights) if usual is None else usual, weights)
        return filled.astype(np.float32), empty

    def types(self, block: Table, known: Sequence[str], rows: IntArray) -> Int32Array:
        """The type of some rows, positions in those that are ``known``; another one is an error."""
        if "type" not in self.roles:
            if self.of_type not in known:
                raise InputError(f"{self.table.name}: name the type of these edges, one of {', '.join(known)}")
            return np.full(len(rows), known.index(self.of_type), np.int32)
        named = type_names(block, self.roles["type"]).take(pa.array(rows))
        found = pc.fill_null(pc.index_in(named, value_set=pa.array(known, pa.string())), -1)
        types: Int32Array = found.to_numpy(zero_copy_only=False).astype(np.int32)
        unknown = np.flatnonzero(types < 0)
        if len(unknown):
            text = named[int(unknown[0])].as_py()
            message = f"{text!r} is not an edge type that the model knows: {', '.join(map(repr, known))}"
            raise block.error(self.roles["type"], int(rows[unknown[0]]), message + did_you_mean(text, known))
        return types

    def read(
        self, block: Table, template: EdgeValues | None, rows: IntArray, cells: Sequence[str]
    ) -> EdgeValues | None:
        """What the edges in some rows of a block carry: all that the template does, and the cells of some columns.

        Edges whose table has no weight count 1, those without a date have none, and attributes of others are 0.
        """
        if template is None:
            return None
        arrays: dict[str, Any] = {}
        if template.direction is not None:
            arrays["direction"] = np.ones(len(rows), np.int8)
        if template.weight is not None:
            arrays["weight"] = (
                self.weights(block)[0][rows] if "weight" in self.roles else np.ones(len(rows), np.float32)
            )
        if template.type is not None:
            arrays["type"] = self.types(block, template.type_names, rows)
        if template.time is not None:
            arrays["time"] = self.times(block)[rows] if "time" in self.roles else np.full(len(rows), NO_TIME)
        if template.attributes is not None:
            if not template.columns:
                raise InputError(
                    "the edges of the graph have attributes that did not come from a table, so that rows of a table "
                    "cannot be encoded"
                )
            first = next((one.first for one in template.columns if one.name.startswith(type_prefix(self.of_type))), 0)
            own = dense(encode_columns(block, own_columns(template.columns, self.of_type), rows))
            arrays["attributes"] = np.zeros((len(rows), template.num_attributes), np.float32)
            arrays["attributes"][:, first : first + own.shape[1]] = own
        return dataclasses.replace(template, **arrays, raw=raw_table(block, cells, rows) if cells else None)


def fit_edges(edges: Sequence[EdgeRoles]) -> EdgeValues | None:
    """Fit what the edges of all tables carry, as values of no edge; None: nothing.

    Where each edge type has a table of its own, its attributes are a block of their own.
    """
    for one in edges:
        one.fit()
    roles = {part: name for one in edges for part, name in one.roles.items()}
    parts: dict[str, Any] = {part: np.empty(0, ARRAYS[part]) for part in roles}
    if edges[0].directed:
        parts["direction"] = np.empty(0, np.int8)
    if edges[0].of_type:
        parts |= {"type": np.empty(0, np.int32), "type_names": tuple(one.of_type for one in edges)}
    elif "type" in roles:
        named = type_names(edges[0].table, roles["type"])
        rows = edges[0].in_time(edges[0].table)
        named = named if rows is None else named.take(pa.array(rows))
        parts["type_names"] = tuple(sorted(pc.unique(named).to_pylist()))
    columns = joined_columns({one.of_type: one.fitted.columns for one in edges}, marked=False)
    if columns:
        parts |= {"attributes": np.empty((0, columns[-1].features.stop), np.float32), "columns": columns}
        parts["attribute_names"] = tuple(name for column in columns for name in column.feature_names)
    return EdgeValues(**parts, names=tuple(roles.items())) if parts else None


def type_names(table: Table, column: str) -> pa.Array:
    """The edge type that each row names."""
    return pc.fill_null(as_names(table, column), MISSING)


class Ids:
    """The names of the nodes of one type, and where they are in the graph: from a place on, or each at its own.

    A search in sorted names serves any number of blocks of rows; one whole table is looked up at once.
    """

    def __init__(self, names: pa.Array, places: int | IntArray = 0, *, in_blocks: bool = False) -> None:
        self.names, self.places, self.in_blocks = names, places, in_blocks
        if in_blocks:
            keys = self._keys(names)
            self.whole = keys.dtype == np.int64
            self.order = np.argsort(keys, kind="stable")
            self.sorted = keys[self.order]

    def positions(self, names: pa.Array) -> IntArray:
        """Position of each name among the nodes of this type; -1 where there is none."""
        if not self.in_blocks:
            found = pc.fill_null(pc.index_in(names, value_set=self.names), -1).to_numpy(zero_copy_only=False)
            return np.asarray(found, np.int64)
        if self.whole:
            whole = pc.match_substring_regex(names, _WHOLE)
            names = pc.if_else(whole, names, None)
        keys = self._keys(names.drop_null(), whole=self.whole)
        asked, back = np.unique(keys, return_inverse=True)  # in their order the search stays within the cache
        places = np.minimum(np.searchsorted(self.sorted, asked), len(self.sorted) - 1)[back]
        found = np.full(len(names), -1, np.int64)
        there = self.sorted[places] == keys
        found[np.flatnonzero(names.is_valid().to_numpy(zero_copy_only=False))[there]] = self.order[places[there]]
        return found

    def in_graph(self, positions: IntArray) -> IntArray:
        """Nodes of the graph at some positions among those of this type."""
        return positions + self.places if isinstance(self.places, int) else self.places[positions]

    @staticmethod
    def _keys(names: pa.Array, *, whole: bool | None = None) -> Any:
        """Names as whole numbers where all are, else as bytes."""
        if whole is None:
            whole = pc.all(pc.match_substring_regex(names, _WHOLE)).as_py() is not False
        if whole:
            return names.cast(pa.int64()).to_numpy(zero_copy_only=False)
        width = max(1, pc.max(pc.binary_length(names)).as_py() or 0)
        keys = np.empty(len(names), f"S{width}")
        for low in range(0, len(names), BLOCK):  # some at a time: a list of all would take several times the memory
            keys[low : low + BLOCK] = np.array(names.slice(low, BLOCK).cast(pa.binary()).to_pylist(), f"S{width}")
        return keys


_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # each number is written in one way


def _joined_types(given: EdgeTable, ends: Sequence[str], ids: Mapping[str, Ids]) -> tuple[str, str]:
    """The node types that an edge table joins: as declared, or those that have the most of its ids."""
    if len(ids) == 1:
        only = next(iter(ids))
        return only, only
    if given.joins is not None:
        unknown = next((name for name in given.joins if name not in ids), None)
        if unknown is not None:
            raise InputError(
                f"edges {given.type!r} join {' and '.join(given.joins)}, but no table has nodes of type {unknown!r}; "
                f"types are {', '.join(ids)}"
            )
        return given.joins
    source, target = (_type_of(given, end, ids) for end in ends)
    return source, target


def _type_of(given: EdgeTable, end: str, ids: Mapping[str, Ids]) -> str:
    table: Table = given.table
    names = as_names(table, end, missing=())
    found = {name: int((known.positions(names) >= 0).sum()) for name, known in ids.items()}
    most = max(found.values())
    best = [name for name, count in found.items() if count == most]
    if most == 0:
        raise InputError(
            f"{table.name}, column {end!r}: no value is the id of a node, the first is {names[0].as_py()!r}; "
            f"the types of nodes are {', '.join(ids)}"
        )
    if len(best) > 1:
        raise InputError(
            f"{table.name}, column {end!r} holds ids of {' and of '.join(best)}; declare which types its edges join: "
            f"--edges {given.type}:{best[0]}-{best[1]}=FILE"
        )
    return best[0]
