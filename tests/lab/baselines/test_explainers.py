"""Explainers from outside: what they return, and that they find the edges that a network really uses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lab.baselines import baseline, post_hoc_explainer
from se_gnn.errors import InputError
from se_gnn.graph import Graph, local_graphs

pytest.importorskip("torch_geometric.explain", exc_type=ImportError)

NAMES = ["gnn-explainer", "pg-explainer"]
QUICK = {"gnn-explainer": {"epochs": 5}, "pg-explainer": {"epochs": 2}}


@pytest.fixture(scope="module")
def gcn(two_groups):
    return baseline("gcn", epochs=20, head="linear").fit(two_groups, seed=0)


@pytest.fixture(scope="module")
def signal() -> object:
    """A GCN on pairs of leaves around a center, whose class is that of the larger of the two marks they carry."""
    generator = np.random.default_rng(0)
    labels, larger = np.repeat(np.arange(30) % 2, 3), generator.integers(0, 2, 30)
    features, edges = np.zeros((90, 2)), []
    for star, leaf in enumerate(larger):
        label, center = star % 2, 3 * star
        features[center + 1 + leaf, label], features[center + 2 - leaf, 1 - label] = 2.0, 1.0
        edges += [(center, center + 1), (center, center + 2)]
    centers = np.arange(0, 90, 3)
    graph = Graph.build(features=features, edges=edges, labels=labels, train=centers[:20], validation=centers[20:])
    settings = {"num_layers": 1, "features": "raw", "dropout": 0.0, "input_dropout": 0.0}
    fitted = baseline("gcn", head="linear", epochs=50, **settings).fit(graph, seed=0)
    assert (fitted.predict()[centers] == graph.labels[centers]).all()
    return fitted, centers, larger


@pytest.mark.parametrize("name", NAMES)
def test_an_explanation_ranks_the_edges_of_the_local_graph(two_groups, gcn, name):
    explainer = post_hoc_explainer(name, gcn, **QUICK[name]).fit(two_groups.train)
    edges, importance = explainer.edge_importance(9)
    expected = two_groups.edges.ends[local_graphs(two_groups, np.array([9]), hops=2).row(0)]
    np.testing.assert_array_equal(edges, expected)
    assert importance.shape == (len(edges),)
    assert ((importance >= 0) & (importance <= 1)).all()
    both, each = explainer.edge_importance(9, directed=True)
    np.testing.assert_array_equal(both, np.concatenate([edges, edges[:, ::-1]]))
    np.testing.assert_allclose(each.reshape(2, -1).mean(axis=0), importance, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_bits_whatever_was_explained_before(two_groups, gcn, name):
    first = post_hoc_explainer(name, gcn, seed=1, **QUICK[name]).fit(two_groups.train)
    second = post_hoc_explainer(name, gcn, seed=1, **QUICK[name]).fit(two_groups.train)
    second.edge_importance(3)
    state = torch.get_rng_state()
    np.testing.assert_array_equal(first.edge_importance(9)[1], second.edge_importance(9)[1])
    assert torch.equal(torch.get_rng_state(), state)
    other = post_hoc_explainer(name, gcn, seed=2, **QUICK[name]).fit(two_groups.train)
    assert not np.array_equal(first.edge_importance(9)[1], other.edge_importance(9)[1])


def test_the_network_is_left_as_it_was(two_groups, gcn):
    before = gcn.predict_proba()
    for name in NAMES:
        post_hoc_explainer(name, gcn, **QUICK[name]).fit(two_groups.train).explain(5)
    np.testing.assert_array_equal(gcn.predict_proba(), before)


@pytest.mark.parametrize("name", NAMES)
def test_the_edge_to_the_larger_mark_matters_more(signal, name):
    fitted, centers, larger = signal
    epochs, rate = {"gnn-explainer": (20, 0.1), "pg-explainer": (10, 0.01)}[name]
    settings = {"epochs": epochs, "learning_rate": rate, "edge_size": 0.0, "edge_entropy": 0.0}
    explainer = post_hoc_explainer(name, fitted, **settings).fit(centers[:20])
    # the center hears from (leaf, center), the second half; the other direction has no influence on it
    found = [explainer.edge_importance(int(node), directed=True)[1][2:].argmax() for node in centers[20:]]
    assert np.mean(np.array(found) == larger[20:]) >= 0.9


def test_settings_of_one_explainer_do_not_reach_another(gcn):
    one = post_hoc_explainer("pg-explainer", gcn, edge_size=9.0)
    other = post_hoc_explainer("pg-explainer", gcn)
    assert one.explainer.algorithm.coeffs["edge_size"] == 9.0
    assert other.explainer.algorithm.coeffs["edge_size"] == 0.05


def test_what_cannot_be_explained_is_refused(gcn):
    with pytest.raises(InputError, match="unknown explainer 'gnnexplainer'"):
        post_hoc_explainer("gnnexplainer", gcn)
    with pytest.raises(InputError, match="this GCN is not fitted"):
        post_hoc_explainer("gnn-explainer", baseline("gcn"))
    with pytest.raises(InputError, match=r"PGExplainer is not fitted: call fit\(nodes\) first"):
        post_hoc_explainer("pg-explainer", gcn).edge_importance(0)
    with pytest.raises(InputError, match="node must be between 0 and 39, got 40"):
        post_hoc_explainer("gnn-explainer", gcn).edge_importance(40)
    with pytest.raises(InputError, match="at least one node to learn from"):
        post_hoc_explainer("pg-explainer", gcn).fit(np.empty(0, int))
    with pytest.raises(InputError, match="epochs must be at least 1, got 0"):
        post_hoc_explainer("pg-explainer", gcn, epochs=0)
