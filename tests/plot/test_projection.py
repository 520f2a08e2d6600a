"""Points of the plane: the same on every run, in range, and where alike vectors are near each other."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.plot.local_view import local_views
from se_gnn.plot.projection import apart, evenly, placed_by_features, project


def two_groups(count: int = 20) -> np.ndarray:
    generator = np.random.default_rng(0)
    return np.concatenate([generator.normal(0, 0.1, (count, 4)), generator.normal(5, 0.1, (count, 4))])


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_two_groups_stay_apart_and_the_points_are_the_same_every_time(method):
    points = project(two_groups(), method)
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(1)
    first, second = points[:20], points[20:]
    between = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    assert between > 2 * max(first.std(), second.std())
    np.testing.assert_array_equal(project(two_groups(), method), points)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_few_vectors_and_equal_vectors_have_a_place(count, size):
    for vectors in (np.random.default_rng(0).normal(size=(count, size)), np.ones((count, size))):
        points = project(vectors, "tsne")
        assert points.shape == (count, 2)
        assert np.isfinite(apart(evenly(points), 0.1)).all()


def test_points_that_are_too_near_are_moved_apart_within_the_picture():
    moved = apart(np.zeros((12, 2)), 0.2)
    gaps = np.linalg.norm(moved[:, None] - moved[None], axis=2)[np.triu_indices(12, 1)]
    assert gaps.min() > 0.19
    assert np.abs(moved).max() <= 1
    far = np.array([[-1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(apart(far, 0.2), far, atol=1e-3)


def test_even_spacing_keeps_the_order_along_both_axes():
    points = np.random.default_rng(0).normal(size=(9, 2))
    spaced = evenly(points)
    for axis in (0, 1):
        assert (np.argsort(spaced[:, axis]) == np.argsort(points[:, axis])).all()
        np.testing.assert_allclose(np.diff(np.sort(spaced[:, axis])), 0.25)


def test_a_node_stands_in_the_same_place_of_every_panel(hub):
    graph, explanation = hub.graph, explain(hub, 45)[0]
    views = local_views(explanation, num_cases=len(explanation.votes))
    places: dict[int, np.ndarray] = {}
    for view, points in zip(views, placed_by_features(views, graph)):
        assert points.shape == (len(view.nodes), 2)
        for node, point in zip(view.nodes.tolist(), points):
            np.testing.assert_array_equal(places.setdefault(node, point), point)


def test_another_method_is_an_error():
    with pytest.raises(InputError, match="a projection must be tsne or pca, got 'umap'"):
        project(two_groups(), "umap")
