"""`citeseer`, `cora-nettack`: their components and their split."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from se_gnn.datasets import load_dataset


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "class_sizes", "split"),
    [
        ("citeseer", 2110, 3668, 3703, [115, 463, 388, 304, 532, 308], (210, 211, 1688)),
        ("cora-nettack", 2485, 5069, 1433, [285, 406, 726, 379, 214, 131, 344], (247, 249, 1988)),
    ],
)
def test_sizes_are_those_of_the_component_and_of_the_published_split(
    data_dir, name, nodes, edges, features, class_sizes, split
):
    graph = load_dataset(name, data_dir=data_dir)
    assert (graph.name, graph.num_nodes, graph.num_edges, graph.num_features) == (name, nodes, edges, features)
    assert np.bincount(graph.labels).tolist() == class_sizes
    assert (len(graph.train), len(graph.validation), len(graph.test)) == split
    assert sum(split) == nodes - 1  # one paper is in no part
    assert (graph.degrees > 0).all()
    assert len(graph.class_names) == len(class_sizes)


def test_the_component_is_connected(data_dir):
    graph = load_dataset("citeseer", data_dir=data_dir)
    assert sp.csgraph.connected_components(abs(graph.adjacency) + sp.eye_array(graph.num_nodes))[0] == 1


def test_topics_of_cora_have_the_same_names_in_both_files(data_dir):
    """The two files number topics and papers differently: a paper is known by its words."""
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    topics = []
    for name in ("cora-nettack", "cora"):
        graph = load_dataset(name, data_dir=data_dir)
        words = np.split(graph.features.indices, graph.features.indptr[1:-1])
        topics.append({tuple(row): graph.class_names[label] for row, label in zip(words, graph.labels)})
    component, whole = topics
    common = component.keys() & whole.keys()
    assert len(common) > 2400
    assert sum(component[words] == whole[words] for words in common) > 0.99 * len(common)  # two papers may share words
