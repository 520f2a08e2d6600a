"""The attributes of a graph as people know them, and its nodes and edges as explanations mention them.

An attribute is a feature, or a column of a table that became several features; of a text each word is one. What is
mentioned of a mapped graph is read by id: only where a value lies among all values of its column is not known then.
Shapes: F features.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np

from se_gnn.display.values import node_values, show_value
from se_gnn.encoder import EdgeColumn, ReadColumn, encoder_features, neighbor_columns, own_edge_columns
from se_gnn.explain.explanation import EdgeInfo, Explanation, NodeInfo, Value
from se_gnn.explain.text import CLOSE
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray, dense
from se_gnn.graph.columns import MISSING, CategoryColumn, Column, DateColumn, NumberColumn, TextColumn
from se_gnn.graph.rows import as_rows, take
from se_gnn.settings import EncoderSettings

LONGEST = 300  # characters of a text
WEIGHT = -1  # in place of an attribute: the weight of the edges

Image = tuple[tuple[float, ...], ...] | None
Info = TypeVar("Info")
Show = Callable[[FloatArray], str]  # how the features of an attribute are read


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A name, the features it stands for, and how their values are read."""

    name: str
    features: tuple[int, ...]
    show: Show
    marker: int | None = None  # the feature that is 1 where the value is missing
    measured: bool = False  # a number or a date, whose values can be close

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
    always: BoolArray  # [F], shown also if it is 0, unlike words and counts
    spread: FloatArray  # [F]
    without: FloatArray  # [F]
    type_marks: IntArray | None = None  # [F], the feature that marks the node type whose column it is; -1: of all types

    def shared(self, ours: FloatArray, theirs: FloatArray) -> list[Attribute]:
        """What two rows [F] have in common; columns of types that one of the nodes is not of do not count."""
        close = np.abs(ours - theirs) <= CLOSE * self.spread
        agree = np.where(self.counts, (ours != 0) & (theirs != 0), close)
        if self.type_marks is not None:
            marks = self.type_marks
            own = (ours[marks] != 0) & (theirs[marks] != 0) & (marks != np.arange(len(marks)))
            agree &= own | (marks < 0)
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
    own, near = own_edge_columns(graph, settings), neighbor_columns(graph, settings)
    read = (*(_of_edges(column, graph) for column in own), *(_of_neighbors(column, graph) for column in near))
    rows = encoder_features(graph, settings) if read else graph.nodes.features.sample()
    found = _attributes(rows, graph.columns, graph.feature_names, read)
    if graph.node_types is None or graph.feature_names is None:
        return found
    return dataclasses.replace(found, type_marks=_marks(graph.feature_names, graph.node_type_names, len(found.owner)))


def _marks(names: Sequence[str], types: Sequence[str], size: int) -> IntArray:
    """Of each feature of a block the one that marks the node type of the block (`se_gnn.tables.node_types`), [F]."""
    marks = np.full(size, -1)
    for one in types:
        if one in names:
            own = [j for j, name in enumerate(names) if name == one or name.startswith(f"{one}: ")]
            marks[own] = names.index(one)
    return marks


@lru_cache(maxsize=1)
def attributes_of_edges(graph: Graph) -> Attributes:
    """The attributes of the edges of a graph, which have some, as those of nodes are; kept for the next call."""
    values = graph.edge_values
    assert values is not None
    return _attributes(as_rows(values.attributes).sample(), values.columns, values.names_of_attributes, ())


def _attributes(
    features: Any, columns: Sequence[Column] | None, names: Sequence[str] | None, own: Sequence[tuple[str, Show]]
) -> Attributes:
    """Of some columns, and of what nodes read of their own edges, a feature each, which come after them."""
    sparse = not isinstance(features, np.ndarray)
    mean = np.asarray(features.mean(axis=0, dtype=np.float64)).ravel()
    squares = features.multiply(features) if sparse else np.square(features, dtype=np.float64)
    spread = np.sqrt(np.maximum(np.asarray(squares.mean(axis=0, dtype=np.float64)).ravel() - mean**2, 0))
    size = features.shape[1] - len(own)
    counts = np.zeros(features.shape[1], dtype=bool)
    if columns is not None:
        always = np.ones(features.shape[1], dtype=bool)
        for column in columns:
            counts[list(column.features)] = isinstance(column, CategoryColumn | TextColumn)
            counts[column.features[-1]] |= column.marked
            always[list(column.features)] = not isinstance(column, TextColumn)
        every = [attribute for column in columns for attribute in _of_column(column)]
    else:
        given = features[:, :size]
        counts[:size] = sparse or (given.min(axis=0) >= 0) & ((given == 0).mean(axis=0) >= 0.5)
        always = ~counts
        names = names or [f"attribute {j}" for j in range(size)]
        every = [Attribute(name, (j,), _number, measured=not counts[j]) for j, name in enumerate(names)]
    every += [Attribute(name, (size + j,), show) for j, (name, show) in enumerate(own)]
    without = np.where(counts, 0, mean)
    owner = np.repeat(np.arange(len(every)), [len(attribute.features) for attribute in every])
    return Attributes(tuple(every), owner, counts, always, spread.astype(np.float32), without.astype(np.float32))


