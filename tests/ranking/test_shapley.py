"""Shapley values are the mean gains over all orders, which small memories can try."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.ranking import knn_shapley, shapley_values
from strategies import random_graph, small_settings, untrained


def over_all_orders(count, utility):
    gains = np.zeros(count)
    orders = list(itertools.permutations(range(count)))
    for order in orders:
        before = 0.0
        for place, one in enumerate(order, 1):
            now = utility(sorted(order[:place]))
            gains[one] += now - before
            before = now
    return gains / len(orders)


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.integers(1, 7))
def test_closed_form_is_the_mean_over_all_orders(right, num_nearest):
    expected = over_all_orders(len(right), lambda some: sum(right[i] for i in some[:num_nearest]) / num_nearest)
    np.testing.assert_allclose(knn_shapley(np.array([right]), num_nearest)[0], expected, atol=1e-12)


def values_of(trained, *, num_orders, seed):
    rankings, labels = trained.rank(trained.graph.validation), trained.graph.labels
    return shapley_values(rankings, trained.cases, labels, num_orders=num_orders, generator=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def small():
    graph = random_graph(5, num_nodes=20, num_labeled=6, num_classes=3)
    return untrained(graph, small_settings(num_nearest=3, temperature=0.5, class_factors=[0.5, 1, 2]), seed=5)


def test_random_orders_come_to_the_mean_over_all_orders_within_their_error(small):
    graph = small.graph
    queries = small.similarity.items(graph.validation)
    overall = small.similarity.compare(queries, small.cases.items).overall.double().numpy()
    expected = np.zeros(6)
    for row, label in zip(overall, graph.labels[graph.validation]):

        def probability(some, row=row, label=label):
            near = sorted(some, key=lambda i: -row[i])[:3]
            classes = graph.labels[graph.train[near]]
            weights = np.exp((row[near] - row.max()) / 0.5) * np.array([0.5, 1, 2])[classes]
            return weights[graph.labels[graph.train[near]] == label].sum() / weights.sum()

        expected += over_all_orders(6, probability)
    found = values_of(small, num_orders=2000, seed=0)
    expected /= len(graph.validation)
    assert (np.abs(found.weighted - expected) < 4 * found.standard_error + 1e-9).all()
    assert found.standard_error.max() < 0.01


def test_values_add_up_to_the_vote_of_all(small):
    graph, now = small.graph, small.predict(small.graph.validation)
    found = values_of(small, num_orders=3, seed=1)
    own = now.probabilities[np.arange(len(graph.validation)), graph.labels[graph.validation]]
    assert found.weighted.sum() == pytest.approx(own.mean(), abs=1e-5)
    right = graph.labels[now.cases] == graph.labels[graph.validation][:, None]
    assert found.unweighted.sum() == pytest.approx(right.mean(), abs=1e-9)


def test_the_same_generator_gives_the_same_values(small):
    one, other = (values_of(small, num_orders=5, seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.weighted, other.weighted)
