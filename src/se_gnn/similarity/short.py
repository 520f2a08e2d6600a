r"""Vectors made short so that their similarity bounds that of the long ones, from above and from below.

A vector :math:`a` becomes its coordinates along a few directions, :math:`a_1`, and the length of all the rest,
:math:`|a_2|`. Lengths stay, and :math:`a \cdot b` lies between :math:`a_1 \cdot b_1 - |a_2||b_2|` and
:math:`a_1 \cdot b_1 + |a_2||b_2|` (Cauchy-Schwarz). The directions are those in which the vectors spread most: trained
embeddings have few, so that the rest is short and both bounds are close. Each vector is made short twice: *coarse*, to
rule out most at little cost, and *fine*. Shapes: n vectors, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.similarity.kernels.lanes import COARSE, FINE, WIDTH
from se_gnn.similarity.measure import EPS

SAMPLE = 4096  # vectors that the directions are found from
UNIT = 2.0**-24  # rounding of float32
NEVER_LESS = 2.0**-20  # share of a squared length that is added to that of the rest: more than rounding takes off


def rounding(depth: int) -> float:
    """What a sum of ``depth`` products in float32 may be wrong by, relative to the lengths of its vectors."""
    return (depth + WIDTH) * UNIT


@dataclass(frozen=True, slots=True, eq=False)
class ShortVectors:
    """Short vectors, [n, COARSE] and [n, FINE], and the squares of their lengths, [n]."""

    coarse: FloatArray
    fine: FloatArray
    squares: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Orthonormal directions in float64, [D, at most FINE - 1]; ``unit``: vectors are made of length 1 first."""

    axes: FloatArray
    unit: bool

    @classmethod
    def of(cls, vectors: FloatArray, ends: IntArray, *, unit: bool) -> Directions:
        """Those in which some edges, by their ends, [n, 2], spread most, the first the most."""
        some = ends[:: len(ends) // SAMPLE + 1]
        sample = vectors[some].astype(np.float64).mean(axis=1)
        if unit:
            sample /= np.maximum(np.linalg.norm(sample, axis=1, keepdims=True), EPS)
        _, axes = np.linalg.eigh(sample.T @ sample)
        return cls(np.ascontiguousarray(axes[:, :-FINE:-1]), unit)

    def nodes(self, vectors: FloatArray, nodes: IntArray) -> ShortVectors:
        """Vectors of nodes made short."""
        return self.edges(vectors, np.stack([nodes, nodes], axis=1))

    def edges(self, vectors: FloatArray, ends: IntArray) -> ShortVectors:
        """Vectors of edges, the means of those of their ends, [n, 2], made short."""
        count = len(ends)
        coarse, fine = np.zeros((count, COARSE), np.float32), np.zeros((count, FINE), np.float32)
        squares = np.empty(count, np.float32)
        _shorten(vectors, ends, self.axes, self.unit, coarse, fine, squares)
        return ShortVectors(coarse, fine, squares)


@numba.njit(parallel=True, cache=True, nogil=True)
def _shorten(
    vectors: FloatArray,
    ends: IntArray,
    axes: FloatArray,
    unit: bool,
    coarse: FloatArray,
    fine: FloatArray,
    squares: FloatArray,
) -> None:
    """In float64, rounded at the end: what is lost is far less than `NEVER_LESS`."""
    depth, count = axes.shape
    for e in numba.prange(len(ends)):
        u, v = ends[e, 0], ends[e, 1]
        along = np.zeros(count)
        square = 0.0
        for d in range(depth):
            value = 0.5 * (np.float64(vectors[u, d]) + np.float64(vectors[v, d]))
            square += value * value
            for i in range(count):
                along[i] += value * axes[d, i]
        scale = 1 / max(np.sqrt(square), EPS) if unit else 1.0
        seen = 0.0
        for i in range(count):
            if i == COARSE - 1:
                coarse[e, i] = scale * np.sqrt(max(square - seen, 0.0) + NEVER_LESS * square)
            elif i < COARSE - 1:
                coarse[e, i] = scale * along[i]
            fine[e, i] = scale * along[i]
            seen += along[i] * along[i]
        rest = scale * np.sqrt(max(square - seen, 0.0) + NEVER_LESS * square)
        fine[e, FINE - 1] = rest
        if count < COARSE:
            coarse[e, COARSE - 1] = rest
        squares[e] = scale * scale * square
