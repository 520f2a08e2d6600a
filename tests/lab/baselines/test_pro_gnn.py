"""Pro-GNN: its proximal operators and terms by hand, and what it makes of an attacked graph."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from lab.baselines import baseline
from lab.baselines.pro_gnn import PUBLISHED, ProGNN, ProGNNSettings, _Run, feature_smoothness
from lab.baselines.proximal import shrink, shrink_spectrum
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from strategies import changed

QUICK = ProGNNSettings(epochs=5)


def symmetric(seed, size=12):
    matrix = torch.from_numpy(np.random.default_rng(seed).normal(size=(size, size)))
    return (matrix + matrix.T) / 2


def test_shrinking_the_spectrum_by_hand():
    # eigenvalues 3 (of (1, 1)) and -1 (of (1, -1)) become 2 and 0
    shrunk = shrink_spectrum(torch.tensor([[1.0, 2.0], [2.0, 1.0]]), 1.0)
    torch.testing.assert_close(shrunk, torch.tensor([[1.0, 1.0], [1.0, 1.0]]))


def test_shrinking_the_spectrum_is_shrinking_the_singular_values():
    matrix = symmetric(0)
    u, values, v = torch.linalg.svd(matrix)
    torch.testing.assert_close(shrink_spectrum(matrix, 0.7), u @ torch.diag((values - 0.7).clamp(min=0)) @ v)


@pytest.mark.parametrize(
    ("operator", "norm"),
    [(shrink, lambda m: m.abs().sum()), (shrink_spectrum, lambda m: torch.linalg.matrix_norm(m, "nuc"))],
)
def test_a_proximal_operator_gives_the_minimum(operator, norm):
    matrix, generator = symmetric(1), torch.Generator().manual_seed(0)

    def objective(z):
        return 0.5 * norm(z) + (z - matrix).square().sum() / 2

    best = operator(matrix, 0.5)
    for scale in (1e-3, 0.1, 1.0):
        for _ in range(20):
            other = best + scale * torch.randn(best.shape, generator=generator, dtype=best.dtype)
            assert objective(other) > objective(best)
    assert objective(best) < objective(matrix)


def test_feature_smoothness_is_the_weighted_difference_along_edges():
    generator = np.random.default_rng(0)
    x = torch.from_numpy(generator.normal(size=(5, 3)))
    s = torch.from_numpy(generator.random((5, 5))).fill_diagonal_(0)
    s = (s + s.T) / 2
    degrees = s.sum(1)
    scaled = x / (degrees[:, None] + 1e-3).sqrt()
    by_hand = sum(s[i, j] * (scaled[i].square().sum() - scaled[i] @ scaled[j]) for i in range(5) for j in range(5))
    torch.testing.assert_close(feature_smoothness(s, x @ x.T), by_hand)
    assert feature_smoothness(s, torch.ones(5, 5, dtype=s.dtype) * 0) == 0


def test_the_first_step_by_hand(two_groups):
    """At S = A the Frobenius norm has no slope: without the other terms S only shrinks."""
    settings = dataclasses.replace(QUICK, classification=0.0, smoothness=0.0, low_rank=0.0, sparsity=2.0)
    run = _Run(two_groups, settings, 0, torch.device("cpu"))
    run.step_graph()
    torch.testing.assert_close(run.learned, run.given * (1 - 0.01 * 2.0))
    run.step_graph()  # now S - A points back to A with norm 1
    difference = run.given * -0.02
    back = 0.01 * difference / difference.norm()
    torch.testing.assert_close(run.learned, (run.given * 0.98 - back - 0.02 * run.given).clamp(0, 1))


def test_the_learned_graph_is_symmetric_and_between_0_and_1(two_groups):
    learned = ProGNN(QUICK).fit(two_groups, seed=0).adjacency_
    torch.testing.assert_close(learned, learned.T, rtol=0, atol=1e-6)
    assert learned.min() >= 0
    assert learned.max() <= 1


@pytest.fixture(scope="module")
def attacked() -> Graph:
    """Three groups with telling attributes, and more edges across the groups than within them."""
    generator = np.random.default_rng(1)
    labels = np.arange(90) % 3
    words = generator.random((90, 60)) < np.where(np.arange(60) % 3 == labels[:, None], 0.3, 0.05)
    u, v = np.tril_indices(90, -1)
    joined = generator.random(len(u)) < np.where(labels[u] == labels[v], 0.2, 0.15)
    return Graph.build(
        features=words.astype(np.float32),
        edges=np.stack([u[joined], v[joined]], axis=1),
        labels=labels,
        train=np.arange(6),
        validation=np.arange(6, 30),
        test=np.arange(30, 90),
    )


def test_it_mistrusts_edges_across_groups_and_beats_the_same_gcn_on_the_given_graph(attacked):
    settings = ProGNNSettings(epochs=100, learning_rate=0.01, smoothness=1.0)
    still = dataclasses.replace(settings, graph_learning_rate=1e-12)
    learned, given = (ProGNN(chosen).fit(attacked, seed=0) for chosen in (settings, still))
    right = [(fitted.predict() == attacked.labels)[attacked.test].mean() for fitted in (learned, given)]
    assert right[0] > right[1] + 0.1
    u, v = attacked.edges.ends.T
    same = attacked.labels[u] == attacked.labels[v]
    weights = learned.adjacency_.numpy()[u, v]
    assert weights[same].mean() > weights[~same].mean() + 0.2
    np.testing.assert_allclose(given.adjacency_.numpy()[u, v], 1, atol=1e-4)


def test_same_seed_same_bits_and_test_labels_are_not_looked_at(two_groups):
    swapped = two_groups.labels.copy()
    swapped[two_groups.test] = 1 - swapped[two_groups.test]
    blind = changed(two_groups, labels=swapped)
    one, two = (ProGNN(QUICK).fit(graph, seed=2).predict_proba() for graph in (two_groups, blind))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one.sum(axis=1), 1, rtol=1e-5)
    assert (ProGNN(QUICK).fit(two_groups, seed=3).predict_proba() != one).any()


def test_the_best_epoch_by_validation_stays_and_without_validation_nodes_the_last(two_groups):
    fitted = ProGNN(dataclasses.replace(QUICK, epochs=30, learning_rate=0.05)).fit(two_groups, seed=1)
    best = max(accuracy for accuracy, _ in fitted.history_)
    val = two_groups.validation
    assert (fitted.predict() == two_groups.labels)[val].mean() == pytest.approx(best)
    without = two_groups.with_split(train=two_groups.train)
    assert ProGNN(QUICK).fit(without, seed=1).predict_proba().shape == (40, 2)


def test_by_name_with_published_and_bad_settings():
    assert isinstance(baseline("pro-gnn", epochs=3), ProGNN)
    assert PUBLISHED["pubmed", "metattack"].gcn_steps == 30
    with pytest.raises(InputError, match="low_rank must be"):
        ProGNNSettings(low_rank=-1.0)
    with pytest.raises(InputError, match="not fitted"):
        ProGNN(QUICK).predict_proba()


@pytest.mark.gpu
def test_cuda_learns_the_same_kind_of_graph(attacked):
    settings = ProGNNSettings(epochs=100, learning_rate=0.01, smoothness=1.0)
    fitted = ProGNN(settings).fit(attacked, seed=0, device="cuda")
    assert (fitted.predict() == attacked.labels)[attacked.test].mean() > 0.85
    assert fitted.adjacency_.is_cuda
