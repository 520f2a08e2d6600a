"""Edge tables: two columns that name nodes, and what each edge carries: weight, type, time and attributes.

Every column is read over all rows, so that an error names the row of the file, and fitted on those that become edges.
One table of edges between nodes of one type is the simple case of several tables, one per type of edge, each between
two types of nodes. Shapes: E edges, A attributes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import EdgeValues, RawTable
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray, dense
from se_gnn.graph.columns import MISSING, type_prefix
from se_gnn.graph.edge_values import ARRAYS, NO_TIME, as_seconds
from se_gnn.graph.edges import EdgeReport, canonical_edges
from se_gnn.tables.features import FittedColumns, encode_columns, fit_columns, raw_table
from se_gnn.tables.node_types import joined_columns, own_columns
from se_gnn.tables.settings import ColumnSummary, ImportSettings
from se_gnn.tables.source import Table, such_rows
from se_gnn.tables.values import DateForm, as_names, date_form, parse_column, read_times

LISTED = 10  # dangling edges that an error shows
BLOCK = 1 << 16  # names that are made bytes at a time
TEXT_WORDS = 50  # of a text column of edges: their attributes are kept dense
MISSING_PARTS = {"weight": 1, "time": NO_TIME}  # of an edge whose table does not have the column
DROP = "--set drop_dangling=true leaves these edges out."


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EdgeRoles:
    """An edge table, or a block of it, and which of its columns are what; see :class:`ImportSettings`."""

    table: Table
    ends: tuple[str, str]
    of_type: str = ""  # of all its edges
    joins: tuple[str, str] = ("", "")  # the node types
    directed: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)  # the column of each part: weight, type, time
    until_by: str | None = None  # the dates that `until` cuts by, also where edges carry no date
    ignore: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    empty_weight: float | None = None  # of an edge without one; None: the median of the table
    dates: DateForm | None = None  # how dates are written; None: as the table looks

    @classmethod
    def of(cls, settings: ImportSettings, given: EdgeTable, table: Table, ids: Mapping[str, Ids]) -> EdgeRoles:
        """The settings as far as they are about one table; where each type has one, it has some of the columns."""

        def own(names: Iterable[str]) -> list[str]:
            return [name for name in names if name in table.columns or not given.type]

        columns = {"weight": settings.edge_weight, "type": settings.edge_type, "time": settings.edge_time}
        roles = {part: name for part, name in columns.items() if name is not None and own([name])}
        ends, ignore = settings.ends_of(given.type), own(settings.edge_ignore)
        table.check_has(*ends, *roles.values(), *ignore)
        wrong = next((name for name in (*roles.values(), *ignore) if name in ends), None)
        if wrong is not None:
            raise InputError(f"{table.name}: column {wrong!r} is an end of the edges, it cannot be anything else")
        return cls(
            table=table,
            ends=ends,
            of_type=given.type,
            joins=joined_types(given, table, ends, ids),
            directed=settings.directed,
            roles=roles,
            until_by=roles.get("time"),
            ignore=ignore,
            kinds={name: settings.edge_kinds[name] for name in own(settings.edge_kinds)},
        )

    @property
    def shown(self) -> list[str]:
        """Columns whose cells are kept to be shown: all but the ends and those to ignore."""
        return [name for name in self.table.columns if name not in (*self.ends, *self.ignore)]

    def times(self) -> IntArray:
        """The date of each row."""
        return read_times(self.table, str(self.roles.get("time") or self.until_by), self.dates)

    def until(self, date: str | None) -> BoolArray | None:
        """Whether each row is an edge up to a date, or without one; None: all are."""
        if date is None or self.until_by is None:
            return None
        kept: BoolArray = self.times() <= as_seconds(date)
        return kept

    def as_before(self, values: EdgeValues) -> EdgeRoles:
        """The same with the direction and the columns that edge values had before."""
        known = dict(values.names)
        roles: dict[str, str] = {part: known[part] for part in ("weight", "type", "time") if part in known}
        return dataclasses.replace(self, directed=values.direction is not None, roles=roles)

    def blocks(self, rows: int) -> Callable[[], Iterator[EdgeRoles]]:
        """Some rows at a time, as often as asked for, with what they do not show: median weight, and form of dates."""
        whole = self
        if "weight" in self.roles:
            whole = dataclasses.replace(whole, empty_weight=float(np.median(_weights(self)[0])))
        dates = self.roles.get("time") or self.until_by
        if dates is not None:
            whole = dataclasses.replace(whole, dates=date_form(self.table, dates))
        return lambda: (dataclasses.replace(whole, table=table) for table in self.table.blocks(rows))


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
        places = np.minimum(np.searchsorted(self.sorted, keys), len(self.sorted) - 1)
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


@dataclass(frozen=True, slots=True, eq=False)
class EdgeRows:
    """Rows of an edge table that become edges, as positions of nodes, and how many do not."""

    pairs: IntArray  # [E, 2]
    rows: IntArray  # [E], of the edge table
    given: int
    dangling: int = 0  # left out
    later: int = 0  # left out: after the last date

    def take(self, kept: Any) -> EdgeRows:
        """Some of the rows."""
        return dataclasses.replace(self, pairs=self.pairs[kept], rows=self.rows[kept])


def joined_types(given: EdgeTable, table: Table, ends: Sequence[str], ids: Mapping[str, Ids]) -> tuple[str, str]:
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
    source, target = (_type_of(given, table, end, ids) for end in ends)
    return source, target


def _type_of(given: EdgeTable, table: Table, end: str, ids: Mapping[str, Ids]) -> str:
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


def find_ends(
    one: EdgeRoles, ids: Mapping[str, Ids], *, nodes: str, drop_dangling: bool = False, hint: str = DROP
) -> EdgeRows:
    """The nodes that the ends of each edge name; ``nodes`` is what errors call the tables that have them.

    Each end is looked up among the nodes of its type: ids of two types may be the same. An end that is a node of
    another type is an error, because edges between those types were not declared.
    """
    names = [as_names(one.table, end, missing=()) for end in one.ends]
    pairs = np.stack([ids[own].positions(column) for own, column in zip(one.joins, names)], axis=1)
    known = (pairs >= 0).all(axis=1)
    if not known.all():
        _check_lost(one, names, pairs, ids, nodes, None if drop_dangling else hint)
    found = [ids[own].in_graph(place) for own, place in zip(one.joins, pairs[known].T)]
    return EdgeRows(np.stack(found, axis=1), np.flatnonzero(known), len(pairs), int((~known).sum()))


def _check_lost(
    one: EdgeRoles, names: Sequence[pa.Array], pairs: IntArray, ids: Mapping[str, Ids], nodes: str, hint: str | None
) -> None:
    """Refuse ends of another node type, and unknown ends unless dangling edges are dropped."""
    table, joins = one.table, one.joins
    for end, texts, own, places in zip(one.ends, names, joins, pairs.T):
        missing = np.flatnonzero(places < 0)
        for other, known in ids.items():
            there = missing[known.positions(texts.take(pa.array(missing))) >= 0] if other != own else missing[:0]
            if len(there):
                row = int(there[0])
                raise table.error(
                    end,
                    row,
                    f"{texts[row].as_py()!r} is a node of type {other}, but these edges join {joins[0]} and "
                    f"{joins[1]}; edges between other types are a type of their own",
                )
    lost = np.flatnonzero((pairs < 0).any(axis=1))
    if len(lost) == len(table) and table.first is None:
        first, seen = ids[joins[0]].names[0].as_py(), names[0][0].as_py()
        raise InputError(
            f"{table.name}: no edge joins two nodes of {nodes}; column {one.ends[0]!r} holds names such as {seen!r}, "
            f"the nodes are called {first!r} and so on; are these the right columns?"
        )
    if hint is None:
        return
    which = "refers to an unknown node" if len(lost) == 1 else "refer to unknown nodes"
    lines = []
    for row in lost[:LISTED]:
        for end, texts, own, place in zip(one.ends, names, joins, pairs[row]):
            if place < 0:
                name = texts[int(row)].as_py()
                shown = "no name at all" if name is None else repr(name)
                of_type = f", which is no {own}" if len(ids) > 1 else ""
                lines.append(f"  row {table.number(int(row))}, column {end!r}: {shown}{of_type}")
    if len(lost) > LISTED:
        lines.append(f"  and {len(lost) - LISTED:,} more rows")
    listed = ";\n".join(lines)  # which reads well on one line, too
    raise InputError(
        f"{table.name}: {len(lost):,} of {len(table):,} edges {which} (not in {nodes}):\n{listed}.\n"
        f"Rows are counted without the header. {hint}"
    )


def distinct_edges(
    one: EdgeRoles, found: EdgeRows, directed: bool, cells: Sequence[str], count: int
) -> tuple[EdgeRows, EdgeReport | None]:
    """The rows that become edges, in the order of the graph, and what was merged; no report where edges carry nothing.

    Self-loops and rows that agree in everything are left out before anything is fitted. ``count`` is the number of
    nodes.
    """
    if not directed and not cells:
        return found, None
    raw = raw_table(one.table, cells, found.rows)
    direction = np.ones(len(found.rows), np.int8) if directed else None
    _, given, _, report = canonical_edges(found.pairs, count, EdgeValues(direction=direction, raw=raw))
    return found.take(given), report


@dataclass(frozen=True, slots=True, eq=False)
class EdgeColumns:
    """Edge values, None where the table has nothing but ends, and what people should know about them."""

    values: EdgeValues | None
    summaries: tuple[ColumnSummary, ...] = ()
    warnings: tuple[str, ...] = ()


def read_edge_values(
    one: EdgeRoles, *, like: EdgeValues | None = None, rows: IntArray | None = None, streamed: bool = False
) -> EdgeColumns:
    """Values of the edges in some rows of a table without their cells, fitted, or read as those of ``like`` were.

    Args:
        one: the edge table, or a block of it.
        like: values whose columns and types are used, so that nothing is fitted; a type that they do not have is an
            error: nothing was learned about it.
        rows: those that become edges; None: all.
        streamed: the rows do not fit into memory: columns are fitted, and the values are those of no edge. As ``like``
            they then say how to read blocks of the table.
    """
    one = one if like is None else one.as_before(like)
    taken = np.arange(len(one.table)) if rows is None else rows
    parts, warnings = _parts(one, taken, None if like is None else like.type_names or None)
    fitted = FittedColumns((), np.empty((0, 0), np.float32))
    if like is None:
        names = [name for name in one.shown if name not in one.roles.values()]
        fitted = fit_columns(one.table, names, kinds=one.kinds, text_words=TEXT_WORDS, rows=rows, streamed=streamed)
        warnings += fitted.warnings
    elif like.attributes is not None:
        if not like.columns:
            raise InputError(
                "the edges of the graph have attributes that did not come from a table, so that rows of a table cannot "
                "be encoded"
            )
        fitted = encode_columns(one.table, like.columns, rows)
    summaries = (*_role_summaries(one.roles, parts), *fitted.summaries)
    if fitted.columns:
        parts |= {"attributes": dense(fitted.features), "columns": fitted.columns}
        parts["attribute_names"] = tuple(name for column in fitted.columns for name in column.feature_names)
    if streamed:
        parts |= {part: parts[part][:0] for part in ARRAYS if part in parts}
    if not parts:
        return EdgeColumns(None, summaries, tuple(warnings))
    if like is not None and "type" in one.roles:
        parts["type_verbs"] = like.type_verbs
    return EdgeColumns(EdgeValues(**parts, names=tuple(one.roles.items())), summaries, tuple(warnings))


def _parts(
    one: EdgeRoles, rows: IntArray, known_types: Sequence[str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Direction, weight, type and time of each edge, as far as it has them, and what people should know."""
    parts: dict[str, Any] = {}
    warnings: list[str] = []
    table = one.table
    if one.directed:
        parts["direction"] = np.ones(len(rows), np.int8)
    if "weight" in one.roles:
        weights, empty = _weights(one)
        parts["weight"] = weights[rows]
        if empty:
            warnings.append(
                f"{empty:,} edges of {table.name} have no weight: they count as the median edge, {np.median(weights):g}"
            )
    if "type" in one.roles:
        types, names = _types(table, one.roles["type"], rows, known_types)
        parts |= {"type": types, "type_names": names}
    if "time" in one.roles:
        parts["time"] = one.times()[rows]
        undated = int((parts["time"] == NO_TIME).sum())
        if undated:
            warnings.append(f"{undated:,} edges of {table.name} have no date: they are taken as always there")
    return parts, warnings


