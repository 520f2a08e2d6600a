"""What the encoder reads: node attributes and the propagation matrix, on a device, and perturbed views of both.

Shapes: N nodes, F features.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.graph.attributed import AttributedGraph, IntArray
from se_gnn.graph.sparse import SparseMatrix

Aggregation = Literal["gcn", "mean"]


@dataclass(frozen=True, slots=True, eq=False)
class EncoderInputs:
    """Attributes X [N, F], dense or sparse, and the propagation matrix [N, N]."""

    features: Tensor | SparseMatrix
    propagation: SparseMatrix

    @classmethod
    def from_graph(
        cls, graph: AttributedGraph, aggregation: Aggregation, device: torch.device | str = "cpu"
    ) -> EncoderInputs:
        """Move a graph to a device."""
        if sp.issparse(graph.features):
            features: Tensor | SparseMatrix = SparseMatrix.from_scipy(graph.features, device)
        else:
            features = torch.tensor(graph.features, device=device)
        return cls(features, propagation(graph.edges, graph.num_nodes, aggregation, device))

    def with_propagation(self, matrix: SparseMatrix) -> EncoderInputs:
        """The same attributes on other edges."""
        return dataclasses.replace(self, propagation=matrix)

    def draw_mask(self, rate: float, *, generator: np.random.Generator) -> Tensor:
        """Which attributes to keep: each is dropped with probability ``rate``.

        Attributes that are zero already stay so; sparse attributes therefore draw for the stored ones only.
        """
        shape = tuple(self._values.shape)
        return torch.from_numpy(generator.random(shape, dtype=np.float32) >= rate)

    def masked(self, keep: Tensor) -> EncoderInputs:
        """Attribute masking: what is not kept is set to zero."""
        masked = self._values * keep
        features = self.features.with_values(masked) if isinstance(self.features, SparseMatrix) else masked
        return dataclasses.replace(self, features=features)

    @property
    def _values(self) -> Tensor:
        return self.features.values if isinstance(self.features, SparseMatrix) else self.features


def propagation(
    edges: IntArray, num_nodes: int, aggregation: Aggregation, device: torch.device | str = "cpu"
) -> SparseMatrix:
    """How neighbors are aggregated: D^-1/2 (A + I) D^-1/2 with the degrees of A + I, or the neighbor mean D^-1 A.

    A node without neighbors has itself alone (``gcn``) or nothing (``mean``).
    """
    u, v = edges[:, 0], edges[:, 1]
    degrees = np.bincount(edges.ravel(), minlength=num_nodes)
    loops = np.arange(num_nodes) if aggregation == "gcn" else np.empty(0, np.int64)
    rows, columns = np.concatenate([u, v, loops]), np.concatenate([v, u, loops])
    pattern = sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(num_nodes, num_nodes))
    rows = np.repeat(np.arange(num_nodes), np.diff(pattern.indptr))
    if aggregation == "gcn":
        root = 1 / np.sqrt(degrees + 1)
        values = flipped = root[rows] * root[pattern.indices]
    else:
        share = 1 / np.maximum(degrees, 1)
        values, flipped = share[rows], share[pattern.indices]
    return SparseMatrix.symmetric(pattern, values, flipped, device)
