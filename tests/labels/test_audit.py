"""The audit says of each labeled node what a person would compute, and finds what is planted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from se_gnn import SEGNNClassifier
from se_gnn.errors import InputError
from se_gnn.graph import Graph, Split
from se_gnn.labels import Finding, audit
from strategies import random_graph, small_settings, untrained


@pytest.fixture(scope="module")
def found(model):
    return audit(model, num_orders=20)


def test_every_labeled_node_has_a_row_and_the_most_suspicious_is_first(model, found):
    rows = list(found)
    assert sorted(row.node for row in rows) == model.graph.train.tolist()
    assert [row.suspicion for row in rows] == sorted((row.suspicion for row in rows), reverse=True)


def test_the_audit_says_which_labels_it_does_not_judge(model):
    graph = model.graph
    some, others = graph.validation[:5], graph.validation[5:]
    spare = graph.num_nodes - len(graph.train) - 5
    judged = audit(model.with_labels(graph.target, Split(train=graph.train, validation=some)), num_orders=1)
    assert len(others)
    assert judged.not_judged == (
        f"The labels of nodes that do not vote are not judged: 5 validation, {spare} that the split leaves out."
    )


def test_the_vote_on_a_labeled_node_leaves_it_out(model, found):
    votes = model.predict(model.graph.train)
    for row in found:
        i = int(np.searchsorted(model.graph.train, row.node))
        assert row.vote == votes.classes[i]
        assert row.label_probability == pytest.approx(votes.probabilities[i, row.label])
        assert row.node not in votes.cases[i][votes.weights[i] > 0]


def test_findings_follow_from_the_figures(found):
    average = np.mean([row.weight for row in found])
    for row in found:
        assert (Finding.WRONG in row.findings) == (row.suspicion > 0.5)
        assert (Finding.UNUSED in row.findings) == (row.used == 0)
        assert (Finding.INFLUENTIAL in row.findings) == (row.weight >= 3 * average)
        if Finding.MISLEADS in row.findings:
            assert row.accuracy_gain >= 0
    wrong = {row.node for row in found.rows([Finding.WRONG])}
    assert wrong == set(found.found(Finding.WRONG).tolist())


def test_without_validation_nodes_the_audit_has_no_figures_of_them(model):
    graph = model.graph.with_split(train=model.graph.train)
    row = next(iter(audit(dataclasses.replace(model, graph=graph), num_orders=2)))
    assert row.accuracy_gain is row.loss_gain is row.shapley is row.weighted_shapley_error is None


def planted():
    """Two groups far apart; labeled node 0 lies in the other group, node 1 is far from everybody."""
    generator = np.random.default_rng(0)
    classes = np.arange(200) % 2
    places = np.stack([20.0 * classes - 10, np.zeros(200)], axis=1) + generator.normal(size=(200, 2))
    places[1] = [10, 5000]
    labels = classes.copy()
    labels[0] = 1
    return Graph.build(
        features=np.hstack([places, np.ones((200, 1))]),
        edges=np.empty((0, 2), int),
        labels=labels,
        train=np.arange(20),
        validation=np.arange(20, 170),
        test=np.arange(170, 200),
    )


def test_a_wrong_label_and_a_node_that_nobody_uses_are_found():
    config = small_settings(num_nearest=1, measure="distance", node_weight=1.0)
    found = audit(untrained(planted(), config), num_orders=5)
    first = next(iter(found))
    assert first.node == 0
    assert first.suggested == 0
    assert Finding.WRONG in first.findings
    assert 1 in found.found(Finding.UNUSED)
    row = found.row(1)
    assert (row.used, row.weight, row.decides, row.accuracy_gain) == (0, 0, 0, 0)


def test_a_classifier_audits_and_certifies():
    graph = planted()
    classifier = SEGNNClassifier(preset="paper", epochs=1, num_nearest=3, device="cpu").fit(graph)
    assert len(classifier.audit(num_orders=2)) == 20
    assert len(classifier.certify([0, 5])) == 2


@pytest.mark.parametrize("orders", [0, -1, 1.5, True])
def test_orders_are_counted_in_whole_numbers(orders):
    with pytest.raises(InputError, match="num_orders must be a whole number above 0"):
        audit(untrained(random_graph(), small_settings()), num_orders=orders)
