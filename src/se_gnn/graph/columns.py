"""What became of the columns of a table: which features each is now, and how its values became them.

A column is plain data, fitted once: it is stored with the graph, travels with the model, and encodes the same column of
new rows (`se_gnn.datasets.tables`). How people see its values is `se_gnn.display`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError

MISSING = "(missing)"
OTHER = "(other)"

Values = npt.NDArray[np.float64]


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

    def encode(self, numbers: Values) -> Values:
        """Feature of each number."""
        if self.log_unit is not None:
            numbers = np.sign(numbers) * np.log1p(np.abs(numbers) / self.log_unit)
        return (numbers - self.offset) / self.scale

    def decode(self, features: Values) -> Values:
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
    """A 1 in the place of the category; categories without a place share the last one, where there is one."""

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

    def encode(self, days: Values) -> Values:
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
