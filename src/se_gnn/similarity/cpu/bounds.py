r"""Upper bounds of similarity: a first one of a query and all cases, and a closer one of a pair.

A vector :math:`a` becomes its coordinates along a few directions, :math:`a_1`, and the length of all the rest,
:math:`|a_2|`. Lengths stay, and :math:`a \cdot b` is at most :math:`a_1 \cdot b_1 + |a_2||b_2|` (Cauchy-Schwarz). The
directions are those in which the vectors spread most: trained embeddings have few, so that the rest is short and the
bound is close.

The first bound comes from node similarity and from *centers* of edges. Every edge :math:`a` of a query lies at a
distance :math:`r` from its nearest center :math:`c`, and the edges :math:`b` of a case at
:math:`D[c, l] = \min_b |c - b|` or more. By the triangle inequality :math:`|a - b| \ge D[c, l] - r`. That is convex in
:math:`r`, so that the edges of a query with the same center count by their mean radius (Jensen). All of it in a few
directions: a distance there is never more than the whole.

For the closer bound the edges of the query lie side by side, in lanes, and meet those of the case one after the other.
Shapes: n vectors, D dimensions, T nodes, C centers, L cases, A directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.cpu.lanes import bound_lanes
from se_gnn.similarity.cpu.matching import Vectors, edge_squares
from se_gnn.similarity.items import LocalEdges
from se_gnn.similarity.measure import EPS

SHORT, LONG = 8, 48  # numbers that a vector becomes: for a quick look, and for one that tells nearly all
SAMPLE = 4096  # vectors that directions, or centers, are found from
BLOCK = 1 << 13  # vectors that are held in float64 at a time
UNIT = 2.0**-24  # rounding of float32
UP = 1 + 4 * UNIT  # makes up for it
COUNT = 64  # centers
ROUNDS = 6  # of moving them to the mean of their edges
UNDERFLOW = 2.0**-120  # a squared length; of shorter vectors products lose bits, for float32 ends near 2^-149

FAST = {"reassoc", "contract"}  # sums in any order: bounds decide who is compared, with room for rounding, no result


def rounding(depth: int) -> np.float32:
    """What a sum of ``depth`` products in float32 may be wrong by, relative to the lengths of its vectors, twice."""
    return np.float32(2 * (depth + 64) * UNIT)


class Terms(NamedTuple):
    """What similarity is made of, and what a sum may be wrong by, relative to the lengths of its vectors."""

    node_weight: np.float32  # lambda
    unit: bool  # the measure is the cosine, else minus the distance
    rounding: np.float32


def directions(vectors: FloatArray) -> npt.NDArray[np.float64]:
    """Orthonormal directions in which some vectors, [N, D], spread most, widest first, [D, A]."""
    sample = vectors[:: len(vectors) // SAMPLE + 1].astype(np.float64)
    _, axes = np.linalg.eigh(sample.T @ sample)
    return axes[:, :-LONG:-1]


class ShortVectors(NamedTuple):
    """Vectors of a few coordinates and the length of the rest, [n, A + 1], and the squares of their lengths, [n]."""

    short: FloatArray
    squares: FloatArray

    @classmethod
    def of(
        cls, vectors: FloatArray, ends: IntArray, axes: npt.NDArray[np.float64], *, unit: bool = False
    ) -> ShortVectors:
        """Made in float64 of the means of ``ends``, [n, 2], which are of length 1 if ``unit``; no rest is too short."""
        made = cls(np.empty((len(ends), axes.shape[1] + 1), np.float32), np.empty(len(ends), np.float32))
        for low in range(0, len(ends), BLOCK):
            some = slice(low, low + BLOCK)
            whole = (vectors[ends[some, 0]].astype(np.float64) + vectors[ends[some, 1]]) / 2  # [n, D]
            if unit:
                whole /= np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), EPS)
            along, squares = whole @ axes, np.square(whole).sum(axis=1)
            rest = np.maximum(squares - np.square(along).sum(axis=1), 0) + 1e-12 * squares
            made.short[some], made.squares[some] = np.column_stack([along, UP * np.sqrt(rest)]), squares
        return made


def shorter(short: FloatArray) -> FloatArray:
    """Short vectors with all but their first coordinates in the length of the rest, [n, SHORT] at most."""
    count = min(SHORT, short.shape[1]) - 1
    rest = np.linalg.norm(short[:, count:].astype(np.float64), axis=1)
    return np.column_stack([short[:, :count], UP * rest]).astype(np.float32)


class Edges(NamedTuple):
    r"""Short vectors of edges, the edges of each node, and how much rounding may add for each node.

    ``noise``: squared distances are wrong by a share of the squared lengths of the ends of edges; where lengths do not
    count, a match is found by scores that are wrong by so many times what a product of unit vectors is. ``far``: edges
    far from 0 are rounded before their difference is taken, where lengths count.

    Shapes:
        - **short:** :math:`(n, width)`, **squares**, **offset** (added to products, :math:`-|b|^2 / 2` where lengths
          count): :math:`(n,)`
        - **ptr:** :math:`(T + 1,)`, **members:** positions of the edges of each node
        - **noise**, **far:** :math:`(T,)`
    """

    short: FloatArray
    squares: FloatArray
    offset: FloatArray
    ptr: IntArray
    members: Int32Array
    noise: FloatArray
    far: FloatArray

    @classmethod
    def of(cls, edges: LocalEdges, vectors: Vectors, axes: npt.NDArray[np.float64], *, unit: bool) -> Edges:
        """The edges of queries or of cases."""
        made = ShortVectors.of(vectors.moved, edges.ends, axes, unit=unit)
        squares, noise = edge_squares(vectors.moved, edges.ends)
        if unit:
            noise = np.sqrt(np.maximum(noise / np.maximum(squares, EPS * EPS), 1))
            far = np.zeros(len(edges), np.float32)
        else:
            noise = noise + np.float32(UNDERFLOW)
            far = np.sqrt(np.einsum("nd,nd->n", vectors.h, vectors.h))[edges.ends].max(axis=1, initial=0)
        offset = made.squares * np.float32(0 if unit else -0.5)
        largest = (_of_nodes(np.maximum, edges.ptr, edges.columns, values) for values in (noise, far))
        return cls(*made, offset, edges.ptr, edges.columns, *largest)

    def wrong(self, terms: Terms) -> FloatArray:
        """How much less than computed here the distances of a node's edges, as they are compared, may be, [T]."""
        if terms.unit:
            return np.full(len(self.noise), terms.rounding, np.float32)
        share = np.float32(np.sqrt(2 * terms.rounding) + terms.rounding)
        wrong: FloatArray = share * np.sqrt(self.noise) + np.float32(4 * UNIT) * self.far
        return wrong


