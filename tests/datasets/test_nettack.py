"""`citeseer`, `cora-nettack` and their attacked versions: components, split, what the attack changed."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import scipy.sparse as sp

from se_gnn.datasets import load_dataset, metattack
from se_gnn.errors import InputError


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


@pytest.mark.parametrize("name", ["citeseer", "cora"])
@pytest.mark.parametrize("rate", metattack.RATES)
def test_an_attack_changed_its_share_of_the_edges_and_nothing_else(data_dir, name, rate):
    clean = metattack.load_attacked(name, 0, data_dir=data_dir)
    attacked = load_dataset(f"{name}-metattack-{rate:g}", data_dir=data_dir)
    before, after = (set(map(tuple, graph.edges.tolist())) for graph in (clean, attacked))
    assert len(before ^ after) == int(rate * len(before))
    assert len(after - before) > 0.95 * len(before ^ after)  # nearly all are added
    assert attacked.name == f"{name}-metattack-{rate:g}"
    for field in ("labels", "train", "validation", "test"):
        np.testing.assert_array_equal(getattr(attacked, field), getattr(clean, field))
    assert (attacked.features != clean.features).nnz == 0


@pytest.mark.parametrize(
    ("name", "rate", "text"),
    [
        ("pubmed", 0.1, "attacked graphs are published for citeseer and cora, got 'pubmed'"),
        ("cora", 0.3, "rate must be one of 0, 0.05, 0.1, 0.15, 0.2, 0.25, got 0.3"),
    ],
)
def test_an_attack_that_nobody_published_is_refused(name, rate, text):
    with pytest.raises(InputError, match=re.escape(text)):
        metattack.load_attacked(name, rate)


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        ([[0, 1, 0], [0, 0, 0], [0, 0, 0]], "must be symmetric"),
        ([[0, 2, 0], [2, 0, 0], [0, 0, 0]], "with entries 0 and 1"),
        ([[1, 1, 0], [1, 0, 0], [0, 0, 0]], "a diagonal of zeros"),
        ([[0, 1], [1, 0]], "must join the 3 nodes of the clean graph, got shape (2, 2)"),
    ],
)
def test_an_adjacency_that_is_no_undirected_graph_is_refused(matrix, text):
    content = io.BytesIO()
    sp.save_npz(content, sp.csr_array(matrix))
    with pytest.raises(InputError, match=re.escape(text)):
        metattack._read_adjacency(content.getvalue(), 3, where="x.npz")
