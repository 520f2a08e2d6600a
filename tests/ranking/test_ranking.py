"""Rankings: who is nearest, who votes, and what is kept; the same bits however they were asked for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.labels import Memory, audit, certify
from se_gnn.ranking import UNDECIDED, Ranking, nearest_per_class, ranking, smallest_removals
from se_gnn.similarity import Similarity
from strategies import models, random_graph, small_settings, untrained


def a_model():
    graph = random_graph(2, num_nodes=60, num_edges=120, num_labeled=30, num_classes=3, isolated=(3, 40))
    return untrained(graph, small_settings(num_nearest=4, temperature=0.4), seed=2)


@pytest.fixture(name="compared")
def counted_comparisons(monkeypatch):
    """The numbers of queries that were compared with cases, call by call."""
    counts, original = [], Similarity.nearest

    def nearest(self, queries, cases, count):
        counts.append(len(queries))
        return original(self, queries, cases, count)

    monkeypatch.setattr(Similarity, "nearest", nearest)
    return counts


def whole(trained, queries=None, **how):
    return Ranking.joined(list(trained.rank(queries, **how)))


def assert_same(one, other):
    assert np.array_equal(one.queries, other.queries)
    for name in ("positions", "overall", "node", "structure"):
        assert getattr(one.nearest, name).numpy().tobytes() == getattr(other.nearest, name).numpy().tobytes(), name


@settings(max_examples=30)
@given(models(min_nodes=4), st.data())
def test_a_ranking_is_the_beginning_of_every_deeper_one(trained, data):
    nodes = np.array(data.draw(st.lists(st.integers(0, trained.graph.num_nodes - 1), max_size=5)), np.int64)
    depth = data.draw(st.integers(1, len(trained.graph.train)))
    deep, cut = whole(trained, nodes), whole(trained, nodes, depth=depth)
    assert deep.complete
    assert_same(deep.first(depth), cut)
    for row, node in enumerate(nodes):
        assert sorted(deep.nodes[row]) == trained.graph.train.tolist()
        itself = deep.nodes[row] == node
        assert np.array_equal(deep.voting[row].numpy(), ~itself)  # a case does not vote on itself
        assert not itself[:-1].any()  # and is the last one


@pytest.mark.parametrize("few", [256, 0])
def test_what_is_kept_of_all_nodes_has_the_bits_of_a_fresh_comparison(few, monkeypatch, compared):
    monkeypatch.setattr(ranking, "FEW", few)
    trained = a_model()
    first = whole(trained, depth=4)
    assert compared == [60]
    some = np.array([7, 3, 59])
    assert_same(whole(trained, some, depth=5), whole(a_model(), some, depth=5))
    assert_same(whole(trained, depth=4), first)
    assert compared == [60, 3]  # the second is that of the fresh model
    assert trained.ranker.kept(some).depth == (30 if few else 12)


def test_what_is_kept_of_some_nodes_has_the_bits_of_a_fresh_comparison_and_serves_them_alone(compared):
    trained, some = a_model(), np.array([3, 7, 20, 58])
    trained.ranker.hold(some)
    assert_same(whole(trained, some[[2, 0]], depth=5), whole(a_model(), some[[2, 0]], depth=5))
    assert trained.ranker.kept(np.array([3, 8])) is None
    assert compared == [4, 2]  # the second is that of the fresh model
    assert_same(whole(trained, depth=5), whole(a_model(), depth=5))
    assert trained.ranker.kept(np.array([3, 8])) is not None  # all nodes took the place of some


def test_more_nodes_are_kept_without_comparing_those_again_that_are_kept(compared):
    trained, some, more = a_model(), np.array([3, 7, 20, 58]), np.array([1, 3, 7, 30, 58])
    for nodes in (some, more, some[:0], more[1:3]):
        trained.ranker.hold(nodes)
    assert compared == [4, 2]
    assert trained.ranker.kept(more).queries.tolist() == more.tolist()
    assert_same(whole(trained, more, depth=5), whole(a_model(), more, depth=5))


@pytest.mark.parametrize("few", [256, 0])
def test_what_is_kept_of_some_nodes_stays_true_when_labels_are_edited(few, monkeypatch):
    monkeypatch.setattr(ranking, "FEW", few)
    trained, some = a_model(), np.arange(5, 45)
    trained.ranker.hold(some)
    edited = Memory(trained)
    edited.remove(trained.graph.train[[1, 4]].tolist())
    fresh = dataclasses.replace(a_model(), graph=edited.trained.graph)
    assert edited.trained.ranker.kept(some) is not None
    assert_same(whole(edited.trained, some, depth=4), whole(fresh, some, depth=4))


def test_nothing_is_kept_that_does_not_fit_the_memory(monkeypatch, compared):
    monkeypatch.setattr(ranking, "BYTES_PER_RANK", 1 << 40)
    trained = a_model()
    for _ in range(2):
        trained.predict()
    assert compared == [60, 60]
    assert trained.ranker.kept(np.arange(3)) is None


def test_blocks_are_one_ranking(monkeypatch):
    trained = a_model()
    expected = whole(trained, np.arange(50))
    monkeypatch.setattr(ranking, "BYTES_PER_PAIR", 1 << 50)  # one query at a time
    blocks = list(a_model().rank(np.arange(50)))
    assert [len(block) for block in blocks] == [1] * 50
    assert_same(Ranking.joined(blocks), expected)


def test_predictions_an_audit_and_certificates_compare_all_nodes_once(compared):
    trained = a_model()
    trained.predict()
    audit(trained, num_orders=2)
    certify(trained)
    assert compared == [60]


def test_certificates_from_a_cut_ranking_are_those_of_complete_rankings(monkeypatch, compared):
    expected = certify(a_model())
    monkeypatch.setattr(ranking, "FEW", 0)
    monkeypatch.setattr(ranking, "SPARE", 2)
    trained = a_model()
    trained.predict()
    undecided = (smallest_removals(trained.ranker.kept(np.arange(60))).sizes == UNDECIDED).sum()
    assert 0 < undecided < 60
    compared.clear()
    found = certify(trained)
    assert compared == [undecided]  # the others were decided by what is kept
    for one, other in ((found.removal, expected.removal), (found.relabeling, expected.relabeling)):
        for field in dataclasses.fields(one):
            assert getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes(), field.name
    assert np.array_equal(found.predicted, expected.predicted)


def test_without_some_ranks_the_next_ones_vote():
    found = whole(a_model(), np.array([45]))
    rest = found.without([0, 2])
    assert rest.nodes[0].tolist() == [one for rank, one in enumerate(found.nodes[0]) if rank not in (0, 2)]
    assert rest.complete
    assert rest.num_cases == 28


def test_the_nearest_case_of_each_class_is_the_first_of_it_in_the_ranking():
    trained = a_model()
    found = nearest_per_class(trained.rank())
    complete, labels = whole(trained), trained.graph.labels
    for node in range(60):
        able = complete.nodes[node][complete.voting[node].numpy()]
        for label in range(3):
            assert found.nodes[node, label] == able[labels[able] == label][0]


def test_no_queries_have_an_empty_ranking():
    nobody = np.empty(0, np.int64)
    assert whole(a_model(), nobody).overall.shape == (0, 30)
    assert nearest_per_class(a_model().rank(nobody)).nodes.shape == (0, 3)
    assert len(certify(a_model(), nobody)) == 0
