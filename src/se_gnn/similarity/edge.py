"""The representation of an edge, Eq. (3): f_e is the mean of both ends. Its one home. Shapes: E edges, D dimensions."""

from __future__ import annotations

import numba
import numpy as np
from torch import Tensor

from se_gnn.deterministic import rows
from se_gnn.graph.arrays import FloatArray, IntArray


def edge_vectors(h: Tensor, ends: Tensor) -> Tensor:
    """e_ij = (h_i + h_j) / 2, Eq. (3), with a gradient to h: ends [..., 2] to [..., D]."""
    return (rows(h, ends[..., 0]) + rows(h, ends[..., 1])) / 2


@numba.njit(inline="always")
def edge_entry(h: FloatArray, ends: IntArray, edge: int, d: int) -> np.float32:
    """Dimension d of e_ij, Eq. (3), in compiled code; it has no code of its own there, so that no bit depends on it."""
    entry: np.float32 = (h[ends[edge, 0], d] + h[ends[edge, 1], d]) * np.float32(0.5)
    return entry
