"""`ba-shapes-pgexplainer`: the one draw of BA-Shapes that PGExplainer published and the SE-GNN authors used.

"Parameterized Explainer for Graph Neural Network" (https://arxiv.org/abs/2011.04573). It has 20 random edges where the
recipe of `ba-shapes` has 70, and a split of its own. The classes are named and numbered as in `ba-shapes`, and the
features are made in the same way.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from se_gnn.datasets.ba_shapes import BASE, BOTTOM, CLASS_NAMES, MIDDLE, NODE_NAMES, TOP, degrees_and_triangles
from se_gnn.datasets.npz import read_known_arrays
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph

FILE = RawFile(
    "syn1.npz",
    url=None,
    sha256=None,  # whoever packs the arrays again gets other bytes: their values are checked
    origin="convert dataset/syn1.pkl of https://github.com/flyingdoog/PGExplainer (docs/data.md names the arrays); "
    "`ba-shapes` draws a graph like it and needs no file",
)
ARRAYS = ("edge_index", "motif_edge", "label", "train_mask", "val_mask", "test_mask")
SHA256 = "3a5e86d3594337a0feb0e5ac42bf020216f9e5ddffc44a4546c6b7d48bded3aa"
CLASSES = np.array([BASE, MIDDLE, BOTTOM, TOP])  # our class for each label of the file


def load(name: str = "ba-shapes-pgexplainer", *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The published graph and split, whatever the ``seed``."""
    content = read_verified([FILE], "ba_shapes", data_dir=data_dir)[FILE.name]
    arrays = read_known_arrays(content, ARRAYS, sha256=SHA256, where=FILE.name)
    edges = arrays["edge_index"].T.astype(np.int64)
    return Graph.build(
        name=name,
        features=degrees_and_triangles(edges, len(arrays["label"])),
        feature_names=("degree", "triangles"),
        edges=edges,
        motif_edges=arrays["motif_edge"],
        labels=CLASSES[arrays["label"]],
        class_names=CLASS_NAMES,
        node_names=NODE_NAMES,
        train=arrays["train_mask"],
        validation=arrays["val_mask"],
        test=arrays["test_mask"],
    )
