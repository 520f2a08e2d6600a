"""Smallest removals and relabelings are those of brute force: every set is tried, every class is given."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.ranking import NEVER, UNDECIDED, smallest_relabelings, smallest_removals, without_each
from se_gnn.settings import VoteSettings
from strategies import ranking_of

CLASSES = 3


def votes_of(overall, labels, **vote):
    return ranking_of(overall, labels, VoteSettings(**vote), CLASSES)


def ranks_of(ranking, sets, i):
    return np.flatnonzero(np.isin(ranking.nodes[i], sets.nodes(i)))


def probabilities(overall, labels, vote):
    k = min(vote["num_nearest"], len(overall))
    scores = torch.zeros(1, CLASSES)
    if k:
        factors = torch.tensor(vote.get("class_factors") or [1.0] * CLASSES)
        weights = torch.softmax(overall[None, :k] / vote["temperature"] + factors[labels[:k]].log(), dim=1)
        scores = scores.scatter_add(1, labels[None, :k], weights)
    return scores[0].tolist()


def predicted(overall, labels, vote):
    return int(np.argmax(probabilities(overall, labels, vote)))


def smallest_by_trying(one, vote, changed):
    overall, labels = one
    now = predicted(overall, labels, vote)
    everyone = range(len(labels))
    for size in range(1, len(labels) + 1):
        for some in itertools.combinations(everyone, size):
            if any(predicted(*other, vote) != now for other in changed(overall, labels, list(some))):
                return size
    return NEVER


def without(overall, labels, some):
    kept = np.setdiff1d(np.arange(len(labels)), some)
    return [(overall[kept], labels[kept])] if len(kept) else []


def relabeled(overall, labels, some):
    for given_labels in itertools.product(range(CLASSES), repeat=len(some)):
        other = labels.clone()
        other[some] = torch.tensor(given_labels)
        yield overall, other


rows = st.integers(2, 6).flatmap(
    lambda size: st.tuples(
        st.lists(st.lists(st.integers(0, CLASSES - 1), min_size=size, max_size=size), min_size=1, max_size=3),
        st.booleans(),
        st.integers(0, 10_000),
    )
)


def random_votes(drawn, num_nearest, temperature):
    labels, ties, seed = drawn
    generator = np.random.default_rng(seed)
    shape = np.shape(labels)
    overall = generator.integers(0, 3, shape).astype(np.float32) if ties else generator.normal(size=shape)
    vote = {"num_nearest": num_nearest, "temperature": temperature}
    if seed % 2:
        vote["class_factors"] = (0.5, 1.0, 2.5)
    return votes_of(overall.astype(np.float32), labels, **vote), vote


settings = (st.integers(1, 6), st.sampled_from([0.2, 1.0, 5.0]))


@given(rows, *settings)
def test_no_smaller_removal_changes_a_prediction_and_this_one_does(drawn, num_nearest, temperature):
    votes, vote = random_votes(drawn, num_nearest, temperature)
    found = smallest_removals(votes)
    for i, one in enumerate(zip(votes.overall, votes.classes)):
        assert found.sizes[i] == smallest_by_trying(one, vote, without)
        assert len(found.nodes(i)) == max(0, int(found.sizes[i]))
        if found.sizes[i] != NEVER:
            ((overall, labels),) = without(*one, ranks_of(votes, found, i))
            assert predicted(overall, labels, vote) == found.becomes[i] != predicted(*one, vote)
            assert probabilities(overall, labels, vote) == list(found[i].probabilities)


@given(rows, *settings)
def test_no_smaller_relabeling_changes_a_prediction_and_this_one_does(drawn, num_nearest, temperature):
    votes, vote = random_votes(drawn, num_nearest, temperature)
    found = smallest_relabelings(votes)
    for i, one in enumerate(zip(votes.overall, votes.classes)):
        assert found.sizes[i] == smallest_by_trying(one, vote, relabeled)
        assert len(found.nodes(i)) == found.sizes[i]
        other = one[1].clone()
        other[ranks_of(votes, found, i)] = int(found.becomes[i])
        assert predicted(one[0], other, vote) == found.becomes[i] != predicted(*one, vote)
        assert probabilities(one[0], other, vote) == list(found[i].probabilities)


def test_of_classes_that_take_equally_few_nodes_the_one_that_is_then_predicted_is_named():
    shares = np.log(np.float32([[0.4, 0.21, 0.2, 0.19]]))  # class 2 is ahead with 0.41, and 1 is with 0.4 right behind
    votes = votes_of(shares, [[1, 2, 2, 0]], num_nearest=4, temperature=1.0)
    found = smallest_relabelings(votes)
    assert (found.sizes.tolist(), found.becomes.tolist()) == ([1], [1])  # 0 would beat 2 as well, and not 1


def test_a_node_that_does_not_vote_is_in_no_set():
    overall = np.float32([[3, 2, 1, -np.inf]])
    votes = votes_of(overall, [[0, 1, 1, 0]], num_nearest=4, temperature=0.5)
    for found in (smallest_removals(votes), smallest_relabelings(votes)):
        assert found.sizes.tolist() == [1]
        assert found.nodes(0).tolist() == [0]


def test_no_removal_changes_a_prediction_that_nobody_of_another_class_can_vote_on():
    votes = votes_of(np.float32([[2, 1]]), [[1, 1]], num_nearest=2)
    assert smallest_removals(votes).sizes.tolist() == [NEVER]
    assert smallest_removals(votes)[0] is None
    assert smallest_relabelings(votes).sizes.tolist() == [1]


@pytest.mark.parametrize("search", [smallest_removals, smallest_relabelings])
def test_each_node_is_searched_alone(search):
    generator = np.random.default_rng(0)
    overall, labels = generator.normal(size=(40, 12)), generator.integers(0, 3, (40, 12))
    together = search(votes_of(overall, labels, num_nearest=5))
    for i in range(40):
        alone = search(votes_of(overall[i : i + 1], labels[i : i + 1], num_nearest=5))
        assert alone.sizes[0] == together.sizes[i]
        assert alone.nodes(0).tolist() == (together.nodes(i) - 12 * i).tolist()


@given(rows, *settings, st.integers(0, 4))
def test_a_ranking_that_is_cut_says_the_same_or_that_it_does_not_know(drawn, num_nearest, temperature, spare):
    whole, _ = random_votes(drawn, num_nearest, temperature)
    cut = whole.first(num_nearest + spare)
    found, wanted = smallest_removals(cut), smallest_removals(whole)
    for i in range(len(whole)):
        if found.sizes[i] == UNDECIDED:
            assert wanted.sizes[i] == NEVER or wanted.sizes[i] > cut.depth - num_nearest
        else:
            assert found.sizes[i] == wanted.sizes[i]
            assert found.nodes(i).tolist() == wanted.nodes(i).tolist()
            assert found.probabilities[i].tolist() == wanted.probabilities[i].tolist()
    relabeled_cut, relabeled_whole = smallest_relabelings(cut), smallest_relabelings(whole)
    assert relabeled_cut.labeled.tolist() == relabeled_whole.labeled.tolist()


@given(rows, *settings)
def test_without_each_counts_the_vote_of_the_others(drawn, num_nearest, temperature):
    votes, vote = random_votes(drawn, num_nearest, temperature)
    found = without_each(votes)
    for i, one in enumerate(zip(votes.overall, votes.classes)):
        for rank in range(votes.num_nearest):
            ((overall, labels),) = without(*one, [rank])
            assert found[i, rank].tolist() == probabilities(overall, labels, vote)


def test_nobody_is_left_without_the_only_voter():
    votes = votes_of(np.float32([[1]]), [[1]], num_nearest=2)
    assert without_each(votes).tolist() == [[[0, 0, 0]]]
    assert smallest_removals(votes)[0] is None
