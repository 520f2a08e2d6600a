"""Where things go in pictures of local graphs that are seen side by side, whatever draws them.

All lengths are in units of the layout, which fills the unit disc. Shapes: P nodes, S edges, R pairs of matched edges,
B points of a path, O obstacles.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import orthogonal_procrustes
from scipy.sparse.csgraph import shortest_path

from se_gnn.compiled_code import compiled
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.plot.local_view import LocalView

Points = npt.NDArray[np.float64]

MOST_LAYOUTS = 64  # that are kept
_PASSES = 6  # of exchanging nodes on a ring
_CLEARANCE = 0.12  # an edge that comes nearer to a node looks like one of its edges
_CROWDED = 0.22  # least distance on a ring before nodes take turns between two radii


def layout(rings: IntArray, edges: IntArray) -> Points:
    """Positions [P, 2] in the unit disc of nodes on ``rings`` [P], node 0 alone in the middle; ``edges`` are [S, 2]."""
    return _placed(rings.astype(np.int64).tobytes(), edges.astype(np.int64).tobytes())


@lru_cache(MOST_LAYOUTS)
def _placed(ring_bytes: bytes, edge_bytes: bytes) -> Points:
    """The same from bytes; a page that changes little asks for it again and again."""
    rings, edges = np.frombuffer(ring_bytes, np.int64), np.frombuffer(edge_bytes, np.int64).reshape(-1, 2)
    if len(rings) == 1:
        return np.zeros((1, 2))
    joined = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(len(rings), len(rings)))
    hops = shortest_path(joined, directed=False, unweighted=True)  # [P, P]
    hops[np.isinf(hops)] = 1 + hops[np.isfinite(hops)].max()
    points = _exchanged(_on_rings(_by_hops(hops), rings), rings, edges)
    points.flags.writeable = False
    return points


def turned_to(points: Points, ours: Points, theirs: Points) -> Points:
    """``points`` rotated and mirrored so that ``ours`` [R, 2] come to lie as near to ``theirs`` [R, 2] as they can."""
    if not len(ours):
        return points
    turned: Points = points @ orthogonal_procrustes(ours, theirs)[0]
    return turned


def _by_hops(hops: npt.NDArray[np.float64]) -> Points:
    """Positions whose distances follow the number of hops [P, P]: classical multidimensional scaling."""
    squared = hops**2 - (hops**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-(squared - squared.mean(axis=1, keepdims=True)) / 2)
    points: Points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
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


@compiled
def _exchanged(points: Points, rings: IntArray, edges: IntArray) -> Points:
    """Nodes of a ring exchange places as long as that makes the picture clearer."""
    cost = _clutter(points, edges)
    for _ in range(_PASSES):
        before = cost
        for a in range(1, len(points)):
            for b in range(a + 1, len(points)):
                if rings[a] != rings[b]:
                    continue
                exchanged = points.copy()
                exchanged[a], exchanged[b] = points[b], points[a]
                after = _clutter(exchanged, edges)
                if after < cost - 1e-9:
                    points, cost = exchanged, after
        if cost == before:
            break
    return points


@compiled
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


BADGE = 0.15  # width that a number takes
NODE_RADIUS, CENTER_RADIUS = 0.09, 0.17
NAME_AWAY, CHARACTER, LINE = 0.155, 0.058, 0.05  # of a name: middle from its node, width per character, half height
EDGE_OF_PICTURE = 1.15

_LEAST = 0.2  # strength of the weakest edge that has a match
_MARGIN = 0.03  # between an edge and a node that is not its end
_BEND_POINTS = 9
_FAN = 0.3  # between parallel edges
_BENDS = (0.25, 0.4, 0.55, 0.7, 0.9, 1.1, 1.3)  # how far a bent edge is pulled aside
_STEPS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # where on an edge a number may stand
_ASIDE = (0.0, 0.6, -0.6, 1.1, -1.1, 1.8, -1.8)  # and how many widths beside it


def laid_out(views: Sequence[LocalView]) -> list[Points]:
    """Positions [P, 2] of the nodes of each view; neighbors are turned so that edges of one number lie alike."""
    points = [layout(view.hops, view.ends) for view in views]
    for i, view in enumerate(views[1:], start=1):
        points[i] = turned_to(points[i], *_numbered_middles(view, points[i], views[0], points[0]))
    return points


def edge_paths(view: LocalView, points: Points) -> list[Points]:
    """The path of each edge [B, 2]: straight, or bent around a node that it would run under, the center above all.

    Parallel edges fan out.
    """
    radius = np.full(len(points), NODE_RADIUS + _MARGIN)
    radius[0] = CENTER_RADIUS + _MARGIN
    pairs = [tuple(sorted(ends)) for ends in view.ends.tolist()]
    paths = []
    for i, (ends, pair) in enumerate(zip(view.ends, pairs)):
        count, place = pairs.count(pair), pairs[:i].count(pair)  # of parallel edges
        if count > 1:  # a curve, the farther aside the farther from the middle one
            aside = (place - (count - 1) / 2) * min(_FAN, 1.2 / count)
            across = _across(points[pair[1]] - points[pair[0]])
            paths.append(_curve(points[ends], points[ends].mean(axis=0) + aside * across))
        else:
            paths.append(_path(points[ends], np.delete(points, ends, axis=0), np.delete(radius, ends)))
    return paths


def number_places(view: LocalView, points: Points, paths: Sequence[Points], names: Sequence[str] = ()) -> list[Points]:
    """Where the numbers of each edge go, [count, 2] each: on the edge or beside it, clear of nodes, names and others.

    ``paths`` are those of :func:`edge_paths`, ``names`` those written at the nodes but the center, if any are.
    """
    nodes = np.column_stack([points, np.full(len(points), NODE_RADIUS)])
    nodes[0, 2] = CENTER_RADIUS
    taken = np.concatenate([nodes, *(_name_circles(*pair) for pair in zip(points[1:], names))])  # [O, 3]
    places = []
    for path, numbers in zip(paths, view.numbers):
        found = _row(path, len(numbers), taken) if numbers else np.empty((0, 2))
        taken = np.concatenate([taken, np.column_stack([found, np.full(len(found), BADGE / 2)])])
        places.append(found)
    return places


def name_place(point: Points, name: str) -> Points:
    """The middle of the name of a node: above or below it, away from the center, and not beyond the picture."""
    room = max(0.0, EDGE_OF_PICTURE - CHARACTER * len(name) / 2)
    return np.array([np.clip(point[0], -room, room), point[1] + (NAME_AWAY if point[1] > 0.05 else -NAME_AWAY)])


def pieces(path: Points, count: int) -> list[Points]:
    """A path cut into ``count`` parts of about equal length, each [B, 2]."""
    if count == 1:
        return [path]
    steps = _steps(path)
    parts = []
    for low, high in itertools.pairwise(np.linspace(0, steps[-1], count + 1).tolist()):
        inside = path[(steps > low + 1e-9) & (steps < high - 1e-9)]
        parts.append(np.concatenate([[point_after(path, low)], inside, [point_after(path, high)]]))
    return parts


def path_length(path: Points) -> float:
    """The length of a path [B, 2]."""
    return float(_steps(path)[-1])


def point_after(path: Points, length: float) -> Points:
    """The point of a path after that length."""
    steps = _steps(path)
    return np.array([np.interp(length, steps, path[:, axis]) for axis in range(2)])


def _steps(path: Points) -> Points:
    """The length of a path up to each of its points, [B]."""
    return np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])


def _across(step: Points) -> Points:
    """The direction to the left of a step, of length 1."""
    return np.array([-step[1], step[0]]) / max(float(np.linalg.norm(step)), 1e-9)


def edge_strengths(similarity: FloatArray) -> FloatArray:
    """How strong each edge looks, 0 to 1 [S]: the more similar, the stronger; an edge without a match is 0.

    >>> edge_strengths(np.array([-2.0, -1.0, np.nan], dtype=np.float32)).tolist()
    [0.20000000298023224, 1.0, 0.0]
    """
    known = np.isfinite(similarity)
    if not known.any():
        return np.zeros(len(similarity), dtype=np.float32)
    low, high = similarity[known].min(), similarity[known].max()
    share = (similarity - low) / (high - low) if high > low else np.ones_like(similarity)
    return np.where(known, _LEAST + (1 - _LEAST) * share, 0).astype(np.float32)


def _curve(ends: Points, control: Points) -> Points:
    """Points of a curve between two ends, pulled toward a third point."""
    t = np.linspace(0, 1, _BEND_POINTS)[:, None]
    found: Points = (1 - t) ** 2 * ends[0] + 2 * t * (1 - t) * control + t**2 * ends[1]
    return found


def _path(ends: Points, others: Points, radius: Points) -> Points:
    """Straight if that is clear of all others, else the least bent curve that is, else the clearest."""
    across = _across(ends[1] - ends[0])
    best, most = ends, _clearance(ends, others, radius)
    if most >= 0:
        return best
    outward = 1 if across @ ends.sum(axis=0) >= 0 else -1
    for bend in _BENDS:
        for side in (outward, -outward):
            curve = _curve(ends, ends.mean(axis=0) + side * bend * across)
            clear = _clearance(curve, others, radius)
            if clear >= 0:
                return curve
            if clear > most + 1e-9:
                best, most = curve, clear
    return best


def _clearance(path: Points, others: Points, radius: Points) -> float:
    """How far a path stays away from the nearest circle; below 0 where it runs under one."""
    if not len(others):
        return float("inf")
    start, step = path[:-1, None], np.diff(path, axis=0)[:, None]  # [B - 1, 1, 2]
    length = np.maximum((step**2).sum(axis=2), 1e-12)
    share = np.clip(((others[None] - start) * step).sum(axis=2) / length, 0, 1)
    away = np.linalg.norm(start + share[:, :, None] * step - others[None], axis=2)  # [B - 1, O]
    return float((away - radius).min())


def _row(path: Points, count: int, taken: Points) -> Points:
    """Places of some numbers side by side [count, 2]: the first of the usual ones that is free, else the freest."""
    steps = _steps(path)
    at = steps[-1] * np.add.outer(_STEPS, (-0.05, 0.0, 0.05))  # behind, middle, ahead
    behind, middle, ahead = np.moveaxis(np.stack([np.interp(at, steps, path[:, axis]) for axis in (0, 1)], -1), 1, 0)
    across = np.array([_across(step) for step in ahead - behind])  # [steps, 2]
    rows = [across[:, ::-1] * (1, -1), *([np.tile([1.0, 0.0], (len(_STEPS), 1))] if count > 1 else [])]
    spread = (np.arange(count) - (count - 1) / 2)[:, None] * BADGE
    first = middle + np.multiply.outer(_ASIDE, BADGE * across)  # [asides, steps, 2]
    places = first[:, :, None, None] + (np.stack(rows, axis=1)[:, :, None] * spread)  # [asides, steps, rows, count, 2]
    places = places.reshape(-1, count, 2)
    gaps = np.linalg.norm(places[:, :, None] - taken[:, :2], axis=-1) - taken[:, 2]
    free = np.minimum(gaps.min(axis=(1, 2)) - BADGE / 2, EDGE_OF_PICTURE - np.abs(places).max(axis=(1, 2)))
    return np.asarray(places[np.argmax(free >= 0) if (free >= 0).any() else np.argmax(free)])


def _name_circles(point: Points, name: str) -> Points:
    """The room of a name as circles, [O, 3]."""
    half = max(0.0, CHARACTER * len(name) / 2 - LINE)
    count = 1 + int(np.ceil(half / LINE))
    x, y = name_place(point, name)
    return np.column_stack([x + np.linspace(-half, half, count), np.full(count, y), np.full(count, LINE)])


def _numbered_middles(
    view: LocalView, points: Points, target: LocalView, target_points: Points
) -> tuple[Points, Points]:
    """The middles of the edges that carry a number, in a neighbor's picture and in the target's, [R, 2] each."""
    middles = target_points[target.ends].mean(axis=1)
    theirs = {number: middle for numbers, middle in zip(target.numbers, middles) for number in numbers}
    pairs = [
        (middle, theirs[number])
        for numbers, middle in zip(view.numbers, points[view.ends].mean(axis=1))
        for number in numbers
        if number in theirs
    ]
    stacked = np.array(pairs).reshape(-1, 2, 2)
    return stacked[:, 0], stacked[:, 1]
