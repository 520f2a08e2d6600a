r"""Vectors made short so that their similarity bounds that of the long ones. Shapes: n vectors, D dimensions, S = 16.

A vector :math:`a` becomes its coordinates along a few directions, :math:`a_1`, and the length of all the rest,
:math:`|a_2|`. Lengths stay, and :math:`a \cdot b` lies between :math:`a_1 \cdot b_1 - |a_2||b_2|` and
:math:`a_1 \cdot b_1 + |a_2||b_2|` (Cauchy-Schwarz). The directions are those in which the vectors spread most: trained
embeddings have few, so that the rest is short and both bounds are close.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.similarity.kernels.lanes import WIDTH
from se_gnn.similarity.measure import EPS

SAMPLE = 4096  # vectors that the directions are found from
BLOCK = 1 << 14  # edges whose long vectors are held at a time
UNIT = 2.0**-24  # rounding of float32


def rounding(depth: int) -> float:
    """What a sum of ``depth`` products in float32 may be wrong by, relative to the lengths of its vectors, twice."""
    return 2 * (depth + WIDTH) * UNIT


@dataclass(frozen=True, slots=True, eq=False)
class ShortVectors:
    """Short vectors, [n, S], and the squares of their lengths, [n]."""

    short: FloatArray
    squares: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Orthonormal directions, [D, at most S - 1]; ``unit``: vectors are made of length 1 first."""

    axes: FloatArray
    unit: bool

    @classmethod
    def of(cls, vectors: FloatArray, *, unit: bool) -> Directions:
        """Those in which some vectors, [N, D], spread most."""
        depth = vectors.shape[1]
        if depth < WIDTH:
            return cls(np.eye(depth, dtype=np.float32), unit)
        sample = vectors[:: len(vectors) // SAMPLE + 1].astype(np.float64)
        if unit:
            sample /= np.maximum(np.linalg.norm(sample, axis=1, keepdims=True), EPS)
        _, axes = np.linalg.eigh(sample.T @ sample)
        return cls(np.ascontiguousarray(axes[:, :-WIDTH:-1].astype(np.float32)), unit)

    def nodes(self, vectors: FloatArray) -> ShortVectors:
        """Vectors of nodes, [n, D], made short."""
        squares = np.einsum("nd,nd->n", vectors, vectors)
        return self._shortened(vectors, squares)

    def edges(self, vectors: FloatArray, ends: IntArray) -> ShortVectors:
        """Vectors of edges, the means of those of their ends, [n, 2], made short."""
        parts = [
            self.nodes((vectors[some[:, 0]] + vectors[some[:, 1]]) * np.float32(0.5))
            for some in (ends[low : low + BLOCK] for low in range(0, len(ends), BLOCK))
        ]
        short = [np.empty((0, WIDTH), np.float32), *(part.short for part in parts)]
        squares = [np.empty(0, np.float32), *(part.squares for part in parts)]
        return ShortVectors(np.concatenate(short), np.concatenate(squares))

    def _shortened(self, vectors: FloatArray, squares: FloatArray) -> ShortVectors:
        depth, count = self.axes.shape
        short = np.zeros((len(vectors), WIDTH), np.float32)
        short[:, :count] = vectors @ self.axes
        if depth > count:  # never less than it is, whatever is rounded
            seen = np.einsum("ns,ns->n", short, short)
            short[:, -1] = np.sqrt(np.maximum(squares - seen, 0) + np.float32(4 * rounding(depth)) * squares)
        if self.unit:
            lengths = np.maximum(np.sqrt(squares), np.float32(EPS))
            short /= lengths[:, None]
            squares = squares / (lengths * lengths)
        return ShortVectors(short, squares)
