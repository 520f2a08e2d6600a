"""The data of the edges of a graph besides their ends: direction, weight, type, attributes and time.

Every part may be missing. Row e belongs to edge e of `Graph.edges`. A graph with edge values keeps parallel
edges: same ends, different values, each with an id of its own. Shapes: E edges, A attributes.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.files.npy import FINITE, POSITIVE, Rule
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray, check_length, check_unique
from se_gnn.graph.columns import Column, RawTable, check_columns
from se_gnn.graph.rows import as_rows, stack, take

Date = str | int | datetime.date | datetime.datetime
NO_TIME = int(np.iinfo(np.int64).min)  # of an edge without a date: it has always been there
ARRAYS = {  # of one entry per edge, with the type that each has
    "direction": np.int8,
    "weight": np.float32,
    "type": np.int32,
    "attributes": np.float32,
    "time": np.int64,
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EdgeValues:
    """The data of each edge; checked on construction and read-only after.

    Args:
        direction: +1 where the edge leads from its first end to its second, -1 the other way, 0 both ways or none.
            None: no edge has a direction.
        weight: how much the edge counts, above 0. None: all count the same.
        type: type of each edge, a position in ``type_names``. None: all are of one type.
        type_names: what people see for each type.
        type_verbs: what an edge of each type does, for sentences ("pays"). None: the name is the verb.
        attributes: further columns, encoded as those of nodes are. None: there are none.
        attribute_names: what people see for each attribute. None: they are called by their number.
        columns: the columns of a table that the attributes were, each with its encoding.
        time: seconds since 1970, UTC; :data:`NO_TIME` where an edge has no date. None: no edge has one.
        raw: the rows of the edge table as it was given, kept to be shown.
        names: what the table calls its direction, weight, type and time: pairs of part and column.
        verified: values were checked when the files were opened; only sizes and types are looked at.

    Shapes:
        - **direction**, **weight**, **type**, **time:** :math:`(E,)`
        - **attributes:** :math:`(E, A)`

    >>> values = EdgeValues(direction=np.array([1, -1], np.int8), weight=np.array([2, 0.5], np.float32))
    >>> len(values), values.edge_data
    (2, ('direction', 'weight'))
    """

    direction: npt.NDArray[np.int8] | None = None
    weight: FloatArray | None = None
    type: Int32Array | None = None
    type_names: tuple[str, ...] = ()
    type_verbs: tuple[str, ...] | None = None
    attributes: FloatArray | None = None
    attribute_names: tuple[str, ...] | None = None
    columns: tuple[Column, ...] | None = None
    time: IntArray | None = None
    raw: RawTable | None = None
    names: tuple[tuple[str, str], ...] = ()
    verified: InitVar[bool] = False

    def __post_init__(self, verified: bool) -> None:
        present = {name: getattr(self, name) for name in ARRAYS if getattr(self, name) is not None}
        if not present and self.raw is None:
            raise InputError(f"edge values must hold at least one of {', '.join(ARRAYS)} and raw, got none")
        count = len(self)
        for name, array in present.items():
            shape = array.shape
            if array.dtype != ARRAYS[name]:
                raise InputError(f"edge {name} must be {np.dtype(ARRAYS[name])}, got {array.dtype}")
            if shape[:1] != (count,) or len(shape) != (2 if name == "attributes" else 1):
                raise InputError(f"edge {name} must have one entry per edge ({count}), got shape {shape}")
        check_length("edge raw", self.raw, "row per edge", count)
        self._check_names()
        if verified:
            return
        for name, rule in number_rules(self.num_types).items():
            wrong = np.argwhere(name in present and rule.wrong(present[name]))
            if len(wrong):
                value, edge = present[name][tuple(wrong[0])], wrong[0][0]
                raise InputError(
                    f"edge {name} must be {rule.words}, got {value} for edge {edge} ({len(wrong):,} such values)"
                )
        for array in present.values():
            array.setflags(write=False)

    def _check_names(self) -> None:
        names = self.type_names
        if (self.type is None) != (not names):
            raise InputError("edge type and type_names must be given together")
        check_unique("type_names", names)
        check_length("type_verbs", self.type_verbs, "entry per type", len(names))
        if self.attributes is None:
            if self.attribute_names is not None or self.columns is not None:
                raise InputError("attribute_names and columns of edges must come with attributes")
            return
        size = self.num_attributes
        if size == 0:
            raise InputError("edge attributes must have at least one column; None if there are none")
        check_length("attribute_names", self.attribute_names, "entry per attribute", size)
        if self.columns is not None:
            check_columns(self.columns, size)

    def __len__(self) -> int:
        held = next((getattr(self, name) for name in ARRAYS if getattr(self, name) is not None), None)
        return len(held) if held is not None else len(self.raw) if self.raw is not None else 0

    @property
    def num_attributes(self) -> int:
        """A."""
        return 0 if self.attributes is None else int(self.attributes.shape[1])

    @property
    def num_types(self) -> int:
        """Number of types; 0 where edges have none."""
        return len(self.type_names)

    @property
    def edge_data(self) -> tuple[str, ...]:
        """The parts that are there: of direction, weight, type, attributes and time."""
        return tuple(name for name in ARRAYS if getattr(self, name) is not None)

    @property
    def edge_data_words(self) -> dict[str, str]:
        """What people call each part that is there, with the columns it was.

        >>> EdgeValues(weight=np.ones(1, np.float32), names=(("weight", "amount"),)).edge_data_words
        {'weight': "weight (column 'amount')"}
        """
        called = dict(self.names)
        found = {part: part + (f" (column {called[part]!r})" if part in called else "") for part in self.edge_data}
        if "attributes" in found:
            listed = [column.name for column in self.columns] if self.columns else self.names_of_attributes
            found["attributes"] = f"attributes ({', '.join(map(repr, listed))})"
        return found

    @property
    def names_of_attributes(self) -> tuple[str, ...]:
        """What people see for each attribute."""
        return self.attribute_names or tuple(f"attribute {i}" for i in range(self.num_attributes))

    def verb(self, number: int) -> str:
        """What an edge of a type does."""
        return (self.type_verbs or self.type_names)[number]

    def take(self, edges: Any) -> EdgeValues:
        """The values of some edges in memory, in their order: ids, or a mask."""
        return self.with_rows(lambda rows: take(rows, np.asarray(edges)))

    def with_rows(self, change: Callable[[Any], Any]) -> EdgeValues:
        """The same with the rows of each part changed in the same way."""
        arrays: dict[str, Any] = {name: change(getattr(self, name)) for name in self.edge_data}
        raw = None if self.raw is None else dataclasses.replace(self.raw, codes=change(self.raw.codes))
        return dataclasses.replace(self, **arrays, raw=raw, verified=True)

    def reversed(self, flipped: npt.NDArray[np.bool_]) -> EdgeValues:
        """The same with the ends of some edges swapped, [E]: their direction is the other one."""
        if self.direction is None or not flipped.any():
            return self
        direction = np.where(flipped, -self.direction, self.direction).astype(np.int8)
        return dataclasses.replace(self, direction=direction)

    def neutral(self, count: int) -> EdgeValues:
        """Values for ``count`` edges of which nothing is known.

        No direction, the median weight, the most frequent type, each attribute at its mean, no date, empty cells.
        """
        few = len(self) == 0
        usual: dict[str, Callable[[Any], Any]] = {
            "direction": lambda _: 0,
            "weight": lambda given: 1 if few else np.median(given),
            "type": lambda given: np.bincount(given, minlength=1).argmax(),
            "attributes": lambda given: np.zeros(given.shape[1]) if few else given.mean(axis=0),
            "time": lambda _: NO_TIME,
        }
        arrays: dict[str, Any] = {}
        for part in self.edge_data:
            given = as_rows(getattr(self, part)).read()
            arrays[part] = np.full((count, *given.shape[1:]), usual[part](given), given.dtype)
        return dataclasses.replace(self, **arrays, raw=None if self.raw is None else self.raw.empty(count))

    def joined(self, later: EdgeValues) -> EdgeValues:
        """These edges, then those of other values with the same parts, types and columns."""
        if self.layout != later.layout:
            raise InputError(f"edge values must have the same parts to be joined: {self.layout} and {later.layout}")
        arrays: dict[str, Any] = {name: stack(getattr(self, name), getattr(later, name)) for name in self.edge_data}
        raw = None if self.raw is None or later.raw is None else self.raw.joined(later.raw)
        return dataclasses.replace(self, **arrays, raw=raw, verified=True)

    @property
    def layout(self) -> tuple[object, ...]:
        """What two sets of edge values must share to be joined: parts, types, columns."""
        raw = None if self.raw is None else self.raw.columns
        return (self.edge_data, self.type_names, self.num_attributes, self.columns, raw)


def number_rules(num_types: int) -> dict[str, Rule]:
    """What the numbers of each part must be; a time may be any number."""
    return {
        "direction": Rule.between(-1, 1, "1, -1 or 0"),
        "weight": POSITIVE,
        "type": Rule.between(0, num_types - 1, f"from 0 to {num_types - 1}, a position in type_names"),
        "attributes": FINITE,
    }


def as_seconds(date: Date) -> int:
    """The last second of a date: of the day where no time is given; an integer is seconds already.

    >>> as_seconds("1970-01-01"), as_seconds("1970-01-01T00:01"), as_seconds(7)
    (86399, 60, 7)
    """
    if isinstance(date, bool):
        raise InputError(f"a date must be a text such as 2026-03-31, a date or seconds since 1970, got {date!r}")
    if isinstance(date, int):
        return date
    if isinstance(date, str):
        text = date.strip()
        try:
            whole_day = len(text) == len("2026-03-31")
            date = datetime.date.fromisoformat(text) if whole_day else datetime.datetime.fromisoformat(text)
        except ValueError as error:
            raise InputError(f"a date must look like 2026-03-31 or 2026-03-31T12:00, got {text!r}") from error
    if isinstance(date, datetime.datetime):
        moment = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
        return int(moment.timestamp() // 1)
    day = datetime.datetime.combine(date, datetime.time.max, tzinfo=datetime.UTC)
    return int(day.timestamp() // 1)
