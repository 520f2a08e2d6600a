"""`amazon-photo`, `amazon-computers`, `coauthor-cs`, `coauthor-physics`: larger and denser graphs.

"Pitfalls of Graph Neural Network Evaluation" (https://arxiv.org/abs/1811.05868). Amazon: a node is a product, an edge
joins products that are often bought together, the features are words of its reviews. Coauthor: a node is an author, an
edge joins two who wrote a paper together, the features are keywords of the papers. No split is published with them.
A name that ends in `-100` has 100 labeled nodes in all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from se_gnn.datasets.npz import read_graph
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph
from se_gnn.graph.split import split_by_class, split_by_count

URL = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
TRAIN_PER_CLASS = 20
VAL_PER_CLASS = 30
FEW = "-100"  # the end of a name: 100 labeled nodes in all
FEW_COUNTS = {"train": 100, "validation": 500, "test": 1000}


def _file(name: str, sha256: str | None) -> RawFile:
    return RawFile(name, f"{URL}/{name}", sha256)


# folder inside a data folder, and the file; None: we have not seen the file, so that nothing is known to check it by
SOURCES = {
    "amazon-photo": (
        "Amazon/Photo/raw",
        _file("amazon_electronics_photo.npz", "4f552b0f6631b465c417b05db89d9d280fa7d01061b89fcc4602d88dd82ed22d"),
    ),
    "amazon-computers": ("Amazon/Computers/raw", _file("amazon_electronics_computers.npz", None)),
    "coauthor-cs": ("Coauthor/CS/raw", _file("ms_academic_cs.npz", None)),
    "coauthor-physics": (
        "Coauthor/Physics/raw",
        _file("ms_academic_phy.npz", "3da759527a8d4f316f24edf55c4f998850b1b10d53f06cb817e9278593395916"),
    ),
}


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """A graph with sparse features and a split by ``seed``.

    20 nodes per class are labeled, 30 per class validate, the others test; with 100 labeled nodes in all, drawn by the
    shares of the classes, 500 validate and 1,000 test.
    """
    folder, file = SOURCES[name.removesuffix(FEW)]
    raw = read_graph(read_verified([file], folder, data_dir=data_dir)[file.name], where=file.name)
    generator = np.random.default_rng(seed)
    if name.endswith(FEW):
        split = split_by_count(raw.labels, **FEW_COUNTS, generator=generator)
    else:
        split = split_by_class(raw.labels, train=TRAIN_PER_CLASS, validation=VAL_PER_CLASS, generator=generator)
    return Graph.build(
        name=name,
        features=raw.features,
        edges=raw.edges,
        labels=raw.labels,
        class_names=[f"class {label}" for label in range(raw.labels.max() + 1)],
        train=split.train,
        validation=split.validation,
        test=split.test,
    )
