"""What the encoder reads: node attributes and the propagation matrix, on a device, and perturbed views of both.

Shapes: N nodes, F features.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.encoder.own_edges import encoder_features, mean_weight, relative_weights
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Features, FloatArray, IntArray
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.settings.sections import Aggregation, EncoderSettings, Scaling

MEANS = ("mean", "layers")  # aggregations of the mean over the neighbors


@dataclass(frozen=True, slots=True, eq=False)
class EncoderInputs:
    """Attributes X [N, F], dense or sparse, and the propagation matrix [N, N]."""

    features: Tensor | SparseMatrix
    propagation: SparseMatrix

    @classmethod
    def from_graph(cls, graph: Graph, settings: EncoderSettings, device: torch.device | str = "cpu") -> EncoderInputs:
        """Move a graph to a device, its attributes scaled as the settings say."""
        scaled = scaled_attributes(encoder_features(graph, settings), settings.attribute_scaling)
        if sp.issparse(scaled):
            features: Tensor | SparseMatrix = SparseMatrix.from_scipy(scaled, device)
        else:
            features = torch.tensor(scaled, dtype=torch.float32, device=device)
        weights = step_weights(graph, settings)
        return cls(
            features, propagation(graph.edges.ends, graph.num_nodes, settings.aggregation, device, weights=weights)
        )

    def with_propagation(self, matrix: SparseMatrix) -> EncoderInputs:
        """The same attributes on other edges."""
        return dataclasses.replace(self, propagation=matrix)

    def draw_mask(self, rate: float, *, generator: np.random.Generator) -> Tensor:
        """Which attributes to keep: each is dropped with probability ``rate``.

        Attributes that are zero already stay so; sparse attributes therefore draw for the stored ones only.
        """
        return torch.from_numpy(generator.random(self.stored_shape, dtype=np.float32) >= rate)

    def masked(self, keep: Tensor) -> EncoderInputs:
        """Attribute masking: what is not kept is set to zero."""
        masked = self._values * keep
        features = self.features.with_values(masked) if isinstance(self.features, SparseMatrix) else masked
        return dataclasses.replace(self, features=features)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of what is stored of X: all of it, or the values that are not 0."""
        return tuple(self._values.shape)

    def by_row(self, values: Tensor) -> Tensor:
        """One value per node [N], for each stored attribute of the node."""
        if not isinstance(self.features, SparseMatrix):
            return values[:, None]
        rows = self.features.rows
        return torch.repeat_interleave(values, rows.crow_indices().diff().cpu().to(torch.int64))

    @property
    def _values(self) -> Tensor:
        return self.features.values if isinstance(self.features, SparseMatrix) else self.features


def scaled_attributes(features: Features, scaling: Scaling) -> Features:
    """X as the first layer reads it, [N, F]."""
    factors = row_factors(features, scaling)
    if factors is None:
        return features
    scaled: Any = sp.diags_array(factors).tocsr() @ features if sp.issparse(features) else features * factors[:, None]
    return cast("Features", scaled)


def row_factors(features: Features, scaling: Scaling) -> FloatArray | None:
    """What each row of X is multiplied with, [N]: 1 / its length (``unit``; 0 stays 0); None: nothing."""
    if scaling != "unit":
        return None
    matrix: Any = features
    squares = matrix.multiply(matrix) if sp.issparse(matrix) else np.square(matrix, dtype=np.float64)
    lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())
    factors: FloatArray = (1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return factors


def step_weights(graph: Graph, settings: EncoderSettings) -> FloatArray | None:
    """How much each edge counts in a step, [E]; None: all alike."""
    values = graph.edge_values
    if values is None:
        return None
    if values.weight is not None and settings.weighted_steps:
        return relative_weights(values.weight, mean_weight(values.weight))
    return np.ones(graph.num_edges, np.float32)  # parallel edges count as often as they are there


def propagation(
    edges: IntArray,
    num_nodes: int,
    aggregation: Aggregation,
    device: torch.device | str = "cpu",
    *,
    weights: FloatArray | None = None,
) -> SparseMatrix:
    """What one step aggregates: D^-1/2 (A + I) D^-1/2 with the degrees of A + I; D^-1 A for ``mean`` and ``layers``.

    With ``weights``, [E], A holds them (the sum of those of parallel edges) and a degree is a sum of weights. A node
    without neighbors aggregates itself, or nothing (``mean``, ``layers``).
    """
    u, v = edges[:, 0], edges[:, 1]
    both = None if weights is None else np.repeat(weights, 2)
    degrees = np.bincount(edges.ravel(), both, minlength=num_nodes)
    mean = aggregation in MEANS
    loops = np.empty(0, np.int64) if mean else np.arange(num_nodes)
    rows, columns = np.concatenate([u, v, loops]), np.concatenate([v, u, loops])
    stored = np.ones(len(rows), np.float32)
    if weights is not None:
        stored[: 2 * len(edges)] = np.concatenate([weights, weights])
    pattern = sp.csr_array((stored, (rows, columns)), shape=(num_nodes, num_nodes))
    rows = np.repeat(np.arange(num_nodes), np.diff(pattern.indptr))
    if mean:
        share = 1 / (np.maximum(degrees, 1) if weights is None else np.where(degrees > 0, degrees, 1))
        values, flipped = share[rows], share[pattern.indices]
    else:
        root = 1 / np.sqrt(degrees + 1)
        values = flipped = root[rows] * root[pattern.indices]
    if weights is not None:
        values, flipped = values * pattern.data, flipped * pattern.data
    return SparseMatrix.symmetric(pattern, values, flipped, device)
