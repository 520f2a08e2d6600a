"""The value of a column that some features stand for, as it is read in the table."""

from __future__ import annotations

import datetime
import functools

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.graph.columns import (
    MISSING,
    OTHER,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
    TextColumn,
    Values,
)

DIGITS = 6  # that a float32 feature surely keeps of a number


def show_value(column: Column, values: npt.ArrayLike) -> str:
    """The value that the features of a node at ``column.features`` stand for.

    >>> column = NumberColumn(name="balance", first=3, size=2, marked=True, offset=100, scale=50, decimals=2)
    >>> show_value(column, [1.5, 0]), show_value(column, [0, 1])
    ('175.00', '(missing)')
    """
    row = np.asarray(values, dtype=np.float64).ravel()
    if row.shape != (column.size,):
        raise InputError(f"column {column.name!r} has {column.size} features, got {len(row)} values")
    if not column.marked:
        return _show(column, row)
    return MISSING if row[-1] > 0.5 else _show(column, row[:-1])


@functools.singledispatch
def _show(column: Column, row: Values) -> str:
    raise InputError(f"column {column.name!r} of kind {column.kind} cannot be shown")


@_show.register
def _(column: NumberColumn, row: Values) -> str:
    number = float(column.decode(row)[0])
    whole = len(f"{abs(number):.0f}")
    text = f"{number:.{max(0, min(column.decimals, DIGITS - whole))}f}"
    return "0" + text[2:] if text.startswith("-0") and float(text) == 0 else text


@_show.register
def _(column: BooleanColumn, row: Values) -> str:
    if row[0] in (0, 1):
        return column.words[int(row[0])]
    return MISSING if np.float32(row[0]) == np.float32(column.fill) else " / ".join(column.words)


@_show.register
def _(column: CategoryColumn, row: Values) -> str:
    names = (*column.categories, OTHER)
    return " / ".join(names[i] for i in np.flatnonzero(row)) or OTHER


@_show.register
def _(column: DateColumn, row: Values) -> str:
    days = float(row[0]) * column.scale + column.offset
    minutes = round(days * 24 * 60) if column.with_time else round(days) * 24 * 60
    try:
        date = datetime.datetime(1970, 1, 1) + datetime.timedelta(minutes=minutes)
    except OverflowError:  # a row that no table holds
        return f"{days:.0f} days after 1970"
    return date.isoformat(sep=" ", timespec="minutes") if column.with_time else date.date().isoformat()


@_show.register
def _(column: TextColumn, row: Values) -> str:
    order = np.argsort(-row, kind="stable")
    return " ".join(column.vocabulary[i] for i in order if row[i] > 0) or "(no known word)"
