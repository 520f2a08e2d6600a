"""Replacing edges: how many, by what, and on graphs with little room."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.graph import replace_edges, sample_non_edges
from strategies import edge_lists


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
