"""What the encoder takes from edges that carry something: a node's own edges, and weights in a step."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from lab.dense import dense_propagation
from se_gnn.encoder import EncoderInputs, encoder_features, own_edge_columns, propagation
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.edges import Edges
from se_gnn.model import SEGNN
from se_gnn.settings import EncoderSettings, Settings

READING = EncoderSettings(read_edges=True, weighted_steps=True)


@pytest.fixture
def graph():
    """a -> b twice, c -> a, and b - c without a direction."""
    values = EdgeValues(
        direction=np.array([1, 1, 1, 0], np.int8),
        weight=np.array([1, 3, 2, 2], np.float32),
        type=np.array([0, 1, 0, 1], np.int32),
        type_names=("pays", "knows"),
        attributes=np.array([[1.0], [3.0], [5.0], [7.0]], np.float32),
        attribute_names=("amount",),
    )
    edges = [[0, 1], [0, 1], [2, 0], [1, 2]]
    return Graph.build(features=np.eye(4), edges=edges, labels=[0, 1, -1, -1], edge_values=values)


def columns_of(graph):
    """Each column that nodes read of their edges, by its name."""
    names = [column.name for column in own_edge_columns(graph, READING)]
    read = np.asarray(encoder_features(graph, READING))[:, graph.num_features :]
    assert read.shape == (graph.num_nodes, len(names))
    return dict(zip(names, read.T.tolist()))


def test_a_node_reads_how_many_edges_of_each_direction_and_type_it_has(graph):
    found = columns_of(graph)
    assert np.expm1(found["pays out"]) == pytest.approx([1, 0, 1, 0])
    assert np.expm1(found["pays in"]) == pytest.approx([1, 1, 0, 0])
    assert np.expm1(found["knows out"]) == pytest.approx([1, 1, 1, 0])  # no direction: both sides
    assert np.expm1(found["weight, knows out"]) == pytest.approx([1.5, 1, 1, 0])  # the mean weight is 2


def test_a_node_reads_the_mean_of_what_its_edges_carry_and_0_without_edges(graph):
    found = columns_of(graph)
    assert found["amount, mean out"] == pytest.approx([2, 7, 6, 0])
    assert found["amount, mean in"] == pytest.approx([5, 11 / 3, 7, 0])


def test_nothing_is_read_where_edges_carry_nothing_or_the_settings_say_so(graph):
    assert encoder_features(graph, EncoderSettings()) is graph.features
    plain = graph.replace(edges=Edges.build(graph.edges.ends, graph.num_nodes))
    assert encoder_features(plain, READING) is plain.features
    assert SEGNN.for_graph(plain, Settings.of("best").resolve()).network.num_features == 4
    assert SEGNN.for_graph(graph, Settings.of("best").resolve()).network.num_features == 4 + 2 * 5


@pytest.mark.parametrize("weighted", [True, False])
def test_a_step_weighs_neighbors_by_the_edges_and_parallel_edges_add_up(graph, weighted):
    inputs = EncoderInputs.from_graph(graph, dataclasses.replace(READING, weighted_steps=weighted))
    weights = graph.edge_values.weight / 2 if weighted else np.ones(4, np.float32)
    adjacency = torch.zeros(4, 4)
    for (u, v), weight in zip(graph.edges.ends, weights):
        adjacency[u, v] += weight
        adjacency[v, u] += weight
    expected = dense_propagation(adjacency)
    torch.testing.assert_close(inputs.propagation @ torch.eye(4), expected)


def test_the_mean_of_neighbors_is_weighted_too(graph):
    weights = graph.edge_values.weight
    step = propagation(graph.edges.ends, 4, "mean", weights=weights) @ torch.eye(4)
    torch.testing.assert_close(step[0], torch.tensor([0, 4 / 6, 2 / 6, 0]))
    torch.testing.assert_close(step[3], torch.zeros(4))
