"""Node metrics against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.metrics import accuracy, node_matching_accuracy, precision_at_k, role_precision_at_k
from se_gnn.errors import InputError

LABELS = np.array([0, 1, 0, 1, 1])
TARGETS = np.array([0, 1])
NEIGHBORS = np.array([[2, 3, 4], [2, 3, 4]])  # labels 0 1 1 for a target of class 0 and for one of class 1


def test_accuracy_is_the_share_of_right_predictions():
    assert accuracy(np.array([1, 1, 0]), np.array([1, 0, 0])) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("k", "expected"), [(1, (1 + 0) / 2), (2, (1 / 2 + 1 / 2) / 2), (3, (1 / 3 + 2 / 3) / 2)])
def test_precision_at_k_by_hand(k, expected):
    assert precision_at_k(TARGETS, NEIGHBORS, LABELS, k) == pytest.approx(expected)


def test_roles_tell_nodes_of_one_class_apart():
    roles = np.array([5, 6, 5, 0, 6])
    assert role_precision_at_k(TARGETS, NEIGHBORS, roles, 3) == pytest.approx((1 / 3 + 1 / 3) / 2)
    assert node_matching_accuracy(TARGETS, NEIGHBORS, roles) == 0.5


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(0, 1000))
def test_precision_counts_as_a_loop_does(k, seed):
    generator = np.random.default_rng(seed)
    labels, targets = generator.integers(0, 3, 12), generator.integers(0, 12, 4)
    neighbors = generator.integers(0, 12, (4, 5))
    shares = [sum(labels[n] == labels[t] for n in row[:k]) / k for t, row in zip(targets, neighbors)]
    assert precision_at_k(targets, neighbors, labels, k) == pytest.approx(np.mean(shares))


def test_what_is_not_defined_is_refused():
    with pytest.raises(InputError, match="k must be between 1 and the 3 neighbors given, got 4"):
        precision_at_k(TARGETS, NEIGHBORS, LABELS, 4)
    with pytest.raises(InputError, match="one row per target"):
        precision_at_k(TARGETS, NEIGHBORS[:1], LABELS, 1)
    with pytest.raises(InputError, match="node 1 has role 0"):
        node_matching_accuracy(TARGETS, NEIGHBORS, np.array([1, 0, 1, 1, 1]))
    with pytest.raises(InputError, match="at least one target"):
        precision_at_k(TARGETS[:0], NEIGHBORS[:0], LABELS, 1)
    with pytest.raises(InputError, match="at least one node"):
        accuracy(LABELS[:0], LABELS[:0])
    with pytest.raises(InputError, match="one entry per node"):
        accuracy(LABELS, LABELS[:2])
