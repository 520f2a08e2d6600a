"""Adding and flipping edges: how many, by what, and on graphs with little room."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.attack import add_random_edges, flip_pairs
from lab.attack.noise import num_changes
from se_gnn.errors import InputError
from strategies import edge_lists


def as_set(edges):
    return {tuple(edge) for edge in edges.tolist()}


def test_parallel_edges_are_one_pair():
    edges = np.array([[0, 1], [0, 1], [1, 2]])
    assert flip_pairs(edges, 3, np.array([[0, 1]])).tolist() == [[1, 2]]
    assert flip_pairs(edges, 3, np.array([[1, 2]])).tolist() == [[0, 1]]


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
