"""Certificates hold on models: what is said to change a prediction changes a fresh one, and fewer do not."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from se_gnn.explain import explain
from se_gnn.labels import certify
from se_gnn.model import Model
from strategies import changed, random_graph, small_settings, untrained


@pytest.fixture(scope="module")
def certificates(model):
    return certify(model)


def fresh(model, graph, node):
    return int(Model(model.encoder, graph, model.settings).predict(np.array([node])).classes[0])


def test_every_set_changes_a_fresh_prediction(model, certificates):
    graph = model.graph
    for i in range(0, graph.num_nodes, 4):
        removed = certificates.removal.nodes(i)
        rest = np.setdiff1d(graph.train, removed)
        if len(removed) and len(rest) >= model.settings.vote.num_nearest:
            other = graph.with_split(train=rest, validation=graph.validation, test=graph.test)
            assert fresh(model, other, i) == certificates.removal.becomes[i] != certificates.predicted[i]
        labels = graph.labels.copy()
        labels[certificates.relabeling.nodes(i)] = certificates.relabeling.becomes[i]
        assert fresh(model, changed(graph, labels=labels), i) != certificates.predicted[i]


def test_no_removal_of_a_certified_number_changes_a_fresh_prediction():
    graph = random_graph(1, num_nodes=14, num_edges=22, num_labeled=6)
    model = untrained(graph, small_settings(num_nearest=3, temperature=0.5), seed=1)
    found = certify(model)
    for i in range(graph.num_nodes):
        size = int(found.removal.sizes[i])
        for count in range(1, min(size, 4) if size > 0 else 4):  # K labeled nodes are left
            for some in itertools.combinations(graph.train, count):
                assert fresh(model, graph.with_split(train=np.setdiff1d(graph.train, some)), i) == found.predicted[i]


def test_all_nodes_at_once_give_the_sets_of_one_explanation(model, certificates):
    for node in (0, 4, 20, 30, 59):
        one = explain(model, node, k=1)[0]
        assert certificates.removal.nodes(node).tolist() == list(one.removal.nodes)
        assert certificates.relabeling.nodes(node).tolist() == list(one.relabeling.nodes)
        assert certificates.relabeling.becomes[node] == one.relabeling.predicted
        assert one.relabeling.predicted != one.predicted


def test_nodes_in_small_blocks_give_the_same(model, certificates):
    nodes = np.array([7, 3, 50])
    found = certify(dataclasses.replace(model, max_memory="1M"), nodes)
    assert found.nodes.tolist() == nodes.tolist()
    assert found.removal.sizes.tolist() == certificates.removal.sizes[nodes].tolist()
    assert found.removal.nodes(2).tolist() == certificates.removal.nodes(50).tolist()


def test_the_share_certified_falls_from_all_to_those_that_nothing_changes(certificates):
    curve = certificates.curve(certificates.removal)
    assert curve[0] == 1
    assert (np.diff(curve) <= 0).all()
    assert curve[-1] == np.mean(certificates.removal.sizes < 0)
    sizes = certificates.removal.sizes
    assert curve[1] == np.mean((sizes < 0) | (sizes > 1))
