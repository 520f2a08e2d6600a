r"""What a node reads of its neighbors, beside its own attributes: means of their attributes, and of their known values.

With :math:`P = D^{-1} A` one step leads to the mean over the neighbors, and :math:`P^2` without its diagonal to that
over their neighbors: a path that returns would bring a node its own value. Attributes are averaged over one and over
two steps. Values are averaged over the nodes whose value may be read, those that vote and are not hidden
(:class:`se_gnn.graph.target.Numbers`): of each step the share that these have, and their mean, drawn towards the mean
of all where they are few; of the first step also the means of *their* attributes, so that a value can be judged by what
it belongs to. Shapes: N nodes, F features, S columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, FloatArray
from se_gnn.settings import EncoderSettings

PRIOR = 0.05  # share of the neighbors that the mean of all values counts as
STEPS = ("neighbors", "neighbors of neighbors")
MOST_FEATURES = 256  # whose means are read unless they are asked for


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
