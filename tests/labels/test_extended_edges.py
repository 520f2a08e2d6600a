"""New nodes of a graph whose edges carry something, and of one with several kinds of nodes, as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues
from se_gnn.graph.extend import extended_graph
from se_gnn.labels.extension import new_nodes_from_arrays
from strategies import random_graph


@pytest.fixture
def graph():
    values = EdgeValues(direction=np.ones(26, np.int8), weight=np.arange(1, 27, dtype=np.float32))
    kinds = np.arange(16) % 2
    labels, train = np.where(kinds == 0, np.arange(16) // 2 % 2, -1), np.arange(0, 16, 2)
    details = {"labels": labels, "train": train, "validation": [], "test": []}
    return random_graph(edge_values=values, node_types=kinds, node_type_names=["person", "firm"], **details)


def test_new_edges_bring_their_values_and_new_nodes_their_kind(graph):
    values = EdgeValues(direction=np.ones(1, np.int8), weight=np.array([99], np.float32))
    new = new_nodes_from_arrays(graph, np.ones((1, 5)), [[16, 3]], edge_values=values, node_types=["firm"])
    larger = extended_graph(graph, new)
    (edge,) = np.flatnonzero(larger.edge_values.weight == 99)
    assert larger.edges.ends[edge].tolist() == [3, 16]
    assert larger.edge_values.direction[edge] == -1
    assert larger.node_types[-1] == 1


def test_new_edges_of_which_nothing_is_known_are_neutral(graph):
    new = new_nodes_from_arrays(graph, np.ones((1, 5)), [[16, 3]], node_types=[0])
    larger = extended_graph(graph, new)
    (edge,) = np.flatnonzero((larger.edges.ends == [3, 16]).all(axis=1))
    assert larger.edge_values.direction[edge] == 0
    assert larger.edge_values.weight[edge] == np.median(graph.edge_values.weight)


def test_values_and_kinds_that_do_not_fit_are_refused(graph):
    with pytest.raises(InputError, match="node_types must say what each new node is"):
        extended_graph(graph, new_nodes_from_arrays(graph, np.ones((1, 5)), [[16, 3]]))
    with pytest.raises(InputError, match="node_types must be among person, firm, got 'bank'"):
        new_nodes_from_arrays(graph, np.ones((1, 5)), [[16, 3]], node_types=["bank"])
    other = EdgeValues(weight=np.ones(1, np.float32))
    new = new_nodes_from_arrays(graph, np.ones((1, 5)), [[16, 3]], edge_values=other, node_types=[0])
    with pytest.raises(InputError, match="the same parts to be joined"):
        extended_graph(graph, new)
    plain = random_graph()
    with pytest.raises(InputError, match="new edges have weight, but those of graph do not"):
        extended_graph(plain, new_nodes_from_arrays(plain, np.ones((1, 5)), [[16, 3]], edge_values=other))
