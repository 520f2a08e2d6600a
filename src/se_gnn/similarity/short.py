r"""Vectors made short so that their similarity bounds that of the long ones. Shapes: n vectors, D dimensions.

A vector :math:`a` becomes its coordinates along a few directions, :math:`a_1`, and the length of all the rest,
:math:`|a_2|`. Lengths stay, and :math:`a \cdot b` lies between :math:`a_1 \cdot b_1 - |a_2||b_2|` and
:math:`a_1 \cdot b_1 + |a_2||b_2|` (Cauchy-Schwarz). The directions are those in which the vectors spread most: trained
embeddings have few, so that the rest is short and both bounds are close. Vectors of `SHORT` coordinates are a first
look; those of `LONG` tell nearly all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.similarity.kernels.bound_lanes import LONG, SHORT
from se_gnn.similarity.measure import EPS

SAMPLE = 4096  # vectors that the directions are found from
BLOCK = 1 << 17  # edges whose ends are held in float64 at a time
UNIT = 2.0**-24  # rounding of float32
UP = 1 + 4 * UNIT  # makes up for it
UNDERFLOW = 2.0**-120  # a squared length; of shorter vectors products lose bits, for float32 ends near 2^-149


def rounding(depth: int) -> float:
    """What a sum of ``depth`` products in float32 may be wrong by, relative to the lengths of its vectors, twice."""
    return 2 * (depth + LONG + WIDTH) * UNIT


@dataclass(frozen=True, slots=True, eq=False)
class ShortVectors:
    """Vectors of two lengths, [n, SHORT] and [n, LONG], and the squares of the lengths that both keep, [n]."""

    short: FloatArray
    long: FloatArray
    squares: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Orthonormal directions, [D, at most LONG - 1], widest first; ``unit``: edges are made of length 1 first.

    All is computed in float64, so that short vectors are as exact as float32 can be.
    """

    axes: npt.NDArray[np.float64]
    unit: bool

    @classmethod
    def of(cls, vectors: FloatArray, *, unit: bool) -> Directions:
        """Those in which some vectors, [N, D], spread most."""
        sample = vectors[:: len(vectors) // SAMPLE + 1].astype(np.float64)
        if unit:
            sample /= np.maximum(np.linalg.norm(sample, axis=1, keepdims=True), EPS)
        _, axes = np.linalg.eigh(sample.T @ sample)
        return cls(np.ascontiguousarray(axes[:, :-LONG:-1]), unit)

    def nodes(self, points: FloatArray) -> ShortVectors:
        """Points of nodes, [n, D], made short; their lengths stay, be it that of a vector too short to be made 1."""
        everyone = np.arange(len(points))
        return self._made(points, np.stack([everyone, everyone], axis=1), unit=False)

    def edges(self, vectors: FloatArray, ends: IntArray) -> ShortVectors:
        """Vectors of edges, the means of those of their ends, [n, 2], made short."""
        return self._made(vectors, ends, unit=self.unit)

    def _made(self, vectors: FloatArray, ends: IntArray, *, unit: bool) -> ShortVectors:
        count = len(ends)
        shapes = ((count, SHORT), (count, LONG), (count,))
        made = ShortVectors(*(np.zeros(shape, np.float32) for shape in shapes))
        for low in range(0, count, BLOCK):
            some = slice(low, low + BLOCK)
            used, places = np.unique(ends[some], return_inverse=True)
            own, where = vectors[used], places.reshape(-1, 2)
            _shorten(own, own @ self.axes, where, unit, made.short[some], made.long[some], made.squares[some])
        return made


@numba.njit(parallel=True, cache=True, nogil=True, fastmath={"reassoc", "contract"})  # sums run in vector lanes
def _shorten(
    vectors: FloatArray,
    along: npt.NDArray[np.float64],
    ends: IntArray,
    unit: bool,
    short: FloatArray,
    long: FloatArray,
    squares: FloatArray,
) -> None:
    """The coordinates of each edge and the length of the rest, which is never rounded down."""
    depth, count = vectors.shape[1], along.shape[1]
    for e in numba.prange(len(ends)):
        u, v = ends[e, 0], ends[e, 1]
        whole, seen = 0.0, 0.0
        for d in range(depth):
            entry = 0.5 * (np.float64(vectors[u, d]) + np.float64(vectors[v, d]))
            whole += entry * entry
        scale = 1 / max(np.sqrt(whole), EPS) if unit else 1.0
        for d in range(count):
            entry = 0.5 * (along[u, d] + along[v, d])
            if d == SHORT - 1:
                short[e, d] = UP * scale * np.sqrt(max(whole - seen, 0.0) + 1e-12 * whole)
            if d < SHORT - 1:
                short[e, d] = scale * entry
            long[e, d] = scale * entry
            seen += entry * entry
        rest = UP * scale * np.sqrt(max(whole - seen, 0.0) + 1e-12 * whole)
        long[e, LONG - 1] = rest
        if count < SHORT:
            short[e, SHORT - 1] = rest
        squares[e] = whole * scale * scale
