"""What belongs to a node or an edge travels with it when other libraries cut and reorder a graph."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.tables.networkx import from_networkx, to_networkx
from se_gnn.tables.pyg import from_hetero, from_pyg, to_hetero, to_pyg
from strategies import assert_same_graph, changed, graphs_with_names, random_graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch_geometric.data", exc_type=ImportError)


def some_nodes(graph: Graph, data: st.DataObject) -> list[int]:
    """Some of the nodes, at least one, in any order."""
    order = data.draw(st.permutations(range(graph.num_nodes)))
    return order[: data.draw(st.integers(1, graph.num_nodes))]


@settings(max_examples=40)
@given(graph=graphs_with_names(), data=st.data())
def test_a_cut_and_reordered_data_is_that_part_of_the_graph(graph, data):
    nodes = some_nodes(graph, data)
    assert_same_graph(from_pyg(to_pyg(graph).subgraph(torch.tensor(nodes))), graph.subgraph(nodes))


@settings(max_examples=40)
@given(graph=graphs_with_names(), data=st.data())
def test_a_cut_and_reordered_networkx_graph_is_that_part_of_the_graph(graph, data):
    nodes, whole = some_nodes(graph, data), to_networkx(graph)
    names = [graph.node_names[node] for node in nodes]
    part = type(whole)(**whole.graph)
    part.add_nodes_from((name, whole.nodes[name]) for name in names)
    part.add_edges_from(whole.subgraph(names).edges(data=True))
    assert_same_graph(from_networkx(part), graph.subgraph(nodes))


@settings(max_examples=40)
@given(graph=graphs_with_names(), data=st.data())
def test_a_cut_hetero_data_is_that_part_of_the_graph(graph, data):
    if graph.node_types is None:
        types = np.arange(graph.num_nodes, dtype=np.int32) % 2
        split = {part: own[types[own] == 0] for part, own in graph.split.items()}
        labels = np.where(types == 0, graph.labels, UNKNOWN)
        graph = changed(graph, node_types=types, node_type_names=("a", "b"), labels=labels, **split)
    nodes = np.sort(some_nodes(graph, data))
    whole = to_hetero(graph)
    kept = {name: torch.from_numpy(np.isin(whole[name].node_id.numpy(), nodes)) for name in graph.node_type_names}
    assert_same_graph(from_hetero(whole.subgraph(kept)), graph.subgraph(nodes))


def named() -> Graph:
    return random_graph(captions=[f"Person {i}" for i in range(16)])


def test_names_that_cannot_be_matched_with_nodes_are_refused():
    data = to_pyg(named())
    del data.node_id
    with pytest.raises(InputError, match="node_id is missing, so that nothing in about can be matched: keep it, or"):
        from_pyg(data)
    del data.about
    assert from_pyg(data).captions is None


def test_two_nodes_with_one_name_are_refused():
    data = to_pyg(named())
    data.node_id = torch.zeros(16, dtype=torch.long)
    with pytest.raises(InputError, match="node_id must name each node once, 0 comes again"):
        from_pyg(data)


def test_an_edge_that_was_added_without_a_weight_is_refused_by_name():
    from se_gnn.graph import EdgeValues

    values = EdgeValues(weight=np.ones(2, np.float32))
    graph = random_graph(edges=[[0, 1], [1, 2]], edge_values=values)
    theirs = to_networkx(graph)
    theirs.add_edge("0", "2")
    with pytest.raises(InputError, match=r"edge \('0', '2'\) has no attribute 'weight', which all others have"):
        from_networkx(theirs)


def test_a_node_that_was_removed_takes_its_row_with_it():
    theirs = to_networkx(named())
    theirs.remove_node("3")
    graph = from_networkx(theirs)
    assert graph.num_nodes == 15
    assert graph.caption(graph.node_id("4")) == "Person 4"
