"""What the encoder reads, on a device: node attributes, the propagation matrix, and what training leaves out of both.

Shapes: N nodes, F features, D hidden.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.encoder.columns import encoder_features, mean_weight, relative_weights
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Features, FloatArray, IntArray
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.settings import EncoderSettings, NumberObjective, VoteObjective
from se_gnn.settings.sections import Aggregation, Scaling

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
    """What each row of X is multiplied with, [N]: 1 / its length (0 stays 0); None: nothing."""
    if scaling not in ("unit", "weighted"):
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


class Drawn:
    """What was drawn for a training step, as a dataclass whose fields know how to move to a device, or stay."""

    __slots__ = ()

    def to(self, device: torch.device) -> Self:
        """The same on a device."""
        return dataclasses.replace(self, **{name: _moved(value, device) for name, value in self._fields()})  # type: ignore[type-var]

    def copy_(self, other: Self) -> None:
        """Take over what was drawn for another step, in place."""
        for (_, own), (_, theirs) in zip(self._fields(), other._fields(), strict=True):
            if own is not None:
                own.copy_(theirs)

    def _fields(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]  # type: ignore[arg-type]


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, tuple):
        return tuple(_moved(one, device) for one in value)
    return value.to(device) if hasattr(value, "to") else value


@dataclass(frozen=True, slots=True, eq=False)
class Dropout(Drawn):
    """Factors: 0 where something is left out, 1 / (1 - rate) where it stays, so that sums keep their mean.

    Shapes:
        - **attributes:** as the stored values of X
        - **hidden:** one :math:`(N, D)` per hidden layer, and per residual layer after them
    """

    attributes: Tensor | None
    hidden: tuple[Tensor, ...]

    @classmethod
    def draw(
        cls,
        inputs: EncoderInputs,
        encoder: EncoderSettings,
        shares: VoteObjective | NumberObjective,
        *,
        generator: np.random.Generator,
    ) -> Dropout:
        """Draw which attributes, whole rows of attributes and hidden units are left out."""
        num_nodes = inputs.propagation.rows.shape[0]
        attributes = None
        if shares.attribute_dropout > 0:
            attributes = _factors(inputs.stored_shape, shares.attribute_dropout, generator)
        if shares.node_dropout > 0:
            rows = _factors((num_nodes,), shares.node_dropout, generator)
            spread = inputs.by_row(rows)
            attributes = spread if attributes is None else attributes * spread
        hidden: tuple[Tensor, ...] = ()
        if shares.hidden_dropout > 0:
            shape = (num_nodes, encoder.hidden_size)
            count = encoder.num_layers - 1 + (encoder.steps if encoder.aggregation == "layers" else 0)
            hidden = tuple(_factors(shape, shares.hidden_dropout, generator) for _ in range(count))
        return cls(attributes, hidden)

    def of_attributes(self, inputs: EncoderInputs) -> EncoderInputs:
        """The attributes without those that are left out."""
        return inputs if self.attributes is None else inputs.masked(self.attributes)

    def of_hidden(self, h: Tensor, layer: int) -> Tensor:
        """The output of a hidden layer without the units that are left out."""
        return h * self.hidden[layer] if self.hidden else h


def _factors(shape: tuple[int, ...], rate: float, generator: np.random.Generator) -> Tensor:
    """A byte is drawn for each, so that the rate is one of 256: much faster than a number of 32 bits."""
    dropped = min(255, max(1, round(256 * rate)))
    drawn = np.frombuffer(generator.bytes(math.prod(shape)), np.uint8)
    return torch.from_numpy(((drawn >= dropped) * np.float32(256 / (256 - dropped))).reshape(shape))
