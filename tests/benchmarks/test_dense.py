"""The dense baseline computes what se-gnn computes, so that their times may be compared."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks import ours
from benchmarks.baselines.dense import DenseTraining, DenseVoter, local_edges, overall_similarity
from benchmarks.graphs import generated_graph
from se_gnn.graph import Graph, local_graphs
from se_gnn.similarity import Similarity


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A small graph in which two labeled and some other nodes have no edges."""
    full = generated_graph(140, seed=3, labeled_a_class=4)
    lonely = np.concatenate([full.train[:2], full.validation[:1], full.test[:2]])
    return full.with_edges(full.edges.ends[~np.isin(full.edges.ends, lonely).any(axis=1)][::3])


@pytest.fixture(scope="module")
def config(graph):
    return ours.settings_for(graph, preset="authors", settings=["num_nearest=9", "hidden_size=16"])


def test_local_edges_are_the_edges_of_the_local_graphs(graph, config):
    nodes = np.arange(graph.num_nodes)
    dense = DenseVoter(graph, config).local_edges(nodes)
    sparse = local_graphs(graph, nodes, config.similarity.hops)
    for i in nodes:
        expected = graph.edges.ends[sparse.row(i)].tolist()
        assert sorted(dense.edges[dense.owner == i].tolist()) == expected


def test_dense_similarities_equal_ours_in_values_and_gradients(graph, config):
    nodes, settings = graph.test, config.similarity
    h = torch.randn(graph.num_nodes, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
    precise = h.detach().double().requires_grad_()  # distances by a matrix product lose half of the digits
    voter = DenseVoter(graph, config)
    dense = overall_similarity(precise, voter.local_edges(nodes), voter.labeled, settings.node_weight)
    similarity = Similarity(graph, h, settings)
    similarities = similarity.compare(*(similarity.items(part) for part in (nodes, graph.train)))
    torch.testing.assert_close(similarities.overall.double(), dense, atol=1e-5, rtol=1e-5)
    weights = torch.randn(dense.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (dense * weights).sum().backward()
    (similarities.overall * weights.float()).sum().backward()
    torch.testing.assert_close(h.grad.double(), precise.grad, atol=1e-4, rtol=1e-4)


def test_dense_training_equals_ours_epoch_by_epoch(graph, config):
    step, dense = ours.epochs(graph, config, seed=0), DenseTraining(graph, config, seed=0)
    for _ in range(3):
        expected, got = step(), dense.step()
        for name in ("loss", "class_loss", "val_accuracy", "val_loss"):
            assert got[name] == pytest.approx(expected[name], abs=2e-3), name


def test_dense_scores_node_by_node_equal_ours(graph, config):
    trained = ours.trained_model(graph, config, seed=0, num_epochs=2)
    voter = DenseVoter(graph, config)
    expected = ours.scoring(trained, graph.test)().probabilities
    by_node = voter.one_by_one(trained.embeddings, graph.test)
    by_batch = voter.probabilities(trained.embeddings, voter.batches(graph.test))
    np.testing.assert_allclose(by_node.numpy(), expected, atol=2e-3)
    np.testing.assert_allclose(by_batch.numpy(), expected, atol=2e-3)


def test_dense_formulation_refuses_settings_it_does_not_compute(graph):
    with pytest.raises(ValueError, match="preset authors"):
        DenseVoter(graph, ours.settings_for(graph, preset="paper"))


def test_every_edge_of_a_local_graph_is_counted_once_in_each_local_graph_it_lies_in():
    edge_index = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    local = local_edges(np.array([0, 3]), edge_index, hops=2, num_nodes=4)
    assert local.edges.tolist() == [[0, 1], [1, 2], [1, 2], [2, 3]]
    assert local.owner.tolist() == [0, 0, 1, 1]
