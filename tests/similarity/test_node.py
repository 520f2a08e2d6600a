"""Node similarity, Eq. (2), against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.similarity.node import aligned, all_pairs
from strategies import continuous, measures, seeds


def plain(a, b, measure):
    if measure == "distance":
        return -np.linalg.norm(a - b)
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


@given(seed=seeds, rows=st.integers(1, 6), columns=st.integers(1, 6), size=st.integers(1, 20), measure=measures)
def test_all_pairs_and_aligned_are_the_formula(seed, rows, columns, size, measure):
    a, b = continuous(seed, rows, size), continuous(seed + 1, columns, size)
    expected = [[plain(x, y, measure) for y in b.double().numpy()] for x in a.double().numpy()]
    np.testing.assert_allclose(all_pairs(a, b, measure), expected, atol=2e-6)
    np.testing.assert_allclose(aligned(a[:, None], b[None], measure), expected, atol=2e-6)


@given(seed=seeds, rows=st.integers(1, 40), columns=st.integers(1, 20), size=st.integers(1, 40), measure=measures)
def test_a_node_is_compared_alike_alone_and_among_others_to_the_bit(seed, rows, columns, size, measure):
    a, b = continuous(seed, rows, size), continuous(seed + 1, columns, size)
    together = all_pairs(a, b, measure)
    for i in range(rows):
        assert torch.equal(all_pairs(a[i : i + 1], b, measure)[0], together[i])
    for j in range(columns):
        assert torch.equal(all_pairs(a, b[j : j + 1], measure)[:, 0], together[:, j])


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_gradients_are_those_of_the_formula(measure):
    a, b = (continuous(seed, 4, 3).double().requires_grad_() for seed in (0, 1))
    weights = continuous(2, 4, 4).double()
    (all_pairs(a, b, measure) * weights).sum().backward()
    found = a.grad.clone(), b.grad.clone()
    a.grad = b.grad = None
    (aligned(a[:, None], b[None], measure) * weights).sum().backward()
    torch.testing.assert_close(found, (a.grad, b.grad))


def test_equal_vectors_have_distance_zero_exactly():
    a = continuous(0, 5, 9) * 1000
    assert torch.equal(all_pairs(a, a, "distance").diagonal(), torch.zeros(5))


def test_a_cosine_with_a_zero_vector_is_zero():
    a, b = torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    torch.testing.assert_close(all_pairs(a, b, "cosine"), torch.tensor([[0.0, 0.0], [0.6, 0.0]]))
    torch.testing.assert_close(aligned(a, b, "cosine"), torch.tensor([0.0, 0.0]))


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_nothing_compared_with_nothing_is_empty(measure):
    assert all_pairs(torch.zeros(0, 3), torch.zeros(2, 3), measure).shape == (0, 2)
