"""What the default is compared with on graphs of several kinds of nodes."""

from __future__ import annotations

import numpy as np
import pytest

from reproduce.measures.kinds import joined_by_paths
from reproduce.measures.rgcn import rgcn_probabilities
from se_gnn.graph import EdgeValues, Graph
from se_gnn.tables.node_types import NodesOfType, join_types


@pytest.fixture
def library():
    """Six papers of two classes; an author writes papers of one class, and so does a venue hold them."""
    joined = join_types(
        {
            "paper": NodesOfType(names=[f"p{i}" for i in range(6)], features=np.eye(6, 2, dtype=np.float32)),
            "author": NodesOfType(names=["a", "b"]),
            "venue": NodesOfType(names=["v", "w"]),
        }
    )
    writes = [[i, 6 + i % 2] for i in range(6)]
    at = [[i, 8 + i % 2] for i in range(6)]
    return Graph.build(
        features=joined.features.whole(),
        feature_names=joined.feature_names,
        edges=[*writes, *at],
        edge_values=EdgeValues(type=np.repeat([0, 1], 6).astype(np.int32), type_names=("writes", "at")),
        labels=[0, 1, 0, 1, 0, 1, -1, -1, -1, -1],
        node_types=joined.types,
        node_type_names=joined.type_names,
        train=[0, 1],
        validation=[2, 3],
        test=[4, 5],
    )


def test_papers_that_share_an_author_or_a_venue_are_joined(library):
    graph = joined_by_paths(library)
    assert graph.num_nodes == 6
    assert graph.edge_values.type_names == ("writes", "at")
    same = [[0, 2], [0, 4], [1, 3], [1, 5], [2, 4], [3, 5]]
    for kind in (0, 1):
        assert graph.edges.ends[graph.edge_values.type == kind].tolist() == same
    assert (graph.train.tolist(), graph.test.tolist()) == ([0, 1], [4, 5])
    assert graph.num_features == 3  # the mark of papers and their two attributes


def test_an_rgcn_learns_from_the_other_kinds(library):
    pytest.importorskip("torch_geometric.nn", exc_type=ImportError)
    settings = {"hidden_size": 8, "dropout": 0.0, "learning_rates": [0.05], "weight_decay": 0.0, "epochs": 40}
    found = rgcn_probabilities(library, settings, seed=0)
    assert found[library.test].argmax(axis=1).tolist() == [0, 1]
    assert np.array_equal(found, rgcn_probabilities(library, settings, seed=0))
