"""What is kept of the tables of nodes and edges: how each column became features, and the cells as they were given.

A column is plain data, fitted once: it is stored with the graph, travels with the model, and encodes the same column of
new rows (`se_gnn.tables`). How people see its values is `se_gnn.display`. Shapes: N rows, C columns.
"""

from __future__ import annotations

import dataclasses
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Float64Array, Int32Array, check_unique
from se_gnn.graph.rows import Texts, stack, take

MISSING = "(missing)"
OTHER = "(other)"
NO_TEXT = -1  # code of a cell without a value


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(ABC):
    """The fitted encoding of one column of a table.

    Args:
        name: the name in the table.
        first: its first feature.
        size: number of its features.
        marked: the last of them is 1 where the value is missing.

    >>> column = NumberColumn(name="balance", first=3, size=2, marked=True, offset=100, scale=50, decimals=2)
    >>> column.features, column.feature_names
    (range(3, 5), ('balance', 'balance (missing)'))
    """

    kind: ClassVar[str]

    name: str
    first: int
    size: int
    marked: bool = False

    @property
    def features(self) -> range:
        """The features that this column became."""
        return range(self.first, self.first + self.size)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What people see for each of its features."""
        return (*self._feature_names(), *([f"{self.name} {MISSING}"] if self.marked else []))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; :func:`column_from_dict` reads them back."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    def _feature_names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberColumn(Column):
    """A number, brought to mean 0 and variance 1: ``(t(x) - offset) / scale``; a missing one is 0, the mean.

    ``t`` is the number itself, or where ``log_unit`` is given (heavy tails) ``sign(x) log(1 + |x| / log_unit)``.
    """

    kind: ClassVar[str] = "number"

    offset: float
    scale: float
    log_unit: float | None = None
    decimals: int = 0  # as the table writes them
    decimal_point: str = "."

    def encode(self, numbers: Float64Array) -> Float64Array:
        """Feature of each number."""
        if self.log_unit is not None:
            numbers = np.sign(numbers) * np.log1p(np.abs(numbers) / self.log_unit)
        return (numbers - self.offset) / self.scale

    def decode(self, features: Float64Array) -> Float64Array:
        """Number of each feature, as exact as float32 is."""
        numbers = features * self.scale + self.offset
        if self.log_unit is not None:
            numbers = np.sign(numbers) * np.expm1(np.abs(numbers)) * self.log_unit
        return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureColumn(NumberColumn):
    """A number that the edges around a node give, where a table has no attributes; by magnitude."""

    kind: ClassVar[str] = "structure"


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanColumn(Column):
    """0 or 1; a missing value is the share of ones."""

    kind: ClassVar[str] = "boolean"

    words: tuple[str, str]  # what the table writes for 0 and 1
    fill: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryColumn(Column):
    """A 1 in the place of the category; categories without a place share the last one, if there is one."""

    kind: ClassVar[str] = "category"

    categories: tuple[str, ...]
    has_other: bool

    def _feature_names(self) -> tuple[str, ...]:
        names = (*self.categories, OTHER) if self.has_other else self.categories
        return tuple(f"{self.name} = {name}" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class DateColumn(Column):
    """Days since 1970, brought to mean 0 and variance 1; a missing date is 0, the mean."""

    kind: ClassVar[str] = "date"

    offset: float
    scale: float
    pattern: str | None = None  # how the table writes it, for strptime; None: ISO 8601, or a type of its own
    with_time: bool = False

    def encode(self, days: Float64Array) -> Float64Array:
        """Feature of each date."""
        return (days - self.offset) / self.scale


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn(Column):
    """TF-IDF of the words that most rows use, each row of length 1."""

    kind: ClassVar[str] = "text"

    vocabulary: tuple[str, ...]
    idf: tuple[float, ...]

    def _feature_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {word}" for word in self.vocabulary)


KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (NumberColumn, BooleanColumn, CategoryColumn, DateColumn, TextColumn, StructureColumn)
}
TABLE_KINDS = tuple(kind for kind in KINDS if kind != StructureColumn.kind)  # that a column of a table can be


def column_from_dict(values: Mapping[str, Any]) -> Column:
    """The column that :meth:`Column.to_dict` wrote."""
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    kind = fields.pop("kind", None)
    if kind not in KINDS:
        raise InputError(f"a column must be one of {', '.join(KINDS)}, got {kind!r}")
    return KINDS[kind](**fields)


def type_prefix(type_name: str) -> str:
    """What the names of the columns of one type begin with: `paper: year`; nothing for the only type, ``""``."""
    return f"{type_name}: " if type_name else ""


def check_columns(columns: tuple[Column, ...], num_features: int) -> None:
    """Each feature belongs to one column, in their order."""
    first = 0
    for column in columns:
        if column.first != first or column.size < 1 or len(column.feature_names) != column.size:
            raise InputError(
                f"columns must cover the features one after the other: column {column.name!r} has {column.features}"
                f" where feature {first} comes next"
            )
        first += column.size
    if first != num_features:
        raise InputError(f"columns must cover the {num_features} features, they cover {first}")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RawTable:
    """The rows of a node table or an edge table as they were given, kept to be shown; :meth:`from_columns` makes one.

    Every different text is stored once, whichever column it is in, so that a million rows stay small.

    >>> raw = RawTable.from_columns({"country": ["DE", None, "DE"], "note": ["paid late", "refund", None]})
    >>> raw.row(0), raw.row(1)
    ({'country': 'DE', 'note': 'paid late'}, {'country': None, 'note': 'refund'})
    """

    columns: tuple[str, ...]  # names of the columns, in the order of the table
    codes: Int32Array  # which text each cell holds, -1 where it is empty, [N, C]
    texts: Texts  # the different texts

    def __post_init__(self) -> None:
        if self.codes.dtype != np.int32:
            raise InputError(f"raw codes must be int32, got {self.codes.dtype}")
        if len(self.codes.shape) != 2 or self.codes.shape[1] != len(self.columns):
            raise InputError(f"raw must have {len(self.columns)} cells per node, got codes of shape {self.codes.shape}")
        check_unique("columns of raw", self.columns)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[str | None]]) -> RawTable:
        """Cells by column; None if there is no value."""
        places: dict[str, int] = {}
        num_rows = len(next(iter(columns.values()), ()))
        codes = np.full((num_rows, len(columns)), NO_TEXT, np.int32)
        for i, (name, cells) in enumerate(columns.items()):
            if len(cells) != num_rows:
                raise InputError(f"raw must have {num_rows} cells per column, column {name!r} has {len(cells)}")
            codes[:, i] = [NO_TEXT if cell is None else places.setdefault(cell, len(places)) for cell in cells]
        return cls(columns=tuple(columns), codes=codes, texts=Texts.of(places, errors="replace"))

    def __len__(self) -> int:
        return len(self.codes)

    def joined(self, later: RawTable) -> RawTable:
        """These rows, then those of another table with the same columns; the texts of both are kept.

        >>> one, two = RawTable.from_columns({"a": ["x"]}), RawTable.from_columns({"a": ["y", None]})
        >>> [one.joined(two).row(i)["a"] for i in range(3)]
        ['x', 'y', None]
        """
        if self.columns != later.columns:
            raise InputError(f"raw must have the columns {self.columns} in both tables, got {later.columns}")
        moved = np.where(later.codes == NO_TEXT, NO_TEXT, later.codes + len(self.texts)).astype(np.int32)
        codes, texts = stack(self.codes, moved), self.texts.joined(later.texts)
        return RawTable(columns=self.columns, codes=codes, texts=texts)

    def take(self, rows: npt.NDArray[Any]) -> RawTable:
        """Some rows in memory, in their order, by position or mask; all texts are kept.

        >>> RawTable.from_columns({"a": ["x", "y"]}).take(np.array([1])).row(0)
        {'a': 'y'}
        """
        return dataclasses.replace(self, codes=take(self.codes, rows))

    def empty(self, count: int) -> RawTable:
        """``count`` rows with the same columns, all cells empty."""
        return dataclasses.replace(self, codes=np.full((count, len(self.columns)), NO_TEXT, np.int32))

    def row(self, row: int) -> dict[str, str | None]:
        """The cells of one row by column; None if there is no value."""
        codes = self.codes[row].tolist()
        return {name: None if code == NO_TEXT else self.texts[code] for name, code in zip(self.columns, codes)}
