"""Suspicion is what everything but the label says: exact without it, highest on flipped labels, honest about itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score, roc_auc_score

from se_gnn.graph import EdgeValues, Graph
from se_gnn.labels import suspicion as module
from se_gnn.labels.suspicion import leave_one_out, suspicion
from strategies import changed


def communities(seed=0, flipped=6):
    """Three communities of 40 nodes with noisy attributes; the labels of some labeled nodes are flipped."""
    generator = np.random.default_rng(seed)
    truth = np.arange(120) % 3
    inside = [tuple(generator.choice(np.flatnonzero(truth == c), 2)) for c in range(3) for _ in range(120)]
    labels = truth.copy()
    wrong = np.sort(generator.choice(30, flipped, replace=False))
    labels[wrong] = (labels[wrong] + 1) % 3
    graph = Graph.build(
        features=np.eye(3)[truth] + 0.8 * generator.normal(size=(120, 3)),
        edges=inside,
        labels=labels,
        train=np.arange(30),
        validation=np.arange(30, 60),
        test=np.arange(60, 120),
    )
    return graph, wrong, truth


def test_closed_form_is_a_regression_without_each_row():
    generator = np.random.default_rng(0)
    rows, targets = generator.normal(size=(12, 4)), generator.normal(size=(12, 2))
    weights = generator.uniform(0.2, 1, 12)
    found = leave_one_out(rows @ rows.T, targets, 0.7 / weights)
    for i in range(12):
        others = np.arange(12) != i
        ridge = Ridge(alpha=0.7, fit_intercept=False).fit(rows[others], targets[others], sample_weight=weights[others])
        np.testing.assert_allclose(found[i], ridge.predict(rows[i : i + 1])[0], atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_flipped_labels_are_found_and_their_classes_are_named(seed):
    graph, wrong, truth = communities(seed)
    found = suspicion(graph, generator=np.random.default_rng(0))
    assert roc_auc_score(np.isin(graph.train, wrong), found.score) > 0.95
    named = graph.train[found.wrong]
    assert np.isin(wrong, named).mean() > 0.8
    assert (found.says[np.isin(graph.train, wrong)] == truth[wrong]).mean() > 0.8


def test_a_label_is_no_witness_of_itself():
    """Whatever label a node is given, the others say the same of it in the first pass."""
    graph, _, _ = communities()
    labels = graph.labels.copy()
    labels[0] = (labels[0] + 1) % 3
    said = [
        module.suspicion(one, generator=np.random.default_rng(0)).says[0] for one in (graph, with_labels(graph, labels))
    ]
    assert said[0] == said[1]


def with_labels(graph, labels):
    return changed(graph, labels=labels)


def test_test_labels_are_never_looked_at():
    graph, _, _ = communities()
    labels = graph.labels.copy()
    labels[graph.test] = 0
    one, other = (suspicion(g, generator=np.random.default_rng(0)) for g in (graph, with_labels(graph, labels)))
    np.testing.assert_array_equal(one.score, other.score)


def test_many_nodes_are_judged_in_groups(monkeypatch):
    monkeypatch.setattr(module, "MOST", 35)
    graph, wrong, _ = communities()
    found = suspicion(graph, generator=np.random.default_rng(0))
    assert roc_auc_score(np.isin(graph.train, wrong), found.score) > 0.9


def test_nodes_without_attributes_edges_or_validation_do_not_break_it():
    graph, _, _ = communities()
    features = graph.features.copy()
    features[3] = 0
    bare = changed(graph, features=features).with_split(train=graph.train).with_edges(np.empty((0, 2), int))
    assert np.isfinite(suspicion(bare, generator=np.random.default_rng(0)).score).all()


def votes_of(graph, truth, *, right, seed=0):
    """Probabilities that name the true class of a share of the labeled and validation nodes, and are unsure of it."""
    generator = np.random.default_rng(seed)
    known = np.concatenate([graph.train, graph.validation])
    named = np.where(generator.random(len(known)) < right, truth[known], generator.integers(0, 3, len(known)))
    return 0.1 + 0.7 * np.eye(3, dtype=np.float32)[named]


def test_a_vote_that_generalizes_is_believed_where_attributes_say_nothing():
    graph, wrong, truth = communities()
    blind = changed(graph, features=np.random.default_rng(1).normal(size=(120, 3)).astype(np.float32))
    blind = blind.with_edges(np.empty((0, 2), int))
    alone, helped = (
        suspicion(blind, votes, generator=np.random.default_rng(0))
        for votes in (None, votes_of(graph, truth, right=0.97))
    )
    assert helped.vote_share > 0.8
    assert alone.vote_share == 0
    marks = np.isin(graph.train, wrong)
    assert roc_auc_score(marks, helped.score) > 0.9 > roc_auc_score(marks, alone.score)


def test_a_vote_that_defends_the_labels_it_was_trained_on_hardly_counts():
    graph, wrong, truth = communities()
    votes = votes_of(graph, truth, right=0.8)
    votes[: len(graph.train)] = 0.001 + 0.997 * np.eye(3, dtype=np.float32)[graph.labels[graph.train]]
    found = suspicion(graph, votes, generator=np.random.default_rng(0))
    assert found.vote_share < 0.2
    assert roc_auc_score(np.isin(graph.train, wrong), found.score) > 0.9


def test_clean_labels_are_hardly_ever_named_and_the_rehearsal_says_how_well_it_works():
    graph, _, truth = communities(flipped=0)
    found = suspicion(graph, votes_of(graph, truth, right=1.0), generator=np.random.default_rng(0))
    assert found.wrong.sum() <= 1
    assert found.rate < 0.1
    assert found.rehearsal is None  # 30 validation labels are too few to flip five of them


def test_planted_errors_are_found_where_classes_are_clear():
    generator = np.random.default_rng(0)
    truth = np.arange(400) % 2
    graph = Graph.build(
        features=(4 * np.eye(2)[truth] + generator.normal(size=(400, 2))).astype(np.float32),
        edges=np.empty((0, 2), int),
        labels=truth,
        train=np.arange(100),
        validation=np.arange(100, 300),
        test=np.arange(300, 400),
    )
    rehearsal = suspicion(graph, generator=np.random.default_rng(0)).rehearsal
    assert (rehearsal.planted, rehearsal.among) == (16, 20)
    assert rehearsal.found >= 14


def with_wrong_labels(truth):
    """Every tenth of 80 labeled nodes is given the next of three classes: these nodes, and labels and split of 240."""
    labels = truth.copy()
    wrong = np.arange(0, 80, 10)
    labels[wrong] = (labels[wrong] + 1) % 3
    split = {"train": np.arange(80), "validation": np.arange(80, 160), "test": np.arange(160, 240)}
    return wrong, {"labels": labels, **split}


def test_wrong_labels_are_found_where_only_the_classes_of_neighbors_tell():
    """Nodes of each class point to the next class; attributes are noise."""
    generator = np.random.default_rng(0)
    truth = np.arange(240) % 3
    ends = [
        (i, int(generator.choice(np.flatnonzero(truth == (truth[i] + 1) % 3)))) for i in range(240) for _ in range(4)
    ]
    wrong, known = with_wrong_labels(truth)
    pairs = np.array(ends)
    graph = Graph.build(
        features=generator.normal(size=(240, 3)),
        edges=pairs,
        edge_values=EdgeValues(direction=np.where(pairs[:, 0] < pairs[:, 1], 1, -1).astype(np.int8)),
        **known,
    )
    found = suspicion(graph, generator=np.random.default_rng(0))
    assert average_precision_score(np.isin(graph.train, wrong), found.score) > 0.9
    assert 0.02 < found.rate < 0.1


def test_wrong_labels_are_found_where_only_the_amounts_of_outgoing_edges_tell():
    """Attributes, their means over neighbors and incoming edges are noise: what tells is one block of many."""
    generator = np.random.default_rng(0)
    truth = np.arange(240) % 3
    wrong, known = with_wrong_labels(truth)
    source = np.repeat(np.arange(240), 5)
    pairs = np.stack([source, (source + generator.integers(1, 240, len(source))) % 240], axis=1)
    amounts = 2 * truth[source] + generator.normal(size=len(source))
    graph = Graph.build(
        features=generator.normal(size=(240, 10)),
        edges=pairs,
        edge_values=EdgeValues(
            direction=np.ones(len(pairs), np.int8),
            attributes=amounts[:, None].astype(np.float32),
        ),
        **known,
    )
    found = suspicion(graph, generator=np.random.default_rng(0))
    assert average_precision_score(np.isin(graph.train, wrong), found.score) > 0.9


def test_blocks_count_alike_unless_another_weight_is_clearly_better():
    generator = np.random.default_rng(0)
    truth = np.arange(90) % 3
    alike = [module._distances(np.eye(3)[truth] + 0.8 * generator.normal(size=(90, 3))) for _ in range(2)]
    np.testing.assert_array_equal(module._block_weights(alike, 2, truth, 3), [1, 1])
    drowned = [alike[0], *(module._distances(3 * generator.normal(size=(90, 3))) for _ in range(3))]
    weights = module._block_weights(drowned, 4, truth, 3)
    assert weights[0] > 2 * weights[1:].max()
