"""The rows of a node and of its nearest labeled nodes side by side, with the values that agree marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.display import node_values
from se_gnn.explain.attributes import attributes_of, has_attribute_names
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.graph.columns import MISSING

MOST_VALUES = 40
LONGEST = 300  # characters of a text


@dataclass(frozen=True, slots=True)
class ValueRow:
    """An attribute: the node's value, those of its neighbors, and which of them agree with it."""

    name: str
    value: str
    others: tuple[str, ...]
    agrees: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The attributes that are shown, and how many are not."""

    rows: tuple[ValueRow, ...]
    hidden: int


def side_by_side(graph: Graph, node: int, others: Sequence[int]) -> SideBySide:
    """What the data says of a node and of others; nothing where attributes have no names, or nodes are pictures.

    Of a table all columns are there as it has them; of many words those that the node has. Where that is too much,
    attributes on which more of the others agree come first.
    """
    if graph.image_shape is not None or not (has_attribute_names(graph) or graph.raw is not None):
        return SideBySide((), 0)
    table = graph.raw is not None or graph.columns is not None
    rows = _of_table(graph, node, others) if table else _of_features(graph, node, others)
    if len(rows) > MOST_VALUES:
        order = np.argsort([-sum(row.agrees) for row in rows], kind="stable")[:MOST_VALUES]
        return SideBySide(tuple(rows[i] for i in sorted(order.tolist())), len(rows) - MOST_VALUES)
    return SideBySide(tuple(rows), 0)


def _of_table(graph: Graph, node: int, others: Sequence[int]) -> list[ValueRow]:
    shared = [_shared_names(graph, node, other) for other in others]
    measured = {column.name for column in graph.columns or ()}
    own, theirs = node_values(graph, node), [node_values(graph, other) for other in others]
    return [
        ValueRow(
            name,
            _short(value),
            tuple(_short(row.get(name, "")) for row in theirs),
            tuple(
                (value != MISSING and value == row.get(name)) or (name in measured and name in names)
                for row, names in zip(theirs, shared)
            ),
        )
        for name, value in own.items()
    ]


def _of_features(graph: Graph, node: int, others: Sequence[int]) -> list[ValueRow]:
    """Features by their names; of those that count something, the ones that the node has."""
    known = attributes_of(graph)
    own, theirs = _features(graph, node), [_features(graph, other) for other in others]  # [F] each
    shared = [_shared_names(graph, node, other) for other in others]
    there = np.unique(known.owner[~known.counts | (own != 0)]).tolist()
    return [
        ValueRow(
            one.name,
            one.show(own[list(one.features)]),
            tuple(one.show(row[list(one.features)]) for row in theirs),
            tuple(one.name in names for names in shared),
        )
        for one in (known.all[i] for i in there)
    ]


def _shared_names(graph: Graph, node: int, other: int) -> set[str]:
    return {one.name for one in attributes_of(graph).shared(_features(graph, node), _features(graph, other))}


def _features(graph: Graph, node: int) -> FloatArray:
    stored: Any = graph.features[[node]]
    row: FloatArray = (stored if isinstance(stored, np.ndarray) else stored.toarray())[0]
    return row


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