def _of_column(column: Column) -> list[Attribute]:
    features = tuple(column.features)
    if isinstance(column, TextColumn):
        words = zip(column.feature_names, features, (*column.vocabulary, MISSING))
        return [Attribute(name, (j,), partial(_word, word)) for name, j, word in words]
    marker, measured = features[-1] if column.marked else None, isinstance(column, NumberColumn | DateColumn)
    return [Attribute(column.name, features, partial(show_value, column), marker, measured)]


def _of_neighbors(column: ReadColumn, graph: Graph) -> tuple[str, Show]:
    """Name of something that nodes read of their neighbors, and how it is shown: in the units of the node table."""
    if column.values is not None:
        scale, target = column.values, graph.numbers
        return column.name, lambda values: target.text(float(scale.decode(np.asarray(values[:1], np.float64))[0]))
    return column.name, _show_mean(graph.columns, column.feature)


def _of_edges(column: EdgeColumn, graph: Graph) -> tuple[str, Show]:
    """Name of something that nodes read of their edges, and how it is shown: in the units of the edge table."""
    if column.unit is not None:
        unit = column.unit  # of what is read as the logarithm of one plus it
        return column.name, lambda values: f"{unit * float(np.expm1(values[0])):.4g}"
    assert graph.edge_values is not None
    return column.name, _show_mean(graph.edge_values.columns, column.attribute)


def _show_mean(columns: Sequence[Column] | None, feature: int | None) -> Show:
    """How the mean of a feature is shown: as a value of its column; or a number as it was given, such as a share."""
    measured = (given for given in columns or () if isinstance(given, NumberColumn | DateColumn))
    column = next((given for given in measured if given.first == feature), None)
    if column is None:
        return _number
    rest = [0.0] if column.marked else []
    # 0: a node without edges, or with missing values alone
    return lambda values: show_value(column, [values[0], *rest]) if values[0] else "-"


def _word(word: str, values: Sequence[float] | FloatArray) -> str:
    """Of a text the word is shown, not its TF-IDF."""
    return word if values[0] else "-"


def _number(values: Sequence[float] | FloatArray) -> str:
    return f"{float(values[0]):.4g}"


