"""The four protocols on a graph small enough to rank its edges by hand.

Two triangles 0-1-2 and 5-6-7 are motifs; 2-3, 3-4, 4-5 and 4-8 join them. Edges in canonical order:
0: 0-1*  1: 0-2*  2: 1-2*  3: 2-3  4: 3-4  5: 4-5  6: 4-8  7: 5-6*  8: 5-7*  9: 6-7*
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from lab.metrics import (
    AUC_PROTOCOLS,
    gnn_explainer_own_house_auc,
    pg_explainer_auc,
    pyg_three_hop_auc,
    se_gnn_one_hop_auc,
)
from se_gnn.errors import InputError
from se_gnn.graph import Graph

EDGES = [[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5], [4, 8], [5, 6], [5, 7], [6, 7]]
MOTIF = np.array([1, 1, 1, 0, 0, 0, 0, 1, 1, 1], dtype=bool)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.build(features=np.ones((9, 1)), edges=EDGES, labels=[1, 1, 1, 0, 0, 1, 1, 1, 0])


def of(graph, ids, importance):
    return graph.edges.ends[ids], np.array(importance)


def test_one_hop_by_hand(graph):
    # around 2: 0-1* 0-2* 1-2* 2-3; around 5: 4-5 5-6* 5-7* 6-7*; pooled, not node by node
    explained = {2: of(graph, [0, 1, 2, 3], [0.9, 0.3, 0.8, 0.4]), 5: of(graph, [5, 7, 8, 9], [0.7, 0.95, 0.6, 0.5])}
    # positives .9 .3 .8 .95 .6 .5, negatives .4 .7: above .4 are five of six, above .7 three of six
    assert se_gnn_one_hop_auc(graph, MOTIF, explained) == pytest.approx((5 + 3) / 12)


def test_three_hops_hold_other_houses_too(graph):
    # 3 hops of node 2 reach 5 and 8: edges 0-6 of the list above; the house of 5 is not in
    explained = {2: of(graph, list(range(7)), [0.9, 0.8, 0.7, 0.95, 0.1, 0.2, 0.3])}
    assert pg_explainer_auc(graph, MOTIF, explained) == pytest.approx((3 * 3) / 12)
    # of node 3 they reach all: six positives, four negatives
    ranks = [0.9, 0.8, 0.7, 0.95, 0.1, 0.2, 0.3, 0.6, 0.5, 0.4]
    explained = {3: of(graph, list(range(10)), ranks)}
    assert pg_explainer_auc(graph, MOTIF, explained) == pytest.approx((6 * 3) / 24)


def test_only_the_own_house_is_positive(graph):
    explained = {2: of(graph, list(range(7)), [0.9, 0.8, 0.7, 0.95, 0.1, 0.2, 0.3])}
    assert gnn_explainer_own_house_auc(graph, MOTIF, explained) == pg_explainer_auc(graph, MOTIF, explained)
    explained = {5: of(graph, [*range(3, 10), 0, 1, 2], [0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9])}
    # within 3 hops of 5: 2 3 4 5 6 7 8, so that edges 0-1, 0-2 and 1-2 are left out
    assert gnn_explainer_own_house_auc(graph, MOTIF, explained) == 1.0
    whole = {4: explained[5]}  # node 4 reaches both houses but is in none
    assert pg_explainer_auc(graph, MOTIF, whole) == 1.0
    with pytest.raises(InputError, match="node '4' is in no motif"):
        gnn_explainer_own_house_auc(graph, MOTIF, whole)


def test_own_house_counts_the_edges_of_another_as_wrong():
    # the houses share a hop: 0-1-2 and 3-4-5 joined by 2-3
    edges = [[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [3, 5], [4, 5]]
    graph = Graph.build(features=np.ones((6, 1)), edges=edges, labels=[0, 0, 0, 1, 1, 1])
    houses = np.array([1, 1, 1, 0, 1, 1, 1], dtype=bool)
    explained = {2: (graph.edges.ends, np.array([0.9, 0.8, 0.3, 0.1, 0.5, 0.4, 0.2]))}
    # own .9 .8 .3 against .1 .5 .4 .2: 4 + 4 + 2 of 12
    assert gnn_explainer_own_house_auc(graph, houses, explained) == pytest.approx(10 / 12)
    assert pg_explainer_auc(graph, houses, explained) == 1.0


def test_pyg_scores_each_direction_and_the_others_their_mean(graph):
    ids = [0, 1, 2, 3]
    forward, backward = np.array([0.9, 0.9, 0.9, 0.5]), np.array([0.4, 0.9, 0.9, 0.1])
    both = np.concatenate([graph.edges.ends[ids], graph.edges.ends[ids][:, ::-1]]), np.concatenate([forward, backward])
    rest = graph.edges.ends[4:7], np.zeros(3)
    explained = {2: (np.concatenate([both[0], rest[0]]), np.concatenate([both[1], rest[1]]))}
    # means .65 .9 .9 against .3 0 0 0: all right
    assert pg_explainer_auc(graph, MOTIF, explained) == 1.0
    assert se_gnn_one_hop_auc(graph, MOTIF, explained) == 1.0
    # each: .9 .4 .9 .9 .9 .9 against .5 .1 and six zeros: .4 is below .5, one of 6 x 8 pairs
    assert pyg_three_hop_auc(graph, MOTIF, explained) == pytest.approx(1 - 1 / 48)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.sampled_from(sorted(AUC_PROTOCOLS)))
def test_order_and_direction_of_the_edges_do_not_matter(graph, seed, name):
    generator = np.random.default_rng(seed)
    importance = generator.random(10)
    plain = {2: (graph.edges.ends, importance), 6: (graph.edges.ends, importance[::-1])}
    order, flip = generator.permutation(10), generator.random(10) < 0.5
    edges = np.where(flip[:, None], graph.edges.ends[:, ::-1], graph.edges.ends)[order]
    shuffled = {6: (edges, importance[::-1][order]), 2: (edges, importance[order])}
    assert AUC_PROTOCOLS[name](graph, MOTIF, shuffled) == pytest.approx(AUC_PROTOCOLS[name](graph, MOTIF, plain))


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_pooled_auc_is_scikit_learns_on_all_edges_of_all_nodes(graph, seed):
    importance = np.random.default_rng(seed).integers(0, 4, (2, 10)).astype(float)
    explained = {3: (graph.edges.ends, importance[0]), 4: (graph.edges.ends, importance[1])}  # both reach all edges
    expected = roc_auc_score(np.tile(MOTIF, 2), importance.ravel())
    assert pg_explainer_auc(graph, MOTIF, explained) == pytest.approx(expected)
    assert pyg_three_hop_auc(graph, MOTIF, explained) == pytest.approx(expected)


def test_what_is_not_defined_is_refused(graph):
    good = of(graph, [0, 1, 2, 3], [0.9, 0.3, 0.8, 0.4])
    with pytest.raises(InputError, match="every edge of the 3-hop local graph a number, 3 have none"):
        pg_explainer_auc(graph, MOTIF, {2: good})
    with pytest.raises(InputError, match="edges in and outside of motifs, got 3 in 3"):
        se_gnn_one_hop_auc(graph, MOTIF, {0: good})
    with pytest.raises(InputError, match="edges in and outside of motifs, got 0 in 0"):
        se_gnn_one_hop_auc(graph, MOTIF, {})
    with pytest.raises(InputError, match="importance of node 2 must have one entry per edge"):
        se_gnn_one_hop_auc(graph, MOTIF, {2: (good[0], good[1][:2])})
    with pytest.raises(InputError, match="names an edge twice"):
        se_gnn_one_hop_auc(graph, MOTIF, {2: of(graph, [0, 1, 2, 3, 3], [0.9, 0.3, 0.8, 0.4, 0.1])})
    with pytest.raises(InputError, match=r"\(0, 8\) is not an edge"):
        se_gnn_one_hop_auc(graph, MOTIF, {2: ([[0, 8]], [0.1])})
    with pytest.raises(InputError, match=r"motif_edges must have one entry per edge \(10\), got shape \(9,\)"):
        se_gnn_one_hop_auc(graph, MOTIF[1:], {2: good})
