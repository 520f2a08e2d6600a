"""What edges carry besides their ends, as a comparison reads it. Shapes: E edges, D dimensions.

Four settings, three mechanisms. Direction and type decide the *part* of an edge: edges match only edges of their part.
A weight is how much an edge counts in the mean of Eq. (6). Attributes, and types by learned vectors, are *terms* that
are added to the vector of an edge.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from se_gnn.config import SimilarityConfig
from se_gnn.graph import Graph, LocalGraphs, local_graphs
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.local import ROLE_WORDS, edge_roles

Terms = Callable[[Tensor], Tensor]  # W a of some edges by their ids, [U] to [U, D], with gradients to W


@dataclass(frozen=True, slots=True, eq=False)
class EdgeData:
    """How much each edge counts, [E] (None: all alike), and what is added to its vector (None: nothing)."""

    weights: FloatArray | None = None
    terms: Terms | None = None

    @classmethod
    def of(cls, graph: Graph, config: SimilarityConfig, terms: Terms | None) -> EdgeData | None:
        """As the settings say; None where nothing is carried or read."""
        values = graph.edge_values
        weights = values.weight if values is not None and config.weighted_mean else None
        return None if weights is None and terms is None else cls(weights, terms)


def edge_features(values: EdgeValues | None, config: SimilarityConfig) -> FloatArray | None:
    """What is added to the vectors of edges is made of these, [E, A]: attributes, and types as 0 and 1; None: nothing.

    Types have learned vectors only where the settings say so.
    """
    if values is None:
        return None
    found = [values.attributes] if config.match_attributes and values.attributes is not None else []
    if config.match_types == "learned" and values.type is not None:
        found.append(np.eye(values.num_types, dtype=np.float32)[values.type])
    return np.ascontiguousarray(np.concatenate(found, axis=1)) if found else None


def compared_graphs(graph: Graph, nodes: IntArray, config: SimilarityConfig) -> LocalGraphs:
    """Local graphs of some nodes as they are compared: with the parts of their edges, where they have any."""
    local = local_graphs(graph, nodes, config.hops, config.max_edges)
    parts = edge_parts(graph, local, config)
    return local if parts is None else dataclasses.replace(local, parts=parts)


def edge_parts(graph: Graph, local: LocalGraphs, config: SimilarityConfig) -> Int32Array | None:
    """The part of each edge of each local graph, by role and type, as the settings say; None: all match all."""
    values = graph.edge_values
    if values is None:
        return None
    by_role = config.match_direction and values.direction is not None
    by_kind = config.match_types == "own" and values.type is not None
    if not (by_role or by_kind):
        return None
    parts = edge_roles(graph, local, config.hops) if by_role else np.zeros(len(local.edge_ids), np.int32)
    if by_kind:
        assert values.type is not None
        parts = parts + len(ROLE_WORDS) * values.type[local.edge_ids]
    return parts.astype(np.int32)