class Mentioned:
    """Nodes and edges of a graph as explanations mention them; each is described once, and shared."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._nodes: dict[int, NodeInfo] = {}
        self._rows: dict[int, tuple[dict[str, Value], Image]] = {}
        self._edges: dict[int, EdgeInfo] = {}

    def nodes(self, ids: Iterable[int], in_full: Iterable[int]) -> dict[int, NodeInfo]:
        """Some nodes; those ``in_full`` with the values of their table."""
        full = list(in_full)
        found = self._known(self._nodes, dict.fromkeys([*ids, *full]), _described_nodes)
        rows = self._known(self._rows, full, _described_rows).items()
        return found | {node: dataclasses.replace(found[node], values=row, image=image) for node, (row, image) in rows}

    def edges(self, ids: IntArray) -> dict[int, EdgeInfo]:
        """Some edges."""
        return self._known(self._edges, ids.tolist(), _described_edges)

    def _known(
        self, known: dict[int, Info], ids: Collection[int], describe: Callable[[Graph, IntArray], dict[int, Info]]
    ) -> dict[int, Info]:
        new = [one for one in ids if one not in known]
        if new:
            known |= describe(self.graph, np.array(new, dtype=np.int64))
        return {one: known[one] for one in ids}


def _described_nodes(graph: Graph, ids: IntArray) -> dict[int, NodeInfo]:
    unknown = [UNKNOWN] * len(ids)
    types = unknown if graph.node_types is None else graph.node_types[ids].tolist()
    labels = unknown if graph.predicts_numbers else graph.labels[ids].tolist()
    numbers = graph.values[ids].tolist() if graph.predicts_numbers else [np.nan] * len(ids)
    columns = zip(ids.tolist(), labels, numbers, np.isin(ids, graph.train).tolist(), types)
    return {
        node: NodeInfo(
            id=node,
            name=graph.node_names[node],
            caption=graph.caption(node),
            label=label,
            number=None if np.isnan(number) else number,
            case=case,
            type=None if type_ == UNKNOWN else graph.node_type_names[type_],
        )
        for node, label, number, case, type_ in columns
    }


def mentioning(explanation: Explanation, graph: Graph, edge_ids: IntArray, nodes: Sequence[int] = ()) -> Explanation:
    """The same with further edges and nodes of the graph in its tables, to be drawn beside its own."""
    found = Mentioned(graph)
    edges = found.edges(edge_ids)
    more = found.nodes([*nodes, *(end for edge in edges.values() for end in edge.ends)], ())
    return dataclasses.replace(explanation, nodes={**more, **explanation.nodes}, edges={**edges, **explanation.edges})


def edge_info(graph: Graph, edge: int) -> EdgeInfo:
    """One edge as explanations mention it."""
    return _described_edges(graph, np.array([edge], dtype=np.int64))[edge]


def _described_edges(graph: Graph, ids: IntArray) -> dict[int, EdgeInfo]:
    values, found = graph.edge_values, {}
    pairs = graph.edges.pairs.take(ids).tolist()
    if values is None:
        return {edge: EdgeInfo(edge, u, v) for edge, (u, v) in zip(ids.tolist(), pairs)}
    direction, type_, weight, attributes = (
        None if array is None else take(array, ids)
        for array in (values.direction, values.type, values.weight, values.attributes)
    )
    weight_name = dict(values.names).get("weight", "weight")
    for i, (edge, (u, v)) in enumerate(zip(ids.tolist(), pairs)):
        leads = 0 if direction is None else int(direction[i])
        own_type = None if type_ is None else values.type_names[type_[i]]
        shown: dict[str, Value] = {}
        if weight is not None:
            spread = _edge_spread(graph, WEIGHT)
            shown[weight_name] = value_among(f"{weight[i]:.4g}", float(weight[i]), spread)
        if attributes is not None:
            row = _row_values(attributes[i], attributes_of_edges(graph), graph, _edge_spread)
            others = [f"{one}: " for one in values.type_names if one != own_type] if own_type is not None else []
            shown |= {name: value for name, value in row.items() if not name.startswith(tuple(others))}
        found[edge] = EdgeInfo(
            id=edge,
            start=v if leads < 0 else u,
            end=u if leads < 0 else v,
            directed=leads != 0,
            type=own_type,
            verb=values.verb(int(type_[i])) if type_ is not None and leads else None,
            weight=None if weight is None else float(weight[i]),
            values=shown,
        )
    return found


def _described_rows(graph: Graph, ids: IntArray) -> dict[int, tuple[dict[str, Value], Image]]:
    """The values of each node, and its pixels if nodes are pictures; nothing if attributes have no names."""
    found: dict[int, tuple[dict[str, Value], Image]] = {node: ({}, None) for node in ids.tolist()}
    if graph.image_shape is None and graph.raw is None and not has_attribute_names(graph):
        return found
    measured = {one.name: one.first for one in graph.columns or () if isinstance(one, NumberColumn | DateColumn)}
    for node, row in zip(ids.tolist(), dense(graph.nodes.features.take(ids))):
        if graph.image_shape is not None:
            found[node] = {}, tuple(map(tuple, row.reshape(graph.image_shape).tolist()))
        elif graph.raw is None and graph.columns is None:
            found[node] = _row_values(row, attributes_of(graph), graph, _node_spread), None
        else:
            values = {}
            for name, text in node_values(graph, node).items():
                short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
                feature = measured.get(name)
                number, spread = (0.0, None) if feature is None else (float(row[feature]), _node_spread(graph, feature))
                values[name] = value_among(short, number, spread)
            found[node] = values, None
    return found


def _row_values(
    row: FloatArray, known: Attributes, graph: Graph, spread: Callable[[Graph, int], Spread]
) -> dict[str, Value]:
    """The values that a row of features [F] stands for; words and counts that are 0 are left out."""
    found = {}
    for i in np.unique(known.owner[known.always | (row != 0)]).tolist():
        one = known.all[i]
        among = spread(graph, one.features[0]) if one.measured else None
        found[one.name] = value_among(one.show(row[list(one.features)]), float(row[one.features[0]]), among)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The values of a column, sorted, and their standard deviation; of a mapped graph those of a sample."""

    values: FloatArray
    deviation: float

    @classmethod
    def of(cls, column: FloatArray) -> Spread:
        """The spread of a column in any order."""
        values = np.sort(column)
        return cls(values, float(values.std(dtype=np.float64)))


def value_among(text: str, number: float, among: Spread | None) -> Value:
    """A value as it is shown, and where it lies among all values of its column, if they are known."""
    if among is None or among.deviation == 0:
        return Value(text)
    below, upto = (float(np.searchsorted(among.values, number, side)) for side in ("left", "right"))
    return Value(text, number / among.deviation, below / len(among.values), upto / len(among.values))


@lru_cache(maxsize=256)
def _node_spread(graph: Graph, feature: int) -> Spread:
    """The spread of a feature; kept for the next call, because one node follows another."""
    return Spread.of(dense(graph.nodes.features.sample()[:, [feature]])[:, 0])


@lru_cache(maxsize=64)
def _edge_spread(graph: Graph, feature: int) -> Spread:
    """The spread of an attribute of the edges, or of their weight."""
    values = graph.edge_values
    assert values is not None
    if feature == WEIGHT:
        return Spread.of(as_rows(values.weight).sample())
    return Spread.of(as_rows(values.attributes).sample()[:, feature])
