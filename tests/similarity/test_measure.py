"""sim(a, b): node similarity, Eq. (2), and all that kernels ask of a measure."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import on_every_device
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import reference
from se_gnn.similarity.measure import MEASURES, Cosine, Distance, measure_named
from strategies import continuous, measures, seeds

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
sizes = st.integers(1, 6)


@on_every_device
@settings(max_examples=60)
@given(seed=seeds, rows=sizes, columns=sizes, size=st.integers(1, 20), name=measures)
def test_all_pairs_and_aligned_are_the_formula(seed, rows, columns, size, name, device):
    a, b = continuous(seed, rows, size), continuous(seed + 1, columns, size)
    expected = torch.stack([torch.stack([reference.similarity(x, y, name) for y in b.double()]) for x in a.double()])
    measure, x, y = measure_named(name), a.to(device), b.to(device)
    for found in (measure.all_pairs(x, y), measure.aligned(x[:, None], y[None])):
        torch.testing.assert_close(found.cpu().double(), expected, rtol=0, atol=2e-6)


@given(seed=seeds, rows=st.integers(1, 40), columns=st.integers(1, 20), size=st.integers(1, 40), name=measures)
def test_a_node_is_compared_alike_alone_and_among_others_to_the_bit(seed, rows, columns, size, name):
    a, b, measure = continuous(seed, rows, size), continuous(seed + 1, columns, size), measure_named(name)
    together = measure.all_pairs(a, b)
    for i in range(rows):
        assert torch.equal(measure.all_pairs(a[i : i + 1], b)[0], together[i])
    for j in range(columns):
        assert torch.equal(measure.all_pairs(a, b[j : j + 1])[:, 0], together[:, j])


@every_measure
def test_gradients_of_all_pairs_are_those_of_the_formula(measure):
    a, b = (continuous(seed, 4, 3).double().requires_grad_() for seed in (0, 1))
    weights = continuous(2, 4, 4).double()
    found = torch.autograd.grad((measure.all_pairs(a, b) * weights).sum(), (a, b))
    expected = torch.autograd.grad((measure.aligned(a[:, None], b[None]) * weights).sum(), (a, b))
    torch.testing.assert_close(found, expected)


@settings(max_examples=60)
@given(seed=seeds, keys=st.integers(2, 12), name=measures)
def test_the_key_with_the_largest_score_is_the_most_similar(seed, keys, name):
    measure, a, b = measure_named(name), continuous(seed, 6, 4).double(), continuous(seed + 1, keys, 4).double()
    scale, offset = measure.scoring(b.square().sum(dim=1))
    scores = a @ b.T * scale + offset
    assert torch.equal(scores.argmax(dim=1), measure.all_pairs(a, b).argmax(dim=1))


@every_measure
def test_equal_vectors_have_the_similarity_it_names(measure):
    a = continuous(0, 5, 9) * 1000
    torch.testing.assert_close(measure.all_pairs(a, a).diagonal(), torch.full((5,), measure.of_equals))
    assert measure.all_pairs(a, a).max() <= measure.of_equals + 1e-6


def test_equal_vectors_have_distance_zero_exactly():
    a = continuous(0, 5, 9) * 1000
    assert torch.equal(Distance().all_pairs(a, a).diagonal(), torch.zeros(5))


def test_a_cosine_with_a_zero_vector_is_zero():
    a, b = torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    torch.testing.assert_close(Cosine().all_pairs(a, b), torch.tensor([[0.0, 0.0], [0.6, 0.0]]))
    torch.testing.assert_close(Cosine().aligned(a, b), torch.tensor([0.0, 0.0]))


@every_measure
def test_nothing_compared_with_nothing_is_empty(measure):
    assert measure.all_pairs(torch.zeros(0, 3), torch.zeros(2, 3)).shape == (0, 2)


@every_measure
def test_a_setting_names_each_measure(measure):
    assert measure_named(SimilaritySettings(measure=measure.name).measure) is measure
