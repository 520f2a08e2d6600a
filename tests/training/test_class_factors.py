"""Cases count as often as their class is rarer among the labels than in the graph."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.settings import Settings
from se_gnn.training import fit
from se_gnn.training.class_factors import asked_nodes, class_factors
from strategies import random_graph

FAST = {"portfolio": False, "members": 1, "epochs": 20, "attribute_share": 0.0}


def uneven_graph(seed: int = 0, num_nodes: int = 1500) -> Graph:
    """A class that four of five nodes have, in clusters that overlap; the labels are drawn evenly."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(num_nodes) < 0.2).astype(np.int64)
    features = generator.normal(size=(num_nodes, 4)) + 2 * labels[:, None] * [1, 0, 0, 0]
    parts = [generator.permutation(np.flatnonzero(labels == label)) for label in (0, 1)]
    train, validation = (np.concatenate([part[low:high] for part in parts]) for low, high in ((0, 30), (30, 90)))
    known = np.concatenate([train, validation])
    return Graph.build(
        features=features.astype(np.float32), edges=[], labels=labels, train=train, validation=validation,
        test=np.setdiff1d(np.arange(num_nodes), known),
    )  # fmt: skip


def accuracy(graph, **given):
    trained = fit(graph, Settings.of("best", **FAST, **given), seed=0)
    return trained, (trained.predict(graph.test).classes == graph.labels[graph.test]).mean()


def test_labels_that_are_drawn_evenly_do_not_make_a_rare_class_frequent():
    graph = uneven_graph()
    trained, found = accuracy(graph)
    plain, without = accuracy(graph, class_factors=[1, 1])
    assert found > without + 0.02
    frequent, rare = trained.settings.vote.class_factors
    assert 1.2 < frequent <= 1.7  # 1.6 is right; fewer are claimed where the classes overlap
    assert frequent + rare == pytest.approx(2, abs=0.01)
    assert trained.settings.origin["class_factors"] == "validation"
    assert any(one.what.startswith("cases count by class: 0 1.") for one in trained.settings.decisions)
    assert plain.settings.vote.class_factors == (1.0, 1.0)
    assert plain.settings.origin["class_factors"] == "given"


@pytest.mark.parametrize("given", [{"best_by": "balanced_accuracy"}, {"balance_classes": True}])
def test_who_asks_for_balanced_classes_gets_them(given):
    trained, _ = accuracy(uneven_graph(num_nodes=400), **given)
    assert trained.settings.vote.class_factors is None


def test_validation_nodes_that_are_like_the_others_say_how_frequent_classes_are():
    validated = np.repeat([0, 1], [80, 20])
    sure = np.eye(2)[validated]
    assert class_factors(np.array([0, 1]), validated, sure, sure[::2]) == (1.6, 0.4)
    assert class_factors(np.array([0, 1]), validated, sure, sure[:0]) == (1.6, 0.4)


def test_a_class_is_never_estimated_to_be_rarer_than_a_quarter_of_what_is_known():
    validated = np.array([0, 1] * 50)
    found = class_factors(np.array([0, 1]), validated, np.full((100, 2), 0.5), np.array([[1.0, 0.0]]))
    assert found == (1.78, 0.222)  # 1 and 1/8, divided by their sum, as multiples of 1/2


def test_few_validation_nodes_say_too_little():
    validated = np.repeat([0, 1], [79, 20])
    sure = np.eye(2)[validated]
    assert class_factors(np.array([0, 1]), validated, sure, sure) is None


def test_a_class_without_labels_has_no_cases_that_could_count():
    validated = np.array([0, 1, 2, 2] * 25)
    sure = np.eye(3)[validated]
    assert class_factors(np.array([0, 0, 1]), validated, sure, sure)[2] == 1


def test_nodes_of_the_predicted_type_are_asked():
    graph = random_graph(3, num_nodes=200, num_labeled=60)
    assert not np.isin(asked_nodes(graph), [*graph.train, *graph.validation]).any()
    assert len(asked_nodes(uneven_graph(num_nodes=6000))) == 2000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, 2, 3], "class_factors must be 2 numbers, in the order of the classes 0, 1, got 3"),
        ([1, 0], "class_factors must be a list of finite numbers above 0, one for each class"),
        ([1], "class_factors must be a list of finite numbers above 0, one for each class"),
        (2.0, "class_factors must be a list of numbers or none, got 2.0"),
    ],
)
def test_factors_that_make_no_sense_are_refused(value, text):
    with pytest.raises(InputError, match=text):
        Settings.of("best", class_factors=value).resolve(uneven_graph(num_nodes=400))


def test_on_a_graph_with_other_labels_the_estimated_shares_stay():
    graph = uneven_graph()
    trained = fit(graph, Settings.of("best", **FAST), seed=0)
    frequent, rare = trained.settings.vote.class_factors
    labeled = np.concatenate([graph.train, graph.test[:300]])  # drawn as they come: four of five are frequent
    more = graph.with_split(train=labeled, validation=graph.validation, test=graph.test[300:])
    found = trained.with_graph(more).settings.vote.class_factors
    share = (graph.labels[labeled] == 0).mean()
    assert found[0] / found[1] == pytest.approx(frequent / rare * (1 - share) / share, rel=0.02)
    given = fit(graph, Settings.of("best", **FAST, class_factors=[1, 2]), seed=0)
    assert given.with_graph(more).settings.vote.class_factors == (1.0, 2.0)
    assert trained.with_graph(graph).settings == trained.settings


def test_without_unlabeled_nodes_the_validation_nodes_stand_for_all():
    graph = uneven_graph(num_nodes=400)
    graph = graph.with_split(train=graph.train, validation=[*graph.validation, *graph.test], test=[])
    trained = fit(graph, Settings.of("best", **FAST), seed=0)
    share = (graph.labels[graph.validation] == 0).mean()
    assert not len(asked_nodes(graph))
    assert trained.settings.vote.class_factors == pytest.approx((2 * share, 2 - 2 * share), abs=0.01)
