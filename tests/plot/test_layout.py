from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.plot.placement import layout, turned_to


@st.composite
def local_graphs(draw):
    """Rings and edges of a connected graph: every node has an edge to one a ring further in, and there are others."""
    rings, edges = [0], set()
    for node in range(1, draw(st.integers(1, 14)) + 1):
        inner = draw(st.integers(0, node - 1))
        if rings[inner] == 3:
            inner = 0
        rings.append(rings[inner] + 1)
        edges.add((inner, node))
    for _ in range(draw(st.integers(0, 10))):
        u, v = draw(st.integers(0, len(rings) - 1)), draw(st.integers(0, len(rings) - 1))
        if u < v and abs(rings[u] - rings[v]) <= 1:
            edges.add((u, v))
    return np.array(rings), np.array(sorted(edges))


@given(local_graphs())
def test_the_center_is_in_the_middle_and_further_hops_are_further_out(local):
    rings, edges = local
    radius = np.linalg.norm(layout(rings, edges), axis=1)
    assert radius[0] == 0
    assert radius.max() <= 1 + 1e-9
    for ring in range(1, rings.max() + 1):
        assert radius[rings == ring].min() > radius[rings == ring - 1].max()


@given(local_graphs())
def test_no_two_nodes_are_drawn_on_top_of_each_other_and_every_run_is_the_same(local):
    points = layout(*local)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(len(points), 1)]
    assert gaps.min() > 0.1
    assert (points == layout(*local)).all()


def test_forty_nodes_on_one_ring_keep_their_distance():
    rings = np.array([0] + [1] * 40)
    points = layout(rings, np.array([[0, node] for node in range(1, 41)]))
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(41, 1)]
    assert gaps.min() > 0.14


def test_a_lone_node_is_in_the_middle():
    assert layout(np.array([0]), np.empty((0, 2), np.int64)).tolist() == [[0, 0]]


def test_joined_neighbors_are_put_side_by_side():
    # a cycle of six around the center: drawn in its order every edge is as long as the radius
    around = [(node, node % 6 + 1) for node in (1, 4, 2, 6, 3, 5)]
    edges = np.array([(0, node) for node in range(1, 7)] + around)
    points = layout(np.array([0] + [1] * 6), edges)
    np.testing.assert_allclose(np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1), 1, atol=1e-9)


def test_a_turned_and_mirrored_copy_is_turned_back():
    points = np.random.default_rng(0).normal(size=(6, 2))
    c, s = np.cos(2.0), np.sin(2.0)
    copy = points @ np.array([[c, s], [s, -c]])
    np.testing.assert_allclose(turned_to(copy, copy[:4], points[:4]), points, atol=1e-9)


def test_without_matches_nothing_is_turned():
    points, none = np.ones((2, 2)), np.empty((0, 2))
    assert turned_to(points, none, none) is points
