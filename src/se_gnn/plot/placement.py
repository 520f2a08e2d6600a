"""Where things go in pictures of local graphs that are seen side by side, whatever draws them.

Shapes: P nodes, S edges, R pairs of matched edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from se_gnn.graph.attributed import FloatArray
from se_gnn.plot.layout import Points, layout, turned_to
from se_gnn.plot.local_view import LocalView

BADGE = 0.13  # room that a number takes; the layout fills the unit disc
_LEAST = 0.2  # strength of the weakest edge that has a match


def laid_out(views: Sequence[LocalView]) -> list[Points]:
    """Positions [P, 2] of the nodes of each view; neighbors are turned so that edges of one number lie alike."""
    points = [layout(view.hops, view.ends) for view in views]
    for i, view in enumerate(views[1:], start=1):
        points[i] = turned_to(points[i], *_numbered_middles(view, points[i], views[0], points[0]))
    return points


def number_places(start: Points, end: Points, count: int, taken: Points) -> Points:
    """Where ``count`` numbers go [count, 2]: side by side on the edge, or beside it where it is too short for them."""
    length = np.linalg.norm(end - start)
    along = (end - start) / length
    room = (count + 1) * BADGE  # half a number's room to either end
    if room > length:
        across = np.array([-along[1], along[0]])
        outward = 1 if across @ (start + end) > 0 else -1
        middle = (start + end) / 2 + outward * BADGE * across
    else:
        slack = (length - room) / 2
        middles = (start + end) / 2 + np.array([0, -0.3, 0.3, -0.6, 0.6])[:, None] * slack * along
        free = np.linalg.norm(middles[:, None] - taken[None], axis=2).min(axis=1)
        middle = middles[np.argmax(np.round(free, 2))]  # the middle of the edge, if that is as free as any
    places: Points = middle + (np.arange(count) - (count - 1) / 2)[:, None] * BADGE * along
    return places


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
    strengths: FloatArray = np.where(known, _LEAST + (1 - _LEAST) * share, 0).astype(np.float32)
    return strengths


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
