r"""What a node reads beside its own attributes: columns made of its edges, and of its neighbors.

Of its edges of each side (outgoing, incoming; one side where edges have no direction) a node reads, for each type, the
logarithm of one plus their number, and of one plus their weights (in units of the mean weight); and for each side the
mean of each attribute, 0 where there are no such edges.

Of its neighbors a node reads means of their attributes and of their known values. With :math:`P = D^{-1} A` one step
leads to the mean over the neighbors, and :math:`P^2` without its diagonal to that over their neighbors: a path that
returns would bring a node its own value. Attributes are averaged over one and over two steps. Values are averaged over
the nodes whose value may be read, those that vote and are not hidden (:class:`se_gnn.graph.target.Numbers`): for each
step the share of these nodes, and their mean, drawn towards the mean of all where they are few; for the first step also
the means of *their* attributes, so that a value can be judged by what it belongs to.

Shapes: N nodes, E edges, F features, S columns, A attributes of edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Features, Float64Array, FloatArray, IntArray
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.rows import Rows, as_rows
from se_gnn.settings import EncoderSettings

PRIOR = 0.05  # share of the neighbors that the mean of all values counts as
STEPS = ("neighbors", "neighbors of neighbors")
MOST_FEATURES = 256  # whose means are read unless they are asked for


def encoder_features(graph: Graph, settings: EncoderSettings) -> Features:
    """The attributes X, and beside them what a node reads of its own edges and of its neighbors, [N, F + S]."""
    parts = [own_edges(graph, np.arange(graph.num_nodes))] if own_edge_columns(graph, settings) else []
    if settings.read_neighbors or settings.read_values:
        parts.append(Neighborhood(graph, settings).columns())
    if not parts:
        return graph.features
    read = np.concatenate(parts, axis=1)
    if isinstance(graph.features, np.ndarray):
        return np.concatenate([graph.features, read], axis=1)
    return sp.csr_array(sp.hstack([graph.features, sp.csr_array(read)], format="csr"), dtype=np.float32)


def num_read(graph: Graph, settings: EncoderSettings) -> int:
    """How many numbers the encoder reads of each node, F + S."""
    return graph.num_features + len(own_edge_columns(graph, settings)) + len(neighbor_columns(graph, settings))


class EdgeColumn(NamedTuple):
    """A column of what nodes read of their edges: its name, and what one of its values stands for.

    An amount is read as the logarithm of one plus the amount in a ``unit``: 1 where edges are counted, the mean weight
    where weights are summed. A mean is that of an ``attribute`` of the edges, in the units of the encoding.
    """

    name: str
    unit: float | None = None
    attribute: int | None = None


def own_edge_columns(graph: Graph, settings: EncoderSettings) -> tuple[EdgeColumn, ...]:
    """The columns that are read beside those of the nodes, S of them."""
    values = graph.edge_values
    if values is None or not settings.read_edges:
        return ()
    sides = ("",) if values.direction is None else (" out", " in")
    weight = dict(values.names).get("weight", "weight")
    found = []
    for side in sides:
        kinds = [f"{kind}{side}" for kind in values.type_names or ("edges",)]
        found += [EdgeColumn(kind, unit=1.0) for kind in kinds]  # how many
        if values.weight is not None:
            found += [EdgeColumn(f"{weight}, {kind}", unit=mean_weight(values.weight)) for kind in kinds]
        if values.attributes is not None:
            names = values.names_of_attributes
            found += [EdgeColumn(f"{name}, mean{side}", attribute=j) for j, name in enumerate(names)]
    return tuple(found)


def own_edges(graph: Graph, nodes: IntArray) -> FloatArray:
    """The values of those columns for some nodes, ascending, of a graph in memory or mapped, [n, S]."""
    assert graph.edge_values is not None
    ptr, others, ids = graph.neighbors().rows(nodes)
    owners, values = np.repeat(np.arange(len(nodes)), np.diff(ptr)), graph.edge_values.take(ids)
    sides = [np.arange(len(ids))]
    if values.direction is not None:  # 1: from the lower id to the higher
        outgoing = values.direction * np.where(nodes[owners] < others, 1, -1)
        sides = [np.flatnonzero(outgoing >= 0), np.flatnonzero(outgoing <= 0)]
    unit = 1.0 if graph.edge_values.weight is None else mean_weight(graph.edge_values.weight)
    return np.concatenate([_side(values, len(nodes), side, owners[side], unit) for side in sides], axis=1)


def _side(values: EdgeValues, num_nodes: int, ids: IntArray, nodes: IntArray, unit: float) -> FloatArray:
    """What nodes read of some of their edges: ``nodes[i]`` reads the edge ``ids[i]``, [N, .]."""
    kinds = max(1, values.num_types)
    place = nodes * kinds + (0 if values.type is None else values.type[ids])

    def summed(amounts: FloatArray | None) -> FloatArray:
        return np.bincount(place, amounts, minlength=num_nodes * kinds).reshape(num_nodes, kinds).astype(np.float32)

    counts = summed(None)
    found = [np.log1p(counts)]
    if values.weight is not None:
        found.append(np.log1p(summed(relative_weights(values.weight, unit)[ids])))
    if values.attributes is not None:
        incidence = sp.csr_array((np.ones(len(ids), np.float32), (nodes, ids)), shape=(num_nodes, len(values)))
        found.append((incidence @ values.attributes) / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    return np.concatenate(found, axis=1).astype(np.float32)


def relative_weights(weights: FloatArray, unit: float) -> FloatArray:
    """Weights in units of their mean: an edge of mean weight counts as one without weights does."""
    relative: FloatArray = (weights / np.float32(unit)).astype(np.float32)
    return relative


def mean_weight(weights: FloatArray | Rows) -> float:
    """The mean of all weights, in memory or mapped; 1 without edges."""
    rows = as_rows(weights)
    if not len(rows):
        return 1.0
    if rows.in_memory:
        return float(rows.whole().mean(dtype=np.float64))
    return float(sum(block.sum(dtype=np.float64) for _, block in rows.blocks())) / len(rows)


class ReadColumn(NamedTuple):
    """A column that is read of the neighbors: its name, and the feature whose mean it is, or how a value is scaled."""

    name: str
    feature: int | None = None
    values: ValueScale | None = None


class ValueScale(NamedTuple):
    """How values are read: less the mean of the known ones, in standard deviations, of their logarithms if asked for.

    >>> scale = ValueScale.of(np.array([1.0, 10.0, 100.0]), logarithms=True)
    >>> scale.encode(np.array([10.0])).round(3).tolist(), scale.decode(np.array([0.0])).round(3).tolist()
    ([0.0], [10.0])
    """

    mean: float
    deviation: float
    logarithms: bool
    least: float = 0.0  # what a value without a logarithm counts as

    @classmethod
    def of(cls, known: Float64Array, *, logarithms: bool) -> ValueScale:
        """The scale of some known values.

        Training needs values above 0 for logarithms. Another graph, next year's say, may have others: they count as the
        least value above 0.
        """
        if not logarithms:
            return cls(float(known.mean()), float(known.std()) or 1.0, logarithms)
        above = known[known > 0]
        if not len(above):
            raise InputError(
                "value_scale = log needs values above 0, but no known value is: train with value_scale = raw"
            )
        least = 0.0 if len(above) == len(known) else float(above.min())
        read = np.log(np.maximum(known, least))
        return cls(float(read.mean()), float(read.std()) or 1.0, logarithms, least)

    def encode(self, values: Float64Array) -> Float64Array:
        """Values as they are read."""
        scaled = np.log(np.maximum(values, self.least)) if self.logarithms else values
        read: Float64Array = (scaled - self.mean) / self.deviation
        return read

    def decode(self, read: Float64Array) -> Float64Array:
        """Values in their unit."""
        values: Float64Array = read * self.deviation + self.mean
        return np.exp(values) if self.logarithms else values


def value_scale(graph: Graph, settings: EncoderSettings) -> ValueScale:
    """The scale of the values that may be read, those of a graph's labeled nodes that are not hidden."""
    visible = np.setdiff1d(graph.train, graph.numbers.hidden)
    return ValueScale.of(graph.values[visible], logarithms=settings.value_scale == "log")


