r"""A bound of structure similarity from centers of edges, for all pairs of nodes at once.

Every edge :math:`a` of a target lies at a distance :math:`r` from its nearest center :math:`c`, and the edges
:math:`b` of a labeled node at :math:`D[c, l] = \min_b |c - b|` or more. By the triangle inequality
:math:`|a - b| \ge D[c, l] - r`. That is convex in :math:`r`, so that the edges of a target with the same center count
by their mean radius (Jensen). All of it in a few directions: a distance there is never more than the whole.
Shapes: C centers, T targets, L labeled nodes, A directions, n edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.similarity.kernels.pair_bounds import Edges, Terms
from se_gnn.similarity.short import UNIT

COUNT = 64  # centers
SAMPLE = 4096  # edges that they are found from
ROUNDS = 6  # of moving them to the mean of their edges


class Centers(NamedTuple):
    r"""Centers of edges, how far from each of them the labeled nodes' edges lie, and which centers targets are at.

    Shapes:
        - **apart:** :math:`(C, L)` and zeros up to a multiple of `WIDTH` columns
        - **ptr:** :math:`(T + 1,)`; **at**, **shares**, **radii:** the centers of each target, the share of its edges
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
        """From the short vectors of the edges of targets and of labeled nodes; a node without edges has distance 0.

        What rounding may add for each node counts against its distance or for its radius.
        """
        points, key_points = edges.short[:, :-1], keys.short[:, :-1]
        centers = _means(key_points[:: len(key_points) // SAMPLE + 1].copy())
        num_labeled = len(keys.ptr) - 1
        apart = np.zeros((len(centers), num_labeled + -num_labeled % WIDTH), np.float32)
        _least_apart(key_points, centers, keys.ptr, keys.members, apart)
        apart[:, :num_labeled] -= _wrong(keys, terms)
        nearest, radii = _nearest(points, centers)
        ptr, at = np.zeros(len(edges.ptr), np.int64), np.empty(len(edges.members), np.int32)
        sizes, sums = (np.empty(len(edges.members), np.float32) for _ in range(2))
        count = _grouped(nearest, radii, len(centers), edges.ptr, edges.members, ptr, at, sizes, sums)
        mean = sums[:count] / sizes[:count] + np.repeat(_wrong(edges, terms), np.diff(ptr))
        weight = (0.5 if terms.unit else 1) * (0.5 if terms.both else 1)  # of a square, and of one way of two
        shares = sizes[:count] * np.repeat(weight / np.maximum(np.diff(edges.ptr), 1), np.diff(ptr))
        return cls(apart, ptr, at[:count], shares.astype(np.float32), mean)


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


@numba.njit(parallel=True, cache=True, nogil=True)
def _nearest(edges: FloatArray, centers: FloatArray) -> tuple[Int32Array, FloatArray]:
    """The nearest center of each edge, of equals the first, and how far it is."""
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


@numba.njit(parallel=True, cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def _grouped(
    nearest: Int32Array,
    radii: FloatArray,
    num_centers: int,
    ptr: IntArray,
    columns: Int32Array,
    own_ptr: IntArray,
    own_at: Int32Array,
    sizes: FloatArray,
    sums: FloatArray,
) -> int:
    """The centers of each target, one after the other."""
    slots, count = np.full(num_centers, -1, np.int64), 0
    for t in range(len(ptr) - 1):
        for m in range(ptr[t], ptr[t + 1]):
            c = nearest[columns[m]]
            if slots[c] < own_ptr[t]:
                slots[c] = count
                own_at[count], sizes[count], sums[count] = c, 0, 0
                count += 1
            sizes[slots[c]] += 1
            sums[slots[c]] += radii[columns[m]]
        own_ptr[t + 1] = count
    return count
