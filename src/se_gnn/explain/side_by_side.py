"""Values of two nodes or edges side by side: which are equal, which are close, and by how much they differ.

One rule for the command line, the report, the explorer and the sentences. Two values are equal if they are the same in
the table. Two numbers or dates are close if hardly any other value lies between them, and they differ by at most half
a standard deviation. Everything else is different, also two rare categories that the encoder cannot tell apart. Shapes:
F features.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from se_gnn.display import node_values
from se_gnn.explain.attributes import CLOSE, attributes_of, has_attribute_names
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.graph.columns import MISSING, OTHER, DateColumn, NumberColumn

MOST_BETWEEN = 0.05  # share of all values that may lie between two that are close
MOST_VALUES = 40
LONGEST = 300  # characters of a text

Likeness = Literal["equal", "close", ""]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """All values of a column, sorted, and their standard deviation."""

    values: FloatArray
    deviation: float

    @classmethod
    def of(cls, column: FloatArray) -> Spread:
        """The spread of a column in any order."""
        values = np.sort(column)
        return cls(values, float(values.std(dtype=np.float64)))


def likeness(
    ours: str, theirs: str, numbers: tuple[float, float] | None = None, among: Spread | None = None
) -> Likeness:
    """Whether two values are equal or close.

    Args:
        ours: the one value, as it is shown.
        theirs: the other.
        numbers: both as numbers, if they can be close.
        among: all values that there are.

    >>> among = Spread.of(np.arange(100.0))
    >>> likeness("7", "7"), likeness("7", "9", (7, 9), among), likeness("7", "30", (7, 30), among)
    ('equal', 'close', '')
    """
    if {ours, theirs} & {MISSING, OTHER, ""}:
        return ""
    if ours == theirs:
        return "equal"
    if numbers is None or among is None:
        return ""
    values = among.values
    low, high = np.searchsorted(values, min(numbers), "right"), np.searchsorted(values, max(numbers), "left")
    apart = abs(numbers[0] - numbers[1]) / max(among.deviation, 1e-300)
    return "close" if high - low <= MOST_BETWEEN * len(values) and apart <= CLOSE else ""


def difference(ours: str, theirs: str) -> str:
    """By how much two numbers or dates differ, in words; nothing of other values.

    >>> difference("118", "120.5"), difference("2024-01-31", "2024-02-02"), difference("a", "b")
    ('2.5 apart', '2 days apart', '')
    """
    try:
        return f"{abs(float(ours) - float(theirs)):.4g} apart"
    except ValueError:
        pass
    try:
        days = abs((datetime.datetime.fromisoformat(ours) - datetime.datetime.fromisoformat(theirs)).days)
    except (TypeError, ValueError):
        return ""
    return "1 day apart" if days == 1 else f"{days} days apart"


@dataclass(frozen=True, slots=True)
class ValueRow:
    """An attribute: the node's value, those of others, and how they are like it."""

    name: str
    value: str
    others: tuple[str, ...]
    alike: tuple[Likeness, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The attributes that are shown, and how many are not."""

    rows: tuple[ValueRow, ...]
    hidden: int


def side_by_side(graph: Graph, node: int, others: Sequence[int]) -> SideBySide:
    """What the data says of a node and of others; nothing if attributes have no names, or nodes are pictures.

    Of a table all columns are there as it has them; of many words those that the node has. If that is too much,
    attributes in which more of the others are alike come first.
    """
    if graph.image_shape is not None or not (has_attribute_names(graph) or graph.raw is not None):
        return SideBySide((), 0)
    table = graph.raw is not None or graph.columns is not None
    rows = _of_table(graph, node, others) if table else _of_features(graph, node, others)
    if len(rows) > MOST_VALUES:
        order = np.argsort([-sum(map(bool, row.alike)) for row in rows], kind="stable")[:MOST_VALUES]
        return SideBySide(tuple(rows[i] for i in sorted(order.tolist())), len(rows) - MOST_VALUES)
    return SideBySide(tuple(rows), 0)


def _of_table(graph: Graph, node: int, others: Sequence[int]) -> list[ValueRow]:
    measured = {one.name: one.first for one in graph.columns or () if isinstance(one, NumberColumn | DateColumn)}
    own, theirs = node_values(graph, node), [node_values(graph, other) for other in others]
    return [
        ValueRow(
            name,
            _short(value),
            tuple(_short(row.get(name, "")) for row in theirs),
            tuple(
                _alike(graph, measured.get(name), value, row.get(name, ""), node, other)
                for other, row in zip(others, theirs)
            ),
        )
        for name, value in own.items()
    ]


def _alike(graph: Graph, feature: int | None, ours: str, theirs: str, node: int, other: int) -> Likeness:
    if feature is None:
        return likeness(ours, theirs)
    numbers = float(_features(graph, node)[feature]), float(_features(graph, other)[feature])
    return likeness(ours, theirs, numbers, _spread(graph, feature))


def _of_features(graph: Graph, node: int, others: Sequence[int]) -> list[ValueRow]:
    """Features by their names; of those that count something, the ones that the node has."""
    known = attributes_of(graph)
    own, theirs = _features(graph, node), [_features(graph, other) for other in others]  # [F] each
    rows = []
    for one in (known.all[i] for i in np.unique(known.owner[~known.counts | (own != 0)]).tolist()):
        value, values = one.show(own[list(one.features)]), [one.show(row[list(one.features)]) for row in theirs]
        feature = None if known.counts[one.features[0]] else one.features[0]
        alike = tuple(
            _alike(graph, feature, value, text, node, other)
            if feature is not None or row[list(one.features)].any()
            else ""
            for text, row, other in zip(values, theirs, others)
        )
        rows.append(ValueRow(one.name, value, tuple(values), alike))
    return rows


@lru_cache(maxsize=64)
def _spread(graph: Graph, feature: int) -> Spread:
    """The spread of a feature; kept for the next call, because one pair of nodes follows another."""
    stored: Any = graph.features[:, [feature]]
    return Spread.of((stored if isinstance(stored, np.ndarray) else stored.toarray())[:, 0])


def _features(graph: Graph, node: int) -> FloatArray:
    stored: Any = graph.features[[node]]
    row: FloatArray = (stored if isinstance(stored, np.ndarray) else stored.toarray())[0]
    return row


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
