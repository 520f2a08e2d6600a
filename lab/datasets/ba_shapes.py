"""BA-Shapes with its ground truth, the edges of the houses; and the one draw that PGExplainer published.

`ba-shapes-pgexplainer` comes from "Parameterized Explainer for Graph Neural Network" (https://arxiv.org/abs/2011.04573);
the authors of SE-GNN used it. It has 20 random edges where the recipe of `ba-shapes` has 70, and a split of its own.
The classes are named and numbered as in `ba-shapes`, and the features are made in the same way.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lab.datasets.known_arrays import read_known_arrays
from lab.truth import GroundTruth, in_order_of_edges
from se_gnn.datasets import embedded
from se_gnn.datasets.embedded import (
    BASE,
    BOTTOM,
    CLASS_NAMES,
    HOUSE_EDGES,
    HOUSE_LABELS,
    MIDDLE,
    NODE_NAMES,
    NUM_BASE,
    TOP,
    degrees_and_triangles,
)
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray

FILE = RawFile(
    "syn1.npz",
    url=None,
    sha256=None,  # whoever packs the arrays again gets other bytes: their values are checked
    origin="convert dataset/syn1.pkl of https://github.com/flyingdoog/PGExplainer (docs/reference/datasets.md names "
    "the arrays); `ba-shapes` draws a graph like it and needs no file",
)
ARRAYS = ("edge_index", "motif_edge", "label", "train_mask", "val_mask", "test_mask")
SHA256 = "3a5e86d3594337a0feb0e5ac42bf020216f9e5ddffc44a4546c6b7d48bded3aa"
CLASSES = np.array([BASE, MIDDLE, BOTTOM, TOP])  # our class for each label of the file


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The published graph and split, whatever the ``seed``."""
    return load_with_truth(name, seed=seed, data_dir=data_dir)[0]


def load_with_truth(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> tuple[Graph, GroundTruth]:
    """A draw of `ba-shapes`, or the published one, and which of its edges are those of houses."""
    if name == "ba-shapes":
        graph = embedded.load(name, seed=seed)
        return graph, GroundTruth(motif_edges=house_edges(graph.edges.ends))
    content = read_verified([FILE], "ba_shapes", data_dir=data_dir)[FILE.name]
    arrays = read_known_arrays(content, ARRAYS, sha256=SHA256, where=FILE.name)
    edges = arrays["edge_index"].T.astype(np.int64)
    graph = Graph.build(
        name=name,
        features=degrees_and_triangles(edges, len(arrays["label"])),
        feature_names=("degree", "triangles"),
        edges=edges,
        labels=CLASSES[arrays["label"]],
        class_names=CLASS_NAMES,
        node_names=NODE_NAMES,
        train=arrays["train_mask"],
        validation=arrays["val_mask"],
        test=arrays["test_mask"],
    )
    return graph, GroundTruth(motif_edges=in_order_of_edges(graph, edges, arrays["motif_edge"]).astype(bool))


def house_edges(edges: IntArray) -> BoolArray:
    """Whether canonical edges are planted edges of a house, [E]; a random edge within a house is not."""
    house, place = np.divmod(edges - NUM_BASE, len(HOUSE_LABELS))
    planted = (place[:, None] == HOUSE_EDGES).all(axis=2).any(axis=1)
    inside: BoolArray = (edges[:, 0] >= NUM_BASE) & (house[:, 0] == house[:, 1]) & planted
    return inside
