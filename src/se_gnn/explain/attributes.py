"""The attributes of a graph as people know them: which features each is, whether two values agree, how one is shown.

An attribute is a feature, or a column of a table that became several features; of a text each word is one.
Shapes: F features.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from se_gnn.display import show_value
from se_gnn.encoder import EdgeColumn, encoder_features, own_edge_columns
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.graph.columns import MISSING, CategoryColumn, Column, DateColumn, NumberColumn, TextColumn
from se_gnn.settings import EncoderSettings

CLOSE = 0.5  # two measured values agree if they differ by at most this many standard deviations of the feature


Show = Callable[[FloatArray], str]  # how the features of an attribute are read


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A name, the features it stands for, and how their values are read."""

    name: str
    features: tuple[int, ...]
    show: Show
    marker: int | None = None  # the feature that is 1 where the value is missing

    def agrees(self, ours: FloatArray, theirs: FloatArray, features_agree: BoolArray) -> bool:
        """Whether two rows [F] have it in common; two missing values are, a missing and a known one are not."""
        if self.marker is not None and (ours[self.marker] or theirs[self.marker]):
            return bool(ours[self.marker] and theirs[self.marker])
        return bool(features_agree[[j for j in self.features if j != self.marker]].any())


@dataclass(frozen=True, slots=True, eq=False)
class Attributes:
    """All attributes of a graph, and of each feature what it takes to agree.

    A feature *counts* something if it is never negative and mostly 0, as words and categories are: two rows agree if
    both have it, and a row without it has 0. All others are measured: two values agree if they are close compared with
    how far the feature spreads, and a row without it has the mean.
    """

    all: tuple[Attribute, ...]
    owner: IntArray  # [F], the attribute that each feature belongs to
    counts: BoolArray  # [F]
    spread: FloatArray  # [F]
    without: FloatArray  # [F]
    kind: IntArray | None = None  # [F], the feature that marks the kind of node whose column it is; -1: of all kinds

    def shared(self, ours: FloatArray, theirs: FloatArray) -> list[Attribute]:
        """What two rows [F] have in common; columns of kinds that one of the nodes is not of do not count."""
        close = np.abs(ours - theirs) <= CLOSE * self.spread
        agree = np.where(self.counts, (ours != 0) & (theirs != 0), close)
        if self.kind is not None:
            own = (ours[self.kind] != 0) & (theirs[self.kind] != 0) & (self.kind != np.arange(len(self.kind)))
            agree &= own | (self.kind < 0)
        candidates = [self.all[i] for i in np.unique(self.owner[agree])]
        return [attribute for attribute in candidates if attribute.agrees(ours, theirs, agree)]


def has_attribute_names(graph: Graph) -> bool:
    """Whether the attributes of a graph can be named to people."""
    return graph.feature_names is not None or graph.columns is not None


@lru_cache(maxsize=2)
def attributes_of(graph: Graph, settings: EncoderSettings | None = None) -> Attributes:
    """The attributes of a graph; kept for the next call, because one pair of nodes follows another.

    With the settings of an encoder, also what it reads of a node's own edges.
    """
    settings = settings or EncoderSettings()
    own = own_edge_columns(graph, settings)
    read = tuple(_of_edges(column, graph) for column in own)
    found = _attributes(encoder_features(graph, settings), graph.columns, graph.feature_names, read)
    if graph.node_types is None or graph.feature_names is None:
        return found
    return dataclasses.replace(found, kind=_marks(graph.feature_names, graph.node_type_names, len(found.owner)))


def _marks(names: Sequence[str], kinds: Sequence[str], size: int) -> IntArray:
    """Of each feature of a block the one that marks the kind of the block (`se_gnn.datasets.kinds`), [F]."""
    marks = np.full(size, -1)
    for kind in kinds:
        if kind in names:
            own = [j for j, name in enumerate(names) if name == kind or name.startswith(f"{kind}: ")]
            marks[own] = names.index(kind)
    return marks


@lru_cache(maxsize=1)
def attributes_of_edges(graph: Graph) -> Attributes:
    """The attributes of the edges of a graph, which have some, as those of nodes are; kept for the next call."""
    values = graph.edge_values
    assert values is not None
    return _attributes(values.attributes, values.columns, values.attribute_names, ())


def _attributes(
    features: Any, columns: Sequence[Column] | None, names: Sequence[str] | None, own: Sequence[tuple[str, Show]]
) -> Attributes:
    """Of some columns, and of what nodes read of their own edges, a feature each, which come after them."""
    dense = isinstance(features, np.ndarray)
    mean = np.asarray(features.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.square(features, dtype=np.float64) if dense else features.multiply(features)
    spread = np.sqrt(np.maximum(np.asarray(squares.mean(axis=0, dtype=np.float64)).ravel() - mean**2, 0))
    size = features.shape[1] - len(own)
    counts = np.zeros(features.shape[1], dtype=bool)
    if columns is not None:
        for column in columns:
            counts[list(column.features)] = isinstance(column, CategoryColumn | TextColumn)
            counts[column.features[-1]] |= column.marked
        every = [attribute for column in columns for attribute in _of_column(column)]
    else:
        counts[:size] = _counted(features[:, :size]) if dense else True
        names = names or [f"attribute {j}" for j in range(size)]
        every = [Attribute(name, (j,), _number) for j, name in enumerate(names)]
    every += [Attribute(name, (size + j,), show) for j, (name, show) in enumerate(own)]
    without = np.where(counts, 0, mean)
    owner = np.repeat(np.arange(len(every)), [len(attribute.features) for attribute in every])
    return Attributes(tuple(every), owner, counts, spread.astype(np.float32), without.astype(np.float32))


def _of_column(column: Column) -> list[Attribute]:
    features = tuple(column.features)
    if isinstance(column, TextColumn):
        words = zip(column.feature_names, features, (*column.vocabulary, MISSING))
        return [Attribute(name, (j,), partial(_word, word)) for name, j, word in words]
    return [Attribute(column.name, features, partial(show_value, column), features[-1] if column.marked else None)]


def _of_edges(column: EdgeColumn, graph: Graph) -> tuple[str, Show]:
    """Name of something that nodes read of their edges, and how it is shown: in the units of the edge table."""
    if column.unit is not None:
        return column.name, partial(_amount, column.unit)
    values = graph.edge_values
    assert values is not None
    for given in values.columns or ():
        if isinstance(given, NumberColumn | DateColumn) and given.first == column.attribute:
            return column.name, partial(_mean, given)
    return column.name, _number  # a share of the edges, or a number as it was given


def _counted(features: FloatArray) -> BoolArray:
    counted: BoolArray = (features.min(axis=0) >= 0) & ((features == 0).mean(axis=0) >= 0.5)
    return counted


def _word(word: str, values: Sequence[float] | FloatArray) -> str:
    """Of a text the word is shown, not its TF-IDF."""
    return word if values[0] else "-"


def _amount(unit: float, values: Sequence[float] | FloatArray) -> str:
    """What is read as the logarithm of one plus it, in a unit."""
    return f"{unit * float(np.expm1(values[0])):.4g}"


def _mean(column: NumberColumn | DateColumn, values: Sequence[float] | FloatArray) -> str:
    """The mean of a column of the edges, as one of its values is shown; a dash where there is none."""
    if values[0] == 0:  # a node without edges, or with missing values alone
        return "-"
    return show_value(column, [values[0], *([0.0] if column.marked else [])])


def _number(values: Sequence[float] | FloatArray) -> str:
    return f"{float(values[0]):.4g}"
