"""What is said of a memory without one labeled node is what a fresh prediction without it says."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.labels.audit import leave_one_out
from se_gnn.model import Model
from strategies import random_graph, small_settings, untrained


@pytest.mark.parametrize("num_labeled", [18, 5])
def test_effects_are_those_of_fresh_predictions(num_labeled):
    graph = random_graph(3, num_nodes=50, num_edges=90, num_labeled=num_labeled, num_classes=3, isolated=(4, 30))
    k = 5
    model = untrained(graph, small_settings(num_nearest=k, temperature=0.3), seed=3)
    now, found = model.predict(), leave_one_out(model)
    votes = now.weights > 0
    for i, node in enumerate(graph.train):
        has_it = (now.cases == node) & votes
        assert found.used[i] == has_it.sum()
        np.testing.assert_allclose(found.weight[i], now.weights[has_it].sum(), rtol=1e-5)
        rest = np.setdiff1d(graph.train, [node])
        settings = model.settings.changed(num_nearest=min(k, len(rest)))
        other = graph.with_split(train=rest, validation=graph.validation, test=graph.test)
        fresh = Model(model.encoder, other, settings).predict()
        others = np.arange(graph.num_nodes) != node  # it does not vote on itself
        assert found.decides[i] == (fresh.classes != now.classes)[others].sum()
        val = graph.validation
        assert found.accuracy[i] == pytest.approx((fresh.classes[val] == graph.labels[val]).mean())
        own = fresh.probabilities[val, graph.labels[val]].astype(float)
        assert found.loss[i] == pytest.approx(-np.log(np.clip(own, 1e-8, 1)).mean(), abs=1e-5)


def test_without_validation_nodes_their_figures_are_missing_and_the_rest_is_there():
    graph = random_graph(2, num_labeled=6)
    model = untrained(graph.with_split(train=graph.train), small_settings())
    found = leave_one_out(model)
    assert np.isnan(found.accuracy).all()
    assert found.used.sum() == 3 * graph.num_nodes


def test_a_node_that_nobody_else_can_vote_on_gets_no_other_class_without_its_one_neighbor():
    graph = random_graph(2, num_labeled=2)
    model = untrained(graph, small_settings(num_nearest=2))
    now, found = model.predict(), leave_one_out(model)
    others = np.setdiff1d(np.arange(graph.num_nodes), graph.train)  # a labeled node has nobody left
    for i, left in enumerate(graph.labels[graph.train][::-1]):
        assert found.decides[i] == (now.classes[others] != left).sum()


def test_no_answer_is_never_right():
    graph = random_graph(2, num_labeled=1, num_classes=1).with_split(train=[0], validation=[1, 2])
    found = leave_one_out(untrained(graph, small_settings(num_nearest=1)))
    assert (found.accuracy_now, found.accuracy.tolist(), found.decides.tolist()) == (1, [0], [0])
