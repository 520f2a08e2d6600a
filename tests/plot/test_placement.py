"""Edges keep clear of the center, numbers keep clear of nodes, names and one another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from se_gnn.explain import explain
from se_gnn.plot.local_view import LocalView, local_views
from se_gnn.plot.placement import (
    BADGE,
    CENTER_RADIUS,
    CHARACTER,
    EDGE_OF_PICTURE,
    LINE,
    NODE_RADIUS,
    edge_paths,
    laid_out,
    name_place,
    number_places,
    pieces,
)
from strategies import HUB, LABELED, UNLABELED


def view_of(edges, num_nodes, numbers=None):
    edges = np.array(edges)
    return LocalView(
        nodes=np.arange(num_nodes),
        hops=np.array([0] + [1] * (num_nodes - 1)),
        edge_ids=np.arange(len(edges)),
        edges=edges,
        similarity=np.zeros(len(edges), np.float32),
        numbers=tuple((numbers or {}).get(i, ()) for i in range(len(edges))),
        hidden=0,
    )


def away(path, point):
    """Distance of a point from a path of straight pieces, by many points on it."""
    dense = np.concatenate([np.linspace(a, b, 50) for a, b in itertools.pairwise(path)])
    return np.linalg.norm(dense - point, axis=1).min()


def test_an_edge_between_opposite_nodes_bends_around_the_center():
    points = np.array([[0.0, 0.0], [-1.0, 0.0], [1.0, 0.05]])
    straight, bent = edge_paths(view_of([[0, 1], [1, 2]], 3), points)
    assert straight.tolist() == [[0, 0], [-1, 0]]
    assert bent[[0, -1]].tolist() == points[1:].tolist()
    assert away(bent, points[0]) > CENTER_RADIUS


def test_an_edge_bends_around_a_node_that_is_not_its_end():
    points = np.array([[0.0, 0.9], [-1.0, 0.0], [0.0, 0.02], [1.0, 0.0]])
    (bent,) = edge_paths(view_of([[1, 3]], 4), points)
    assert away(bent, points[2]) > NODE_RADIUS


@pytest.mark.parametrize("node", [HUB, LABELED, UNLABELED])
def test_no_edge_runs_under_the_center(hub, node):
    views = local_views(explain(hub, node)[0], num_cases=5)
    for view, points in zip(views, laid_out(views)):
        for path, ends in zip(edge_paths(view, points), view.ends):
            if 0 not in ends:
                assert away(path, points[0]) > CENTER_RADIUS


@pytest.mark.parametrize("node", [HUB, LABELED, UNLABELED])
def test_numbers_cover_neither_nodes_nor_one_another(hub, node):
    views = local_views(explain(hub, node)[0], num_cases=5)
    for view, points in zip(views, laid_out(views)):
        places = np.concatenate([*number_places(view, points, edge_paths(view, points)), np.empty((0, 2))])
        assert len(places) == sum(map(len, view.numbers))
        for one, other in itertools.combinations(places, 2):
            assert np.linalg.norm(one - other) > BADGE - 1e-9
        for place in places:
            gaps = np.linalg.norm(points - place, axis=1)
            assert gaps[0] > CENTER_RADIUS
            assert gaps[1:].min(initial=9) > NODE_RADIUS + BADGE / 3


def test_numbers_do_not_cover_the_names_of_nodes():
    points = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.15, -0.6]])
    names = ["a long name 14", "another name", "node 3"]
    view = view_of([[0, 1], [0, 2], [0, 3]], 4, {0: (1,), 1: (2,), 2: (3,)})
    for place in np.concatenate(number_places(view, points, edge_paths(view, points), names)):
        for point, name in zip(points[1:], names):
            x, y = name_place(point, name)
            assert max(abs(place[0] - x) - CHARACTER * len(name) / 2, abs(place[1] - y) - LINE) > 0


def test_a_name_stays_in_its_picture():
    for x in (-1.0, 0.3, 1.0):
        assert abs(name_place(np.array([x, 0.2]), "a name of 14 c")[0]) + 7 * CHARACTER <= EDGE_OF_PICTURE


def test_several_numbers_of_one_edge_stand_side_by_side():
    points = np.array([[0.0, 0.0], [1.0, 0.0]])
    view = view_of([[0, 1]], 2, {0: (1, 2, 3)})
    (places,) = number_places(view, points, edge_paths(view, points))
    assert len(places) == 3
    np.testing.assert_allclose(np.linalg.norm(np.diff(places, axis=0), axis=1), BADGE)


def test_pieces_of_a_path_join_to_the_whole():
    path = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    parts = pieces(path, 4)
    assert [part[-1].tolist() for part in parts] == [[0.5, 0], [1, 0], [1, 0.5], [1, 1]]
    for one, other in itertools.pairwise(parts):
        assert one[-1].tolist() == other[0].tolist()
    assert pieces(path, 1)[0].tolist() == path.tolist()
