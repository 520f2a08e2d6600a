r"""What bounds are made of: short vectors of nodes and edges, and centers of edges.

A vector :math:`a` becomes its coordinates along a few directions, :math:`a_1`, and the length of all the rest,
:math:`|a_2|`. Lengths stay, and :math:`a \cdot b` lies between :math:`a_1 \cdot b_1 - |a_2||b_2|` and
:math:`a_1 \cdot b_1 + |a_2||b_2|` (Cauchy-Schwarz). The directions are those in which the vectors spread most: trained
embeddings have few, so that the rest is short and both bounds are close. Vectors of `SHORT` coordinates are a first
look; those of `LONG` tell nearly all.

Centers give a bound of structure similarity for all pairs of nodes at once. Every edge :math:`a` of a query lies at a
distance :math:`r` from its nearest center :math:`c`, and the edges :math:`b` of a case at
:math:`D[c, l] = \min_b |c - b|` or more. By the triangle inequality :math:`|a - b| \ge D[c, l] - r`. That is convex in
:math:`r`, so that the edges of a query with the same center count by their mean radius (Jensen). All of it in a few
directions: a distance there is never more than the whole.

Shapes: n vectors, D dimensions, T nodes, C centers, L cases, A directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.cpu.lanes import LONG, SHORT
from se_gnn.similarity.measure import EPS

SAMPLE = 4096  # vectors that directions, or centers, are found from
BLOCK = 1 << 17  # edges whose ends are held in float64 at a time
UNIT = 2.0**-24  # rounding of float32
UP = 1 + 4 * UNIT  # makes up for it
COUNT = 64  # centers
ROUNDS = 6  # of moving them to the mean of their edges
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


@compiled(parallel=True, fastmath={"reassoc", "contract"})  # sums run in vector lanes
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


class Edges(NamedTuple):
    r"""Short vectors of edges, and the edges of each node.

    ``noise`` and ``far`` say how much rounding may add: see :mod:`se_gnn.similarity.cpu.search`.

    Shapes:
        - **short:** :math:`(n, SHORT)`, **long:** :math:`(n, LONG)`, **squares**, **offset** (added to products,
          :math:`-|b|^2 / 2` where lengths count): :math:`(n,)`
        - **ptr:** :math:`(T + 1,)`, **members:** positions of the edges of each node
        - **noise**, **far:** :math:`(T,)`
    """

    short: FloatArray
    long: FloatArray
    squares: FloatArray
    offset: FloatArray
    ptr: IntArray
    members: Int32Array
    noise: FloatArray
    far: FloatArray


class Nodes(NamedTuple):
    r"""Nodes as bounds are made of them.

    Shapes:
        - **ids**, **squares:** :math:`(T,)`, **points:** :math:`(T, D)`, **long:** :math:`(T, LONG)`
    """

    ids: IntArray
    squares: FloatArray
    points: FloatArray
    long: FloatArray


class Terms(NamedTuple):
    """What similarity is made of, and what a sum may be wrong by, relative to the lengths of its vectors."""

    node_weight: np.float32  # lambda
    unit: bool  # the measure is the cosine, else minus the distance
    both: bool  # both directions of matching count
    rounding: np.float32


class Centers(NamedTuple):
    r"""Centers of edges, how far from each of them the edges of the cases lie, and which centers the queries are at.

    Shapes:
        - **apart:** :math:`(C, L)` and zeros up to a multiple of `WIDTH` columns
        - **ptr:** :math:`(T + 1,)`; **at**, **shares**, **radii:** the centers of each query, the share of its edges
          that each has (half of it where squares of distances count, and where this is one way of two), and their mean
          distance from it
    """

    apart: FloatArray
    ptr: IntArray
    at: Int32Array
    shares: FloatArray
    radii: FloatArray

    @classmethod
    def of(cls, edges: Edges, keys: Edges, terms: Terms) -> Centers:
        """Computed from the short vectors of the edges of queries and cases; a node without edges has distance 0.

        What rounding may add for each node counts against its distance or for its radius.
        """
        points, key_points = edges.short[:, :-1], keys.short[:, :-1]
        centers = _means(key_points[:: len(key_points) // SAMPLE + 1].copy())
        num_labeled = len(keys.ptr) - 1
        apart = np.zeros((len(centers), num_labeled + -num_labeled % WIDTH), np.float32)
        _least_apart(key_points, centers, keys.ptr, keys.members, apart)
        apart[:, :num_labeled] -= _wrong(keys, terms)
        nearest, radii = _nearest(points, centers)
        owners = np.repeat(np.arange(len(edges.ptr) - 1), np.diff(edges.ptr))
        groups, places = np.unique(owners * len(centers) + nearest[edges.members], return_inverse=True)
        sizes = np.bincount(places, minlength=len(groups))  # edges of a query that have the same center
        ptr, owners = np.searchsorted(groups, np.arange(len(edges.ptr)) * len(centers)), groups // len(centers)
        means = np.bincount(places, radii[edges.members], minlength=len(groups)) / sizes + _wrong(edges, terms)[owners]
        weight = (0.5 if terms.unit else 1) * (0.5 if terms.both else 1)  # of a square, and of one way of two
        shares = weight * sizes / np.diff(edges.ptr)[owners]
        at = (groups % len(centers)).astype(np.int32)
        return cls(apart, ptr, at, shares.astype(np.float32), means.astype(np.float32))


def _wrong(edges: Edges, terms: Terms) -> FloatArray:
    """How much less than computed here the distances of a node's edges, as they are compared, may be, [T]."""
    if terms.unit:
        return np.full(len(edges.noise), terms.rounding, np.float32)
    share = np.float32(np.sqrt(2 * terms.rounding) + terms.rounding)
    wrong: FloatArray = share * np.sqrt(edges.noise) + np.float32(4 * UNIT) * edges.far
    return wrong


