"""Local graphs against NetworkX, and their symmetries."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from se_gnn.graph import Graph, local_graphs


@st.composite
def graphs(draw, max_nodes=12):
    """Small graphs, often with isolated nodes."""
    num_nodes = draw(st.integers(1, max_nodes))
    shape = st.tuples(st.integers(0, 2 * num_nodes), st.just(2))
    pairs = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, num_nodes - 1)))
    return Graph.build(features=np.ones((num_nodes, 1)), edges=pairs, labels=np.zeros(num_nodes, int))


def edge_sets(graph, local):
    return [{tuple(edge) for edge in graph.edges.ends[local.row(i)].tolist()} for i in range(len(local))]


@given(graph=graphs(), hops=st.integers(1, 3))
def test_a_local_graph_has_the_edges_of_the_ego_graph(graph, hops):
    reference = nx.Graph()
    reference.add_nodes_from(range(graph.num_nodes))
    reference.add_edges_from(graph.edges.ends.tolist())
    local = local_graphs(graph, np.arange(graph.num_nodes), hops)
    for node, found in enumerate(edge_sets(graph, local)):
        ego = nx.ego_graph(reference, node, radius=hops)
        assert found == {(min(edge), max(edge)) for edge in ego.edges}


@given(graph=graphs(), hops=st.integers(1, 3))
def test_edge_ids_of_a_local_graph_ascend_and_sizes_count_them(graph, hops):
    local = local_graphs(graph, np.arange(graph.num_nodes), hops)
    assert local.ptr[-1] == len(local.edge_ids)
    for i in range(len(local)):
        assert (np.diff(local.row(i)) > 0).all()
        assert local.sizes[i] == len(local.row(i))


@given(graph=graphs(), hops=st.integers(1, 3), data=st.data())
def test_permuting_the_nodes_permutes_the_local_graphs(graph, hops, data):
    new_id = np.array(data.draw(st.permutations(range(graph.num_nodes))), dtype=np.int64)
    permuted = graph.with_edges(new_id[graph.edges.ends])
    original = edge_sets(graph, local_graphs(graph, np.arange(graph.num_nodes), hops))
    moved = edge_sets(permuted, local_graphs(permuted, new_id, hops))
    for before, after in zip(original, moved):
        assert after == {tuple(sorted((int(new_id[u]), int(new_id[v])))) for u, v in before}


@given(graph=graphs(), hops=st.integers(1, 3), data=st.data())
def test_a_local_graph_does_not_depend_on_which_others_are_asked_for(graph, hops, data):
    nodes = np.array(data.draw(st.lists(st.integers(0, graph.num_nodes - 1), max_size=20)), dtype=np.int64)
    every = local_graphs(graph, np.arange(graph.num_nodes), hops)
    some, selected = local_graphs(graph, nodes, hops), every.select(nodes)
    for field in ("nodes", "ptr", "edge_ids"):
        np.testing.assert_array_equal(getattr(some, field), getattr(selected, field))
    assert some.union().tolist() == sorted({int(edge) for node in nodes for edge in every.row(node)})


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_node_without_edges_has_an_empty_local_graph(hops):
    graph = Graph.build(features=np.ones((3, 1)), edges=[[0, 1]], labels=[0, 0, 0])
    assert local_graphs(graph, np.array([2, 0, 2]), hops).sizes.tolist() == [0, 1, 0]


def test_a_triangle_closed_at_the_rim_belongs_to_the_local_graph():
    graph = Graph.build(features=np.ones((4, 1)), edges=[[0, 1], [0, 2], [1, 2], [2, 3]], labels=[0] * 4)
    assert local_graphs(graph, np.array([0]), hops=1).row(0).tolist() == [0, 1, 2]


def test_no_nodes_asked_for_gives_no_local_graphs():
    graph = Graph.build(features=np.ones((2, 1)), edges=[[0, 1]], labels=[0, 0])
    local = local_graphs(graph, np.empty(0, np.int64), hops=2)
    assert (len(local), local.ptr.tolist(), local.union().tolist()) == (0, [0], [])
