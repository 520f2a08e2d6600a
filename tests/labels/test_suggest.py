import dataclasses

import numpy as np
import pytest

from labels.conftest import block_graph, block_model
from se_gnn.errors import InputError
from se_gnn.labels import suggest as module
from se_gnn.labels.novelty import similarities
from se_gnn.labels.suggest import FLOOR, suggest
from strategies import changed


def worth(trained, candidates, represented, chosen):
    """F(S) of the docstring, by loops."""
    graph = trained.graph
    everyone = np.arange(graph.num_nodes)
    cosines, _ = similarities(graph, everyone, everyone, smoothed=True)
    scale = float(np.median([1 - max(cosines[j, i] for i in graph.train) for j in represented]))
    probabilities = trained.predict(represented).probabilities.max(axis=1)
    total = 0.0
    for j, p in zip(represented, probabilities):
        best = max(float(np.exp(-(1 - cosines[j, i]) / scale)) for i in [*graph.train, *chosen])
        total += (FLOOR + 1 - min(float(p), 1)) * best
    return total


@pytest.fixture(scope="module")
def small():
    graph = block_graph(220)
    return block_model(graph.with_split(train=graph.train[:6], validation=graph.validation, test=graph.test[:20]))


def free_nodes(graph):
    return np.setdiff1d(np.arange(graph.num_nodes), np.concatenate([graph.train, graph.validation, graph.test]))


def test_each_suggestion_adds_most_to_what_is_represented(small):
    candidates = free_nodes(small.graph)[:12]
    represented = np.setdiff1d(np.arange(small.graph.num_nodes), small.graph.train)
    found = [one.node for one in suggest(small, 2, candidates=candidates)]
    for i in range(2):
        before = found[:i]
        gains = {c: worth(small, candidates, represented, [*before, c]) for c in candidates if c not in before}
        assert gains[found[i]] == pytest.approx(max(gains.values()), rel=1e-5)


def test_suggestions_are_nodes_in_no_part_of_the_split_each_once(small):
    found = [one.node for one in suggest(small, 30)]
    assert len(set(found)) == 30
    assert set(found) <= set(free_nodes(small.graph).tolist())


def test_labels_that_are_not_known_to_the_model_change_nothing(small):
    graph = small.graph
    labels = graph.labels.copy()
    free = free_nodes(graph)
    labels[free] = (labels[free] + 1) % 3
    other = dataclasses.replace(small, graph=changed(graph, labels=labels))
    assert [one.node for one in suggest(other, 5)] == [one.node for one in suggest(small, 5)]


def test_nodes_without_a_known_label_come_first_where_there_are_some(small):
    graph = small.graph
    labels = graph.labels.copy()
    unknown = free_nodes(graph)[:7]
    labels[unknown] = -1
    other = dataclasses.replace(small, graph=changed(graph, labels=labels))
    assert {one.node for one in suggest(other, 7)} == set(unknown.tolist())


def test_more_nodes_than_are_looked_at_are_drawn_by_the_seed(small, monkeypatch):
    monkeypatch.setattr(module, "MOST", 40)
    one, again, other = (suggest(small, 3, seed=seed) for seed in (0, 0, 1))
    assert one == again
    assert one != other


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "three"])
def test_a_count_that_is_none_is_refused(small, count):
    with pytest.raises(InputError, match="count must be a whole number above 0"):
        suggest(small, count)


def test_more_suggestions_than_nodes_are_refused(small):
    with pytest.raises(InputError, match="at most the 164 nodes"):
        suggest(small, 1000)


def test_without_a_count_twenty_are_suggested_or_all_that_are_left(small):
    few = free_nodes(small.graph)[:7]
    assert len(suggest(small)) == 20
    assert {one.node for one in suggest(small, candidates=few)} == set(few.tolist())


def test_without_a_node_to_label_the_error_says_so(small):
    graph = small.graph
    everyone = np.setdiff1d(np.arange(graph.num_nodes), np.concatenate([graph.train, graph.validation]))
    full = graph.with_split(train=graph.train, validation=graph.validation, test=everyone)
    with pytest.raises(InputError, match="no node left to label"):
        suggest(dataclasses.replace(small, graph=full))


def test_a_labeled_node_is_no_candidate(small):
    with pytest.raises(InputError, match="candidates must be nodes without a label"):
        suggest(small, 1, candidates=small.graph.train[:1])
