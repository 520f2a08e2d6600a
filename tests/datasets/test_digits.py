"""`digits`: sizes, features, graph and split."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.datasets import load_dataset


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits", seed=0)


def test_digits_are_1797_pictures_of_64_pixels_between_zero_and_one(digits):
    assert (digits.num_nodes, digits.num_features, digits.num_classes) == (1797, 64, 10)
    assert (digits.features.min(), digits.features.max(), digits.features.dtype) == (0, 1, np.float32)
    assert digits.image_shape == (8, 8)
    assert digits.class_names == tuple("0123456789")
    assert digits.node_names[42] == "digit-0042"


def test_every_digit_is_joined_to_its_five_nearest(digits):
    pixels = (digits.features * 16).astype(int)
    for node in (0, 188, 817):  # the last two have a sixth that is as near as the fifth
        distance = ((pixels[node] - pixels) ** 2).sum(axis=1)
        others = sorted(set(range(1797)) - {node}, key=lambda other: (distance[other], other))
        assert set(others[:5]) <= set(digits.adjacency[[node]].tocoo().col)
    assert digits.degrees.min() >= 5
    assert digits.num_edges == 6309


def test_most_edges_join_the_same_digit(digits):
    same = digits.labels[digits.edges.ends[:, 0]] == digits.labels[digits.edges.ends[:, 1]]
    assert 0.96 < same.mean() < 0.98


def test_ten_digits_a_class_are_labeled_twenty_validate_and_the_others_test(digits):
    assert np.bincount(digits.labels[digits.train]).tolist() == [10] * 10
    assert np.bincount(digits.labels[digits.validation]).tolist() == [20] * 10
    together = np.concatenate([digits.train, digits.validation, digits.test])
    assert np.sort(together).tolist() == list(range(1797))


def test_the_seed_draws_the_split_and_leaves_the_graph(digits):
    again, other = load_dataset("digits", seed=0), load_dataset("digits", seed=1)
    np.testing.assert_array_equal(digits.train, again.train)
    np.testing.assert_array_equal(digits.validation, again.validation)
    assert digits.train.tolist() != other.train.tolist()
    np.testing.assert_array_equal(digits.edges.ends, other.edges.ends)
