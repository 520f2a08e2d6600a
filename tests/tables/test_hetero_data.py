"""PyG graphs of several kinds of nodes, into ours and back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from se_gnn.errors import InputError
from se_gnn.tables.pyg import from_pyg, to_hetero
from strategies import assert_same_graph, random_graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pyg = pytest.importorskip("torch_geometric.data", exc_type=ImportError)


def library():
    data = pyg.HeteroData()
    data["paper"].x = torch.tensor([[1.0, 0.5], [0.0, 2.0], [3.0, 0.0]])
    data["paper"].y = torch.tensor([0, 1, -1])
    data["paper"].train_mask = torch.tensor([True, True, False])
    data["author"].x = torch.tensor([[7.0], [8.0]])
    data["venue"].num_nodes = 2
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 0, 1], [0, 1, 2]])
    data["author", "writes", "paper"].edge_attr = torch.tensor([0.1, 0.2, 0.3])
    data["paper", "appears at", "venue"].edge_index = torch.tensor([[0, 1, 2], [0, 0, 1]])
    data["paper", "appears at", "venue"].edge_time = torch.tensor([10, 20, 30])
    return data


def test_a_hetero_data_of_a_user_is_a_graph_of_several_kinds():
    graph = from_pyg(library(), directed=True)
    values = graph.edge_values
    assert graph.node_type_names == ("paper", "author", "venue")
    paper, author = np.sqrt([(1.25 + 4 + 9) / 3, (7**2 + 8**2) / 2])  # how long their attributes are
    assert graph.features[:4].ravel().tolist() == pytest.approx(
        [
            *(paper, 1, 0.5, 0, 0, 0, 0, 0),
            *(paper, 0, 2, 0, 0, 0, 0, 0),
            *(paper, 3, 0, 0, 0, 0, 0, 0),
            *(0, 0, 0, author, 7, 0, 0, 0),
        ]
    )
    assert graph.labels.tolist() == [0, 1, -1, -1, -1, -1, -1]
    assert graph.train.tolist() == [0, 1]
    assert values.type_names == ("writes", "appears at")
    assert graph.edges.ends.tolist() == [[0, 3], [0, 5], [1, 3], [1, 5], [2, 4], [2, 6]]
    assert values.direction.tolist() == [-1, 1, -1, 1, -1, 1]  # an author writes a paper, which appears somewhere
    assert values.attributes.ravel().round(1).tolist() == pytest.approx([0.1, 0, 0.2, 0, 0.3, 0], abs=1e-6)
    assert values.time[values.type == 1].tolist() == [10, 20, 30]
    assert_same_graph(from_pyg(to_hetero(graph)), graph)


def test_edges_that_were_added_the_other_way_are_the_same_edges():
    from torch_geometric.transforms import ToUndirected

    assert_same_graph(from_pyg(ToUndirected()(library())), from_pyg(library()))


def test_a_hetero_data_without_labels_or_with_two_labeled_kinds_is_refused():
    data = library()
    data["author"].y = torch.tensor([0, 1])
    with pytest.raises(InputError, match="one node type must have y, got paper, author"):
        from_pyg(data)
    with pytest.raises(InputError, match="has one type of nodes: to_pyg makes a Data of it"):
        to_hetero(random_graph())
