"""Deep KNN on representations that are set by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lab.baselines import baseline
from se_gnn.errors import InputError
from se_gnn.graph import Graph


@pytest.fixture
def on_a_line() -> object:
    """Six nodes at places on a line; 0, 1, 2 are labeled; classes 0, 0, 1."""
    graph = Graph.build(
        features=np.eye(6),
        edges=[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]],
        labels=[0, 0, 1, 0, 1, 1],
        train=[0, 1, 2],
        validation=[3],
        test=[4, 5],
    )
    fitted = baseline("mlp-k", epochs=1, num_nearest=2).fit(graph, seed=0)
    fitted.h_ = np.array([[0.0], [2.0], [3.0], [0.5], [2.5], [9.0]], np.float32)
    return fitted


def test_nearest_first_ties_by_the_lower_id_never_itself(on_a_line):
    assert on_a_line.nearest(np.array([3, 4]), 3).tolist() == [[0, 1, 2], [1, 2, 0]]
    assert on_a_line.nearest(np.array([1, 5]), 2).tolist() == [[2, 0], [2, 1]]


def test_the_vote_is_a_softmax_of_minus_the_distances_of_the_k_nearest(on_a_line):
    probabilities = on_a_line.predict_proba()
    # node 5, at 9: nearest are 2 (class 1, distance 6) and 1 (class 0, distance 7)
    share = np.exp(-6) / (np.exp(-6) + np.exp(-7))
    np.testing.assert_allclose(probabilities[5], [1 - share, share], rtol=1e-5)
    # node 3, at 0.5: both of its nearest, 0 and 1, are of class 0
    np.testing.assert_allclose(probabilities[3], [1, 0], atol=1e-6)
    # node 0 is labeled: 1 and 2 vote for it, at distances 2 and 3
    np.testing.assert_allclose(probabilities[0], np.exp([-2, -3]) / np.exp([-2, -3]).sum(), rtol=1e-5)


def test_an_edge_is_the_mean_of_its_ends(on_a_line):
    # means: (0, 3) is 0.25, (2, 5) is 6; (0, 1) is 1, (1, 2) is 2.5, (4, 5) is 5.75
    matched = on_a_line.match_edges(np.array([[0, 3], [2, 5]]), np.array([[1, 2], [0, 1], [4, 5]]))
    assert matched.tolist() == [1, 2]
    assert on_a_line.match_edges(np.empty((0, 2), int), np.array([[0, 1]])).tolist() == []


def test_blocks_of_nodes_vote_as_one(two_groups, monkeypatch):
    fitted = baseline("mlp-k", epochs=2, num_nearest=3).fit(two_groups, seed=0)
    whole = fitted.predict_proba()
    monkeypatch.setattr("lab.baselines.deep_knn.NODES_AT_A_TIME", 7)
    np.testing.assert_array_equal(fitted.predict_proba(), whole)


def test_what_cannot_be_answered_is_refused(on_a_line):
    with pytest.raises(InputError, match="k must be between 1 and the 2 labeled nodes that can vote, got 3"):
        on_a_line.nearest(np.array([0]), 3)
    with pytest.raises(InputError, match="other_edges must hold at least one edge to match 1 edges with"):
        on_a_line.match_edges(np.array([[0, 1]]), np.empty((0, 2), int))