def neighbor_columns(graph: Graph, settings: EncoderSettings) -> tuple[ReadColumn, ...]:
    """The columns that are read of the neighbors, S of them."""
    if not (settings.read_neighbors or settings.read_values):
        return ()
    names = graph.feature_names or [f"attribute {j}" for j in range(graph.num_features)]
    found = []
    if settings.read_neighbors:
        found += [ReadColumn(f"{name}, {step}", feature=j) for step in STEPS for j, name in enumerate(names)]
    if settings.read_values:
        scale, target = value_scale(graph, settings), graph.numbers.name
        for step in STEPS:
            found += [ReadColumn(f"{target}, {step}", values=scale), ReadColumn(f"{step} with known {target}")]
        found += [ReadColumn(f"{name}, neighbors with known {target}", feature=j) for j, name in enumerate(names)]
    return tuple(found)


class Neighborhood:
    """The neighbors of all nodes of a graph, and what is read of them."""

    def __init__(self, graph: Graph, settings: EncoderSettings) -> None:
        if not isinstance(graph.features, np.ndarray):
            raise InputError(
                f"read_neighbors and read_values are for attributes in columns, those of {graph.name} are sparse: "
                "leave them out; aggregation = pagerank averages sparse attributes over the neighborhood"
            )
        self.graph, self.settings = graph, settings
        self.features = graph.features.astype(np.float64)
        near, size = graph.adjacency, graph.num_nodes
        linked = sp.csr_array((np.ones(len(near.indices)), near.indices.copy(), near.indptr.copy()), (size, size))
        linked.sum_duplicates()
        linked.data[:] = 1  # parallel edges lead to one neighbor
        share = 1 / np.maximum(linked.sum(axis=1), 1)
        self.step = sp.csr_array(sp.diags_array(share) @ linked)
        self.back = share * (linked @ share)  # of two steps, those that return
        self.scale = value_scale(graph, settings) if settings.read_values else None

    def columns(self) -> FloatArray:
        """What is read, the hidden values of the graph's own target left out, [N, S]."""
        found = [self.attributes()] if self.settings.read_neighbors else []
        if self.settings.read_values:
            visible = np.zeros(self.graph.num_nodes, bool)
            visible[self.graph.train] = True
            visible[self.graph.numbers.hidden] = False
            found.append(self.values(visible))
        return np.concatenate([np.zeros((self.graph.num_nodes, 0), np.float32), *found], axis=1)

    def attributes(self) -> FloatArray:
        """Means of the neighbors' attributes, over one and over two steps, [N, 2 F]."""
        once, twice = self._steps(self.features)
        return np.concatenate([once, twice / np.maximum(1 - self.back, PRIOR)[:, None]], axis=1).astype(np.float32)

    def values(self, visible: np.ndarray) -> FloatArray:
        """What is read of the nodes whose value may be read, [N] true, over one and over two steps, [N, 4 + F]."""
        assert self.scale is not None
        known = np.flatnonzero(visible)
        read = np.zeros((self.graph.num_nodes, 2 + self.features.shape[1]))
        read[known, 0] = 1
        read[known, 1] = self.scale.encode(self.graph.values[known])
        read[known, 2:] = self.features[known]
        once, twice = self._steps(read)
        shares = [sums[:, :1] for sums in (once, twice)]
        means = [sums[:, 1:] / (share + PRIOR) for sums, share in zip((once, twice), shares)]  # [N, 1 + F] each
        found = [means[0][:, :1], shares[0], means[1][:, :1], shares[1], means[0][:, 1:]]
        return np.concatenate(found, axis=1).astype(np.float32)

    def _steps(self, numbers: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Numbers of all nodes averaged over one step, and over two that do not return, [N, n] each."""
        once = self.step @ numbers
        return once, self.step @ once - self.back[:, None] * numbers
