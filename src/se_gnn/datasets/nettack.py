"""`citeseer`, `cora-nettack`: the citation graphs of the attack literature, with the split of Pro-GNN.

The files of "Adversarial Attacks on Neural Networks for Graph Data" (https://arxiv.org/abs/1805.07984), cut down to
their largest connected component as in "Graph Structure Learning for Robust Graph Neural Networks"
(https://arxiv.org/abs/2005.10203), whose 10 / 10 / 80 split comes with them. This is the Citeseer of the SE-GNN paper.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from se_gnn.datasets.npz import read_graph
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray

GRAPH_URL = "https://raw.githubusercontent.com/danielzuegner/gnn-meta-attack/master/data"
SPLIT_URL = "https://raw.githubusercontent.com/ChandlerBang/Pro-GNN/master/splits"

GRAPH_SHA256 = {
    "citeseer": "36e9a5bbe84eaa0c3c6b226f8b27450bb79246a5df22c375b3bacddb856efa8e",
    "cora": "398a5c8f949a4f2a3c8fb248f777d2756c654de714762d6a18c04eaa19a96271",
}
SPLIT_SHA256 = {
    "citeseer": "12ab5787371b8826691d0c6f33ba7c250dff2754a0f571578bc83920594bb9a3",
    "cora": "40a3e7e4025c349095d425c597a9db53b2ddd2437f0d5ccf7b46417d912f1db0",
}
FILE_NAMES = {"citeseer": "citeseer", "cora-nettack": "cora"}  # data set: X of X.npz

# in the order of the labels, as the files themselves say (in a pickle, which is not read)
CLASS_NAMES = {
    "citeseer": ("AI", "Agents", "DB", "HCI", "IR", "ML"),
    "cora-nettack": (
        "Case Based",
        "Genetic Algorithms",
        "Neural Networks",
        "Probabilistic Methods",
        "Reinforcement Learning",
        "Rule Learning",
        "Theory",
    ),
}


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The largest connected component with the published split, whatever the ``seed``.

    One paper of each graph is in no part of the split. Nodes are numbered as the attacked graphs number them.
    """
    file_name = FILE_NAMES[name]
    graph_file = RawFile(f"{file_name}.npz", f"{GRAPH_URL}/{file_name}.npz", GRAPH_SHA256[file_name])
    split_name = f"{file_name}_prognn_splits.json"
    split_file = RawFile(split_name, f"{SPLIT_URL}/{split_name}", SPLIT_SHA256[file_name])
    content = read_verified([graph_file], "nettack", data_dir=data_dir)[graph_file.name]
    split = json.loads(read_verified([split_file], "splits", data_dir=data_dir)[split_name])
    raw = read_graph(content, where=graph_file.name)
    nodes = largest_component(raw.edges, len(raw.labels))
    inside = np.isin(raw.edges, nodes).all(axis=1)
    return Graph.build(
        name=name,
        features=raw.features[nodes],
        edges=np.searchsorted(nodes, raw.edges[inside]),
        labels=raw.labels[nodes],
        class_names=CLASS_NAMES[name],
        train=split["idx_train"],
        validation=split["idx_val"],
        test=split["idx_test"],
    )


def largest_component(edges: IntArray, num_nodes: int) -> IntArray:
    """Nodes of the largest connected component, ascending; the first found where two are of one size.

    >>> largest_component(np.array([[0, 3], [4, 1], [1, 2]]), 6).tolist()
    [1, 2, 4]
    """
    u, v = edges.T
    adjacency = sp.csr_array((np.ones(len(edges)), (u, v)), shape=(num_nodes, num_nodes))
    _, component = connected_components(adjacency, directed=False)
    return np.flatnonzero(component == np.bincount(component).argmax())
