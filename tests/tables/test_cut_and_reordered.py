"""What belongs to a node or an edge travels with it when other libraries cut and reorder a graph."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.tables.networkx import from_networkx, to_networkx
from se_gnn.tables.pyg import from_pyg, to_pyg
from strategies import random_graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch_geometric.data", exc_type=ImportError)


def named() -> Graph:
    return random_graph(captions=[f"Person {i}" for i in range(16)])


def test_names_that_cannot_be_matched_with_nodes_are_refused():
    data = to_pyg(named())
    del data.node_id
    with pytest.raises(InputError, match="node_id is missing, so nothing in about can be matched: keep it, or"):
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