def _means(sample: FloatArray) -> FloatArray:
    """Centers of some edges: those farthest from each other, moved to the means of their edges, [C, A]."""
    if not len(sample):
        return np.zeros((1, sample.shape[1]), np.float32)
    chosen, away = [0], np.full(len(sample), np.inf)
    while len(chosen) < min(COUNT, len(sample)):
        away = np.minimum(away, np.square(sample - sample[chosen[-1]]).sum(axis=1))
        chosen.append(int(away.argmax()))
    centers = sample[chosen]
    for _ in range(ROUNDS):
        nearest, _ = _nearest(sample, centers)
        sizes = np.bincount(nearest, minlength=len(centers))
        sums = np.zeros(centers.shape, np.float64)
        np.add.at(sums, nearest, sample)
        filled = sizes > 0
        centers[filled] = (sums[filled] / sizes[filled, None]).astype(np.float32)
    return centers


@compiled(parallel=True)
def _nearest(edges: FloatArray, centers: FloatArray) -> tuple[Int32Array, FloatArray]:
    """The nearest center of each edge; ties go to the first, and how far it is."""
    nearest, radii = np.empty(len(edges), np.int32), np.empty(len(edges), np.float32)
    for e in numba.prange(len(edges)):
        best, at = np.float32(np.inf), 0
        for c in range(len(centers)):
            total = np.float32(0)
            for d in range(centers.shape[1]):
                total += (edges[e, d] - centers[c, d]) ** 2
            if total < best:
                best, at = total, c
        nearest[e], radii[e] = at, np.sqrt(best)
    return nearest, radii


@compiled(parallel=True)
def _least_apart(keys: FloatArray, centers: FloatArray, ptr: IntArray, members: Int32Array, apart: FloatArray) -> None:
    """How far the nearest edge of each local graph is from each center."""
    squares = np.empty((len(keys), len(centers)), np.float32)
    for k in numba.prange(len(keys)):
        for c in range(len(centers)):
            total = np.float32(0)
            for d in range(centers.shape[1]):
                total += (keys[k, d] - centers[c, d]) ** 2
            squares[k, c] = total
    for i in numba.prange(len(ptr) - 1):
        least = np.full(len(centers), np.inf if ptr[i] < ptr[i + 1] else 0.0, np.float32)
        for m in range(ptr[i], ptr[i + 1]):
            for c in range(len(centers)):
                least[c] = min(least[c], squares[members[m], c])
        for c in range(len(centers)):
            apart[c, i] = np.sqrt(least[c])
