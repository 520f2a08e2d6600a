"""Where the nodes of a shown local graph are put: by structure alone, the same on every run.

The center is in the middle and every number of hops has its ring, so that a picture shows what a local graph is. The
order on a ring comes from the structure: short edges, and none through a node that is not its end.
Shapes: P nodes, S edges, R pairs of matched edges.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from se_gnn.graph.arrays import IntArray

Points = npt.NDArray[np.float64]

_ROUNDS = 100  # of stress majorization
_PASSES = 6  # of exchanging nodes on a ring
_CLEARANCE = 0.12  # an edge that comes nearer to a node looks like one of its edges
_CROWDED = 0.22  # least distance on a ring before nodes take turns between two radii


def layout(rings: IntArray, edges: IntArray) -> Points:
    """Positions [P, 2] in the unit disc, node 0 in the middle.

    Args:
        rings: the ring of each node, 0 for the center alone, [P].
        edges: positions of nodes that are joined, [S, 2]; parts that are not joined keep their distance.
    """
    if len(rings) == 1:
        return np.zeros((1, 2))
    joined = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(len(rings), len(rings)))
    hops = shortest_path(joined, directed=False, unweighted=True)  # [P, P]
    hops[np.isinf(hops)] = 1 + hops[np.isfinite(hops)].max()
    points = _on_rings(_least_stress(hops), rings)
    return _exchanged(points, rings, edges)


def turned_to(points: Points, ours: Points, theirs: Points) -> Points:
    """``points`` rotated and mirrored so that ``ours`` [R, 2] come to lie as near to ``theirs`` [R, 2] as they can."""
    if not len(ours):
        return points
    left, _, right = np.linalg.svd(ours.T @ theirs)
    turned: Points = points @ (left @ right)
    return turned


def _least_stress(hops: npt.NDArray[np.float64]) -> Points:
    """Positions whose distances follow the number of hops: Gansner, Koren and North, "Graph Drawing by Stress
    Majorization" (2004), from a circle.
    """  # noqa: D205
    angle = 2 * np.pi * np.arange(len(hops)) / len(hops)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    itself = np.eye(len(hops), dtype=bool)
    wanted = np.where(itself, 1, hops)
    weights = np.where(itself, 0, wanted**-2.0)  # [P, P]
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_ROUNDS):
        drawn = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = weights * wanted / np.maximum(drawn, 1e-6)
        points = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ points
    return points


def _on_rings(points: Points, rings: IntArray) -> Points:
    """Nodes moved to evenly spaced places on the ring of their distance, in the order of their direction."""
    away = points - points[0]
    direction = np.arctan2(away[:, 1], away[:, 0])
    placed = np.zeros_like(points)
    outermost = rings.max()
    for ring in range(1, outermost + 1):
        members = np.flatnonzero(rings == ring)
        members = members[np.argsort(direction[members], kind="stable")]
        count = len(members)
        if not count:  # all of this ring are hidden
            continue
        even = 2 * np.pi * np.arange(count) / count
        angle = even + np.angle(np.exp(1j * (direction[members] - even)).sum())  # the turn that moves nodes least
        radius = np.full(count, ring / outermost)
        if 2 * np.pi * ring / outermost / count < _CROWDED:
            radius[1::2] -= 0.17 / outermost
        placed[members] = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return placed


@numba.njit(cache=True, nogil=True)
def _exchanged(points: Points, rings: IntArray, edges: IntArray) -> Points:
    """Nodes of a ring exchange places as long as that makes the picture clearer."""
    points, cost = points.copy(), _clutter(points, edges)
    for _ in range(_PASSES):
        before = cost
        for a in range(1, len(points)):
            for b in range(a + 1, len(points)):
                if rings[a] != rings[b]:
                    continue
                _exchange(points, a, b)
                after = _clutter(points, edges)
                if after < cost - 1e-9:
                    cost = after
                else:
                    _exchange(points, a, b)
        if cost == before:
            break
    return points


@numba.njit(cache=True, nogil=True)
def _exchange(points: Points, a: int, b: int) -> None:
    for axis in range(2):
        points[a, axis], points[b, axis] = points[b, axis], points[a, axis]


@numba.njit(cache=True, nogil=True)
def _clutter(points: Points, edges: IntArray) -> float:
    """Length of all edges, and one more for each node that an edge runs through."""
    total = 0.0
    for s in range(len(edges)):
        x, y = points[edges[s, 0]]
        dx, dy = points[edges[s, 1], 0] - x, points[edges[s, 1], 1] - y
        squared = dx * dx + dy * dy
        total += np.sqrt(squared)
        for p in range(len(points)):
            share = ((points[p, 0] - x) * dx + (points[p, 1] - y) * dy) / squared
            if 0 < share < 1:
                across, up = points[p, 0] - x - share * dx, points[p, 1] - y - share * dy
                total += across * across + up * up < _CLEARANCE * _CLEARANCE
    return total
