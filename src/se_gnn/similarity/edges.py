"""The vector of an edge, Eq. (3), and what else an edge carries into a comparison. Shapes: E edges, D dimensions.

Four settings, three mechanisms. Direction and type decide the *part* of an edge: an edge is matched only with edges of
its own part. A *weight* is how much an edge counts in the mean of Eq. (6). Attributes, and types with learned vectors,
are *terms* that are added to the vector of an edge.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.deterministic import rows
from se_gnn.graph import Graph, LocalGraphs
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.local import ROLE_WORDS, edge_roles
from se_gnn.settings import SimilaritySettings

Terms = Callable[[Tensor], Tensor]  # W a of some edges by their ids, [U] to [U, D], with gradients to W


def edge_vectors(h: Tensor, ends: Tensor) -> Tensor:
    """e_ij = (h_i + h_j) / 2, Eq. (3), with a gradient to h: ends [..., 2] to [..., D]."""
    return (rows(h, ends[..., 0]) + rows(h, ends[..., 1])) / 2


@compiled(inline="always")
def edge_entry(h: FloatArray, ends: IntArray, edge: int, d: int) -> np.float32:
    """Dimension d of e_ij, Eq. (3), in compiled code; it is inlined, so that no bit depends on how it is compiled."""
    entry: np.float32 = (h[ends[edge, 0], d] + h[ends[edge, 1], d]) * np.float32(0.5)
    return entry


def edge_features(
    values: EdgeValues | None, settings: SimilaritySettings, ids: IntArray | None = None
) -> FloatArray | None:
    """What terms are made of, [E, A]: attributes, and types as 0 and 1 if these have learned vectors; None: nothing.

    With ``ids`` that of some edges alone, in their order.
    """
    if values is None:
        return None
    values = values if ids is None else values.take(ids)
    found = [values.attributes] if settings.match_attributes and values.attributes is not None else []
    if settings.match_types == "learned" and values.type is not None:
        found.append(np.eye(values.num_types, dtype=np.float32)[values.type])
    return np.ascontiguousarray(np.concatenate(found, axis=1)) if found else None


def edge_weights(graph: Graph, settings: SimilaritySettings) -> FloatArray | None:
    """How much each edge counts in the mean of Eq. (6), [E]; None: all the same."""
    values = graph.edge_values
    return values.weight if values is not None and settings.weighted_mean else None


def edge_parts(graph: Graph, local: LocalGraphs, settings: SimilaritySettings) -> Int32Array | None:
    """The part of each edge of each local graph, by role and type, as the settings say; None: there is one part."""
    values = graph.edge_values
    if values is None:
        return None
    by_role = settings.match_direction and values.direction is not None
    by_type = settings.match_types == "own" and values.type is not None
    if not (by_role or by_type):
        return None
    parts = edge_roles(graph, local, settings.hops) if by_role else np.zeros(len(local.edge_ids), np.int32)
    if by_type:
        assert values.type is not None
        parts = parts + len(ROLE_WORDS) * values.type[local.edge_ids]
    return parts.astype(np.int32)