def _weights(one: EdgeRoles) -> tuple[FloatArray, int]:
    """The weight of each row, and how many are empty: these get the median of the others."""
    table, name = one.table, one.roles["weight"]
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
    empty, usual = int(parsed.missing.sum()), one.empty_weight
    if not empty:
        return weights, 0
    if empty == len(weights) and usual is None:
        raise InputError(f"{table.name}, column {name!r} holds no weight in any row")
    filled = np.where(parsed.missing, np.nanmedian(weights) if usual is None else usual, weights)
    return filled.astype(np.float32), empty


def _types(table: Table, name: str, rows: IntArray, known: Sequence[str] | None) -> tuple[Any, tuple[str, ...]]:
    named = pc.fill_null(as_names(table, name), MISSING).take(pa.array(rows))
    names = tuple(sorted(pc.unique(named).to_pylist()) if known is None else known)
    found = pc.fill_null(pc.index_in(named, value_set=pa.array(names, pa.string())), -1)
    types = found.to_numpy(zero_copy_only=False).astype(np.int32)
    unknown = np.flatnonzero(types < 0)
    if len(unknown):
        text = named[int(unknown[0])].as_py()
        listed = ", ".join(map(repr, names))
        hint = did_you_mean(text, names)
        message = f"{text!r} is not an edge type that the model knows: {listed}{hint}"
        raise table.error(name, int(rows[unknown[0]]), message)
    return types, names


