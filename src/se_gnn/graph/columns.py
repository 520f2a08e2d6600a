"""What became of the columns of a table: which features each is now, and how a value is read back from them.

A column is plain data, fitted once on training rows: it is stored with the graph, travels with the model, encodes the
same column of new rows (`se_gnn.datasets.tables`), and shows a feature row as people know it from their table.
"""

from __future__ import annotations

import dataclasses
import datetime
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError

MISSING = "(missing)"
OTHER = "(other)"
DIGITS = 6  # that a float32 feature surely keeps of a number

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
    >>> column.features, column.show([1.5, 0]), column.show([0, 1])
    (range(3, 5), '175.00', '(missing)')
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

    def show(self, values: npt.ArrayLike) -> str:
        """The value that the features of a node at :attr:`features` stand for, as it is read in the table."""
        row = np.asarray(values, dtype=np.float64).ravel()
        if row.shape != (self.size,):
            raise InputError(f"column {self.name!r} has {self.size} features, got {len(row)} values")
        if not self.marked:
            return self._show(row)
        return MISSING if row[-1] > 0.5 else self._show(row[:-1])

    def to_dict(self) -> dict[str, Any]:
        """Plain values; :func:`column_from_dict` reads them back."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    @abstractmethod
    def _show(self, row: Values) -> str: ...

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

    def _show(self, row: Values) -> str:
        number = float(self.decode(row)[0])
        whole = len(f"{abs(number):.0f}")
        text = f"{number:.{max(0, min(self.decimals, DIGITS - whole))}f}"
        return "0" + text[2:] if text.startswith("-0") and float(text) == 0 else text


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanColumn(Column):
    """0 or 1; a missing value is the share of ones."""

    kind: ClassVar[str] = "boolean"

    words: tuple[str, str]  # what the table writes for 0 and 1
    fill: float

    def _show(self, row: Values) -> str:
        if row[0] in (0, 1):
            return self.words[int(row[0])]
        return MISSING if np.float32(row[0]) == np.float32(self.fill) else " / ".join(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryColumn(Column):
    """A 1 in the place of the category; categories without a place share the last one, where there is one."""

    kind: ClassVar[str] = "category"

    categories: tuple[str, ...]
    has_other: bool

    def _show(self, row: Values) -> str:
        names = (*self.categories, OTHER)
        return " / ".join(names[i] for i in np.flatnonzero(row)) or OTHER

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

    def _show(self, row: Values) -> str:
        days = float(row[0]) * self.scale + self.offset
        minutes = round(days * 24 * 60) if self.with_time else round(days) * 24 * 60
        try:
            date = datetime.datetime(1970, 1, 1) + datetime.timedelta(minutes=minutes)
        except OverflowError:  # a row that no table holds
            return f"{days:.0f} days after 1970"
        return date.isoformat(sep=" ", timespec="minutes") if self.with_time else date.date().isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn(Column):
    """TF-IDF of the words that training rows use most, each row of length 1."""

    kind: ClassVar[str] = "text"

    vocabulary: tuple[str, ...]
    idf: tuple[float, ...]

    def _show(self, row: Values) -> str:
        order = np.argsort(-row, kind="stable")
        return " ".join(self.vocabulary[i] for i in order if row[i] > 0) or "(no known word)"

    def _feature_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {word}" for word in self.vocabulary)


KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (NumberColumn, BooleanColumn, CategoryColumn, DateColumn, TextColumn)
}


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
