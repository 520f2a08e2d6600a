r"""What a node reads of its own edges, beside its attributes: how many of each direction and type, and what they carry.

Of its edges of each side (outgoing, incoming; one side where edges have no direction) a node reads, for each type, the
logarithm of one plus their number, and of one plus their weights (in units of the mean weight); and for each side the
mean of each attribute, 0 where there are no such edges. Without weights, all of it follows from the node's own edges.
Shapes: N nodes, E edges, S columns, A attributes of edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from se_gnn.encoder.neighborhood import Neighborhood, neighbor_columns
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Features, FloatArray, IntArray
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.rows import Rows, as_rows
from se_gnn.settings import EncoderSettings


class EdgeColumn(NamedTuple):
    """A column of what nodes read of their edges: its name, and what one of its values stands for.

    An amount is read as the logarithm of one plus the amount in a ``unit``: 1 where edges are counted, the mean weight
    where weights are summed. A mean is that of an ``attribute`` of the edges, in the units of the encoding.
    """

    name: str
    unit: float | None = None
    attribute: int | None = None


def encoder_features(graph: Graph, settings: EncoderSettings) -> Features:
    """The attributes X, and beside them what a node reads of its own edges and of its neighbors, [N, F + S]."""
    parts = [own_edges(graph)] if own_edge_columns(graph, settings) else []
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


def own_edges(graph: Graph) -> FloatArray:
    """The values of those columns, [N, S]."""
    values = graph.edge_values
    assert values is not None
    u, v = graph.edges.ends[:, 0], graph.edges.ends[:, 1]
    if values.direction is None:
        every = np.arange(graph.num_edges)
        sides = [(np.concatenate([every, every]), np.concatenate([u, v]))]
    else:
        leading, back = np.flatnonzero(values.direction >= 0), np.flatnonzero(values.direction <= 0)
        sides = [
            (np.concatenate([leading, back]), np.concatenate([ends[leading], others[back]]))
            for ends, others in ((u, v), (v, u))
        ]
    unit = 1.0 if values.weight is None else mean_weight(values.weight)
    return np.concatenate([_side(values, graph.num_nodes, *side, unit) for side in sides], axis=1)


def own_edges_of(graph: Graph, nodes: IntArray) -> FloatArray:
    """The values of those columns for some nodes, ascending, of any graph; up to rounding those of all nodes."""
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