def _role_summaries(roles: Mapping[str, str], parts: dict[str, Any]) -> tuple[ColumnSummary, ...]:
    notes = {}
    if "weight" in parts and len(parts["weight"]):
        notes["weight"] = f"from {parts['weight'].min():g} to {parts['weight'].max():g}"
    if "type" in parts:
        counts = np.bincount(parts["type"], minlength=len(parts["type_names"]))
        notes["type"] = ", ".join(f"{name}: {count:,}" for name, count in zip(parts["type_names"], counts.tolist()))
    if "time" in parts and (parts["time"] != NO_TIME).any():
        dated = parts["time"][parts["time"] != NO_TIME]
        low, high = (str(np.datetime64(int(time), "s").astype("datetime64[D]")) for time in (dated.min(), dated.max()))
        notes["time"] = f"from {low} to {high}"
    return tuple(ColumnSummary(name=name, kind=part, note=notes.get(part, "")) for part, name in roles.items())


@dataclass(frozen=True, slots=True, eq=False)
class EdgeLayout:
    """What the edges of all tables carry as one: a type for each table, its attributes in a block of their own.

    Args:
        types: the type of the edges of each table; one without a name: there is one table, and its edges are as it
            says.
        template: the values of no edge, with all columns of all tables; None: edges carry nothing.
    """

    types: tuple[str, ...]
    template: EdgeValues | None

    @classmethod
    def of(cls, types: Sequence[str], values: Sequence[EdgeValues | None], *, directed: bool) -> EdgeLayout:
        """The layout for tables whose edges carry certain values."""
        if tuple(types) == ("",):
            return cls(("",), values[0])
        parts: dict[str, Any] = {"type": np.empty(0, np.int32), "type_names": tuple(types)}
        if directed:
            parts["direction"] = np.empty(0, np.int8)
        for part in MISSING_PARTS:
            if any(getattr(one, part, None) is not None for one in values):
                parts[part] = np.empty(0, ARRAYS[part])
        columns = joined_columns(
            {name: () if one is None else one.columns or () for name, one in zip(types, values)}, marked=False
        )
        if columns:
            parts |= {"attributes": np.empty((0, columns[-1].features.stop), np.float32), "columns": columns}
            parts["attribute_names"] = tuple(name for column in columns for name in column.feature_names)
        roles = {part: column for one in values if one is not None for part, column in one.names}
        return cls(tuple(types), EdgeValues(**parts, names=tuple(roles.items())))

    @classmethod
    def like(cls, values: EdgeValues | None, *, typed: bool) -> EdgeLayout:
        """The layout of the edges of a graph; ``typed``: each type had a table of its own."""
        template = None if values is None else values.take(np.empty(0, np.int64))
        return cls(template.type_names if typed and template is not None else ("",), template)

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns whose cells are kept to be shown."""
        return () if self.template is None or self.template.raw is None else self.template.raw.columns

    def without_cells(self) -> EdgeLayout:
        """The same for edges whose cells are not kept."""
        return self if self.template is None else EdgeLayout(self.types, dataclasses.replace(self.template, raw=None))

    def own(self, one: EdgeRoles) -> EdgeValues | None:
        """The template of one table: its own columns, by their names there."""
        if self.template is None or self.types == ("",):
            return self.template
        columns = own_columns(self.template.columns or (), one.of_type)
        return dataclasses.replace(
            self.template,
            attributes=np.empty((0, columns[-1].features.stop), np.float32) if columns else None,
            columns=columns or None,
            attribute_names=tuple(name for column in columns for name in column.feature_names) or None,
            names=tuple((part, name) for part, name in self.template.names if name in one.table.columns),
        )

    def read(self, one: EdgeRoles, rows: IntArray | None = None) -> EdgeValues | None:
        """The values of some rows of one table in the layout of all; a type or a category is one of the template's."""
        own = self.own(one)
        if own is None:
            return None
        values = read_edge_values(one, like=own, rows=rows).values
        return self.place(one.of_type, values, raw_table(one.table, self.shown, rows))

    def place(self, type_name: str, values: EdgeValues | None, cells: RawTable) -> EdgeValues | None:
        """The values of the edges of one table, in the layout of all; ``cells`` has a row for each of them.

        Edges without a weight count 1, and those without a date have none.
        """
        count = len(cells)
        whole, raw = self.template, cells if cells.columns else None
        if whole is None or self.types == ("",):
            return None if values is None else dataclasses.replace(values, raw=raw)
        arrays: dict[str, Any] = {"type": np.full(count, self.types.index(type_name), np.int32)}
        if whole.direction is not None:
            arrays["direction"] = np.ones(count, np.int8)
        for part, missing in MISSING_PARTS.items():
            if getattr(whole, part) is not None:
                held = getattr(values, part, None)
                arrays[part] = np.full(count, missing, ARRAYS[part]) if held is None else held
        if whole.columns:
            arrays["attributes"] = np.zeros((count, whole.num_attributes), np.float32)
            own = [column for column in whole.columns if column.name.startswith(type_prefix(type_name))]
            if own and values is not None and values.attributes is not None:
                arrays["attributes"][:, own[0].first : own[-1].features.stop] = values.attributes
        return dataclasses.replace(whole, **arrays, raw=raw)
