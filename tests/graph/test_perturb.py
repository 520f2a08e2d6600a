"""Replacing, adding and flipping edges: how many, by what, and on graphs with little room."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.graph import add_random_edges, flip_pairs, replace_edges, sample_non_edges
from se_gnn.graph.perturb import num_changes


@st.composite
def edge_lists(draw, max_nodes=9):
    """Canonical edges of small graphs, from empty to complete."""
    num_nodes = draw(st.integers(0, max_nodes))
    pairs = list(combinations(range(num_nodes), 2))
    keep = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    edges = [pair for pair, kept in zip(pairs, keep) if kept]
    return np.array(edges, dtype=np.int64).reshape(-1, 2), num_nodes


def as_set(edges):
    return {tuple(edge) for edge in edges.tolist()}


@given(graph=edge_lists(), share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_kept_edges_stay_and_the_others_are_replaced_by_pairs_that_were_not_edges(graph, share, seed):
    edges, num_nodes = graph
    noisy = replace_edges(edges, num_nodes, share, generator=np.random.default_rng(seed))
    free = num_nodes * (num_nodes - 1) // 2 - len(edges)
    assert len(edges) - len(noisy.kept) == min(round(share * len(edges)), free)
    assert noisy.edges.tolist() == sorted(map(list, as_set(noisy.edges)))  # sorted, no duplicates
    assert len(noisy.edges) == len(edges)
    assert (noisy.edges[:, 0] < noisy.edges[:, 1]).all()
    assert noisy.edges.max(initial=-1) < num_nodes
    assert as_set(noisy.edges) & as_set(edges) == as_set(edges[noisy.kept])
    assert (np.diff(noisy.kept) > 0).all()


def test_the_same_generator_state_gives_the_same_edges():
    edges = sample_non_edges(np.empty((0, 2), np.int64), 50, 200, generator=np.random.default_rng(1))
    one, two = (replace_edges(edges, 50, 0.3, generator=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.kept, two.kept)
    other = replace_edges(edges, 50, 0.3, generator=np.random.default_rng(6))
    assert as_set(other.edges) != as_set(one.edges)


def test_a_complete_graph_stays_as_it_is():
    edges = np.array(list(combinations(range(30), 2)))
    noisy = replace_edges(edges, 30, 0.5, generator=np.random.default_rng(0))
    np.testing.assert_array_equal(noisy.edges, edges)
    assert len(noisy.kept) == len(edges)


def test_a_nearly_complete_graph_takes_the_last_free_pair():
    edges = np.array(list(combinations(range(30), 2)))[:-1]
    noisy = replace_edges(edges, 30, 0.5, generator=np.random.default_rng(0))
    assert len(noisy.kept) == len(edges) - 1
    assert noisy.edges[-1].tolist() == [28, 29]


def test_every_free_pair_is_equally_likely():
    edges = np.array([[0, 1], [0, 4], [1, 2], [3, 4]])
    generator = np.random.default_rng(0)
    draws = [tuple(sample_non_edges(edges, 5, 1, generator=generator)[0].tolist()) for _ in range(6000)]
    counts = {pair: draws.count(pair) for pair in set(draws)}
    assert set(counts) == set(combinations(range(5), 2)) - as_set(edges)
    assert all(abs(count - 1000) < 150 for count in counts.values())  # five standard deviations


def test_pairs_are_exact_on_a_graph_of_many_nodes():
    num_nodes = 3_000_000  # 4.5e12 pairs: beyond what a float32 or int32 could number
    edges = np.array([[0, 1], [1_499_999, 1_500_000], [num_nodes - 2, num_nodes - 1]])
    noisy = replace_edges(edges, num_nodes, 1.0, generator=np.random.default_rng(0))
    assert (noisy.edges[:, 0] < noisy.edges[:, 1]).all()
    assert noisy.edges.max() < num_nodes
    np.testing.assert_array_equal(replace_edges(edges, num_nodes, 0.0, generator=np.random.default_rng(0)).edges, edges)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(InputError, match=re.escape(f"share must be between 0 and 1, got {share}")):
        replace_edges(np.array([[0, 1]]), 3, share, generator=np.random.default_rng(0))


def test_more_non_edges_than_there_are_is_refused():
    with pytest.raises(InputError, match="count must be between 0 and the 2 pairs of nodes without an edge, got 3"):
        sample_non_edges(np.array([[0, 1]]), 3, 3, generator=np.random.default_rng(0))


@given(graph=edge_lists(), share=st.floats(0, 1), seed=st.integers(0, 1000))
def test_random_noise_keeps_all_edges_and_adds_the_rate_of_them(graph, share, seed):
    edges, num_nodes = graph
    free = num_nodes * (num_nodes - 1) // 2 - len(edges)
    rate = share * min(1.0, free / max(1, len(edges)))
    noisy = add_random_edges(edges, num_nodes, rate, generator=np.random.default_rng(seed))
    assert as_set(edges) <= as_set(noisy)
    assert len(noisy) == len(edges) + num_changes(rate, len(edges))
    assert noisy.tolist() == sorted(map(list, as_set(noisy)))
    assert (noisy[:, 0] < noisy[:, 1]).all()


def test_random_noise_beyond_the_free_pairs_is_refused():
    with pytest.raises(InputError, match="would add 3 edges, but only 0 pairs of nodes have none"):
        add_random_edges(np.array(list(combinations(range(4), 2))), 4, 0.5, generator=np.random.default_rng(0))


@given(graph=edge_lists(), chosen=st.data())
def test_flipped_pairs_are_the_symmetric_difference_and_flipping_again_goes_back(graph, chosen):
    edges, num_nodes = graph
    all_pairs = list(combinations(range(num_nodes), 2))
    pairs = chosen.draw(st.lists(st.sampled_from(all_pairs), unique=True)) if all_pairs else []
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    flipped = flip_pairs(edges, num_nodes, array)
    assert flipped.tolist() == sorted(map(list, as_set(edges) ^ set(pairs)))
    np.testing.assert_array_equal(flip_pairs(flipped, num_nodes, array), edges)


@pytest.mark.parametrize(
    ("rate", "edges", "changes"), [(0.0, 9, 0), (0.1, 3668, 366), (0.25, 3668, 917), (0.29, 100, 29)]
)
def test_the_number_of_changes_is_rounded_down_and_knows_decimal_fractions(rate, edges, changes):
    assert num_changes(rate, edges) == changes