def _of_nodes(reduce: np.ufunc, ptr: IntArray, members: Int32Array, values: FloatArray) -> FloatArray:
    """The largest or least value among the edges of each node, [T]; 0 where it has none."""
    found = np.zeros(len(ptr) - 1, np.float32)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        found[filled] = reduce.reduceat(values[members], ptr[filled])
    return found


class Centers(NamedTuple):
    r"""Centers of edges, how far from each of them the edges of the cases lie, and which centers the queries are at.

    Shapes:
        - **apart:** :math:`(C, L)`
        - **ptr:** :math:`(T + 1,)`; **at**, **shares**, **radii:** the centers of each query, the share of its edges
          that each has (half of it where squares of distances count), and their mean distance from it
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
        apart = np.stack(
            [
                _of_nodes(np.minimum, keys.ptr, keys.members, cdist(key_points, center[None])[:, 0].astype(np.float32))
                for center in centers
            ]
        )
        apart -= keys.wrong(terms)
        radii, nearest = KDTree(centers).query(points)
        owners = np.repeat(np.arange(len(edges.ptr) - 1), np.diff(edges.ptr))
        groups, places = np.unique(owners * len(centers) + nearest[edges.members], return_inverse=True)
        sizes = np.bincount(places, minlength=len(groups))  # edges of a query that have the same center
        ptr, owners = np.searchsorted(groups, np.arange(len(edges.ptr)) * len(centers)), groups // len(centers)
        means = np.bincount(places, radii[edges.members], minlength=len(groups)) / sizes + edges.wrong(terms)[owners]
        shares = (0.5 if terms.unit else 1) * sizes / np.diff(edges.ptr)[owners]
        at = (groups % len(centers)).astype(np.int32)
        return cls(apart, ptr, at, shares.astype(np.float32), means.astype(np.float32))


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
        _, nearest = KDTree(centers).query(sample)
        sizes = np.bincount(nearest, minlength=len(centers))
        sums = np.zeros(centers.shape, np.float64)
        np.add.at(sums, nearest, sample)
        filled = sizes > 0
        centers[filled] = (sums[filled] / sizes[filled, None]).astype(np.float32)
    return centers


@compiled(parallel=True, fastmath=FAST)
def first_bounds(
    upper: FloatArray, some: IntArray, squares: FloatArray, case_squares: FloatArray, centers: Centers, terms: Terms
) -> None:
    """Products of some queries and all cases, [T, L], become upper bounds of their overall similarity."""
    one, spare = np.float32(1), np.float32(4) * terms.rounding
    for n in numba.prange(len(some)):
        t, row = some[n], upper[n]
        start, end = centers.ptr[t], centers.ptr[t + 1]
        weight = terms.node_weight if start < end else one  # without edges
        beyond = np.zeros(len(row), np.float32)  # what its edges are apart from those of each case, at least
        for g in range(start, end):
            line, share, radius = centers.apart[centers.at[g]], centers.shares[g], centers.radii[g]
            for i in range(len(row)):
                away = max(line[i] - radius, np.float32(0))
                beyond[i] += share * (away * away if terms.unit else away)
        for i in range(len(row)):
            if terms.unit:
                bound = weight * min(row[i], one) + (one - weight) * (one - beyond[i]) + spare
            else:
                together = squares[t] + case_squares[i]
                wrong = spare * (together + np.float32(UNDERFLOW))
                distance = np.sqrt(max(together - np.float32(2) * (row[i] + wrong), np.float32(0)))
                bound = -(weight * distance + (one - weight) * beyond[i])
            row[i] = bound + np.float32(256 * UNIT) * (abs(bound) + one)


@compiled(parallel=True)
def pair_bounds(
    edges: Edges, keys: Edges, terms: Terms, some: IntArray, ptr: IntArray, positions: IntArray
) -> FloatArray:
    """Upper bounds of the structure similarity of some queries and the cases listed for each, [n]; nan: undefined."""
    bounds = np.full(len(positions), np.nan, np.float32)
    for n in numba.prange(len(some)):
        t, width = some[n], edges.short.shape[1]
        start, size = edges.ptr[t], edges.ptr[t + 1] - edges.ptr[t]
        blocks = (size + WIDTH - 1) // WIDTH
        lanes, best = np.empty((blocks * width, WIDTH), np.float32), np.empty((blocks, WIDTH), np.float32)
        squares = np.empty(blocks * WIDTH, np.float32)
        for e in range(blocks * WIDTH):  # where they end, the last one again
            name = edges.members[start + min(e, size - 1)]
            squares[e] = edges.squares[name]
            for d in range(width):
                lanes[e // WIDTH * width + d, e % WIDTH] = edges.short[name, d]
        for p in range(ptr[n], ptr[n + 1]):
            if size > 0 and keys.ptr[positions[p]] < keys.ptr[positions[p] + 1]:
                bounds[p] = _pair_bound(lanes, squares, best, edges, keys, terms, t, positions[p])
    return bounds


@compiled(_nrt=False, fastmath=FAST)  # without counting references, for which threads would wait
def _pair_bound(
    lanes: FloatArray, squares: FloatArray, best: FloatArray, edges: Edges, keys: Edges, terms: Terms, t: int, i: int
) -> np.float32:
    """The mean similarity of the edges of a query, in lanes, with their best matches in a case is at most this."""
    start, end, size = keys.ptr[i], keys.ptr[i + 1], edges.ptr[t + 1] - edges.ptr[t]
    one, zero = np.float32(1), np.float32(0)
    spare = terms.rounding * (edges.noise[t] * keys.noise[i] if terms.unit else edges.noise[t] + keys.noise[i])
    if terms.unit:
        spare = min(spare, np.float32(4) * terms.rounding)  # worse is computed again
    apart = np.float32(4 * UNIT) * (edges.far[t] + keys.far[i])
    total = zero
    for low in range(0, size, WIDTH):
        block = low // WIDTH
        bound_lanes(lanes, block, keys.short, keys.offset, keys.members, start, end, best)
        some = zero
        for lane in range(min(WIDTH, size - low)):
            if terms.unit:
                some += min(best[block, lane], one) + spare
            else:
                distance = np.sqrt(max(squares[low + lane] - np.float32(2) * (best[block, lane] + spare), zero))
                some -= max(distance - apart, zero)
        total += some
    mean = total / np.float32(size)
    return mean + np.float32((size + end - start) * 2 * UNIT) * max(abs(mean), one)
