"""`syn-cora-authors`: a Syn-Cora graph made by the generator that the authors of SE-GNN published.

`SynData.py` of https://github.com/EnyanDai/SEGNN with seed 15 and 3 links a motif. Its counts are those of the graph
that the authors released, 1,895 nodes and 2,769 edges; 12 of the edges are self-loops, which are left out here.
`syn-cora` is our own generator.
"""

from __future__ import annotations

from pathlib import Path

import scipy.sparse as sp

from lab.datasets.known_arrays import read_known_arrays
from lab.truth import GroundTruth
from se_gnn.datasets.public import CORA_TOPICS
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph

FILE = RawFile(
    "syn_cora_seed15_connect3.npz",
    url=None,
    sha256=None,  # whoever packs the arrays again gets other bytes: their values are checked
    origin="run SynData.py of https://github.com/EnyanDai/SEGNN with seed=15 and connect=3 and store its graph "
    "(docs/reference/datasets.md names the arrays); `syn-cora` generates a graph like it and needs Cora only",
)
ARRAYS = ("x", "y", "node_role", "edges", "edge_role", "train_mask", "val_mask", "test_mask")
SHA256 = "88da09be7733312d38b82a1bbbc7a6a8fa04ede8043c0395d6c1fcc1a0cd0885"


def load(name: str = "syn-cora-authors", *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The graph and its split, whatever the ``seed``."""
    return load_with_truth(name, data_dir=data_dir)[0]


def load_with_truth(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> tuple[Graph, GroundTruth]:
    """The graph, and the roles of its nodes and edges."""
    content = read_verified([FILE], "syn_cora", data_dir=data_dir)[FILE.name]
    arrays = read_known_arrays(content, ARRAYS, sha256=SHA256, where=FILE.name)
    graph = Graph.build(
        name=name,
        features=sp.csr_array(arrays["x"]),
        edges=arrays["edges"],
        labels=arrays["y"],
        class_names=CORA_TOPICS,
        train=arrays["train_mask"],
        validation=arrays["val_mask"],
        test=arrays["test_mask"],
    )
    return graph, GroundTruth.of_roles(graph, arrays["node_role"], arrays["edges"], arrays["edge_role"])
