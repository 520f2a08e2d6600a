"""Vectors as points of the plane, the same on every run: t-SNE or principal components, also of local graphs.

Shapes: P vectors of size D.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import dense
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.placement import Points

Method = Literal["tsne", "pca"]

_PERPLEXITY = 30.0
_FEWEST = 5  # vectors that t-SNE is asked to place
_ROUNDS = 200  # of moving points apart


def project(vectors: npt.NDArray[Any], method: Method) -> Points:
    """Points [P, 2] of the vectors [P, D], centered and within the unit disc.

    t-SNE keeps neighbors together and says nothing of larger distances; with fewer than five vectors, principal
    components stand in for it.
    """
    if method not in ("tsne", "pca"):
        raise InputError(f"a projection must be tsne or pca, got {method!r}")
    return _in_disc(_tsne(vectors) if method == "tsne" and len(vectors) >= _FEWEST else _principal(vectors))


def evenly(points: Points) -> Points:
    """Points in the same order along both axes, but evenly spaced from -1 to 1: crowds get the room they need."""
    if len(points) < 2:
        return np.zeros_like(points)
    ranks = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0, kind="stable")
    return 2 * ranks / (len(points) - 1) - 1


def apart(points: Points, least: float) -> Points:
    """The same picture with every two points at least ``least`` apart, where there is room; none beyond -1 and 1."""
    moved = points.copy()
    # points that coincide go different ways
    angle = 2 * np.pi * np.arange(len(points)) / max(1, len(points))
    moved += 1e-3 * least * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for _ in range(_ROUNDS):
        gap = moved[:, None] - moved[None]  # [P, P, 2]
        distance = np.linalg.norm(gap, axis=2)
        np.fill_diagonal(distance, np.inf)
        short = np.maximum(least - distance, 0)
        if not short.any():
            break
        moved += 0.5 * ((short / distance)[..., None] * gap).sum(axis=1)
        moved = np.clip(moved, -1, 1)
    return moved


def _tsne(vectors: npt.NDArray[Any]) -> Points:
    from sklearn.manifold import TSNE

    few = len(vectors) < 500
    model = TSNE(
        perplexity=min(_PERPLEXITY, (len(vectors) - 1) / 3), init="random", random_state=0, max_iter=500,
        method="exact" if few else "barnes_hut", n_jobs=1,
    )  # fmt: skip
    return np.asarray(model.fit_transform(np.asarray(vectors, dtype=np.float64)), dtype=np.float64)


def _principal(vectors: npt.NDArray[Any]) -> Points:
    from sklearn.decomposition import PCA

    points = np.zeros((len(vectors), 2))
    kept = min(2, *vectors.shape)
    if np.ptp(vectors, axis=0).any():
        points[:, :kept] = PCA(kept, svd_solver="full").fit_transform(np.asarray(vectors, dtype=np.float64))
    return points


def _in_disc(points: Points) -> Points:
    centered = points - (points.max(axis=0) + points.min(axis=0)) / 2
    reach = np.linalg.norm(centered, axis=1).max(initial=0)
    inside: Points = centered / reach if reach > 0 else centered
    return inside


_APART = 0.13  # between two nodes


def placed_by_features(views: Sequence[LocalView], graph: Graph) -> list[Points]:
    """Positions [P, 2] of the nodes of each view, -1 to 1; a node that several show stands in the same place in all."""
    nodes = np.unique(np.concatenate([view.nodes for view in views]))
    points = evenly(project(dense(graph.features[nodes]), "tsne"))
    points = apart(points, min(_APART, 1.4 / np.sqrt(len(nodes))))
    return [points[np.searchsorted(nodes, view.nodes)] for view in views]
