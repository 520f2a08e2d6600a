"""Public graphs that are downloaded, every file checked: citations, products, authors.

- `cora`, `citeseer-planetoid`, `pubmed`: the files of Planetoid, with their public split, "Revisiting Semi-Supervised
  Learning with Graph Embeddings" (https://arxiv.org/abs/1603.08861). A node is a paper, an edge a citation in either
  direction; the features are words (0 / 1, TF-IDF for PubMed). PyTorch Geometric reads the files.
- `citeseer`, `cora-nettack`: the citation graphs of the attack literature, "Adversarial Attacks on Neural Networks for
  Graph Data" (https://arxiv.org/abs/1805.07984), cut down to their largest connected component as in "Graph Structure
  Learning for Robust Graph Neural Networks" (https://arxiv.org/abs/2005.10203), whose 10 / 10 / 80 split comes with
  them. This is the Citeseer of the SE-GNN paper.
- `amazon-photo`, `amazon-computers`, `coauthor-cs`, `coauthor-physics`: larger and denser graphs, "Pitfalls of Graph
  Neural Network Evaluation" (https://arxiv.org/abs/1811.05868). Amazon: a node is a product, an edge joins products
  that are often bought together, the features are words of its reviews. Coauthor: a node is an author, an edge joins
  two who wrote a paper together, the features are keywords of the papers. No split is published with them.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.split import split_by_class
from se_gnn.optional import require
from se_gnn.tables.arrays import PIECES, csr, entries, read_arrays


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """A graph by its name; ``seed`` draws the split where none is published."""
    if name in _PLANETOID:
        return _load_planetoid(name, data_dir)
    if name in _NETTACK:
        return _load_nettack(name, data_dir)
    return _load_benchmark(name, seed, data_dir)


PLANETOID_URL = "https://github.com/kimiyoung/planetoid/raw/master/data"

PLANETOID_SHA256 = {
    "cora": {
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer-planetoid": {
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
    "pubmed": {
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
}


CORA_TOPICS = (
    "Theory", "Reinforcement Learning", "Genetic Algorithms", "Neural Networks", "Probabilistic Methods", "Case Based",
    "Rule Learning",
)  # fmt: skip
CITESEER_FIELDS = ("AI", "ML", "IR", "DB", "Agents", "HCI")

# X of ind.X.graph, the folder inside a data folder, and the classes in the order of the label vectors. The sizes of the
# classes, all different, tell which label vector is which topic. Sources on PubMed disagree which of its two nearly
# equal classes is type 1 diabetes: its classes keep their numbers.
_PLANETOID = {
    "cora": ("cora", "Planetoid/Cora/raw", CORA_TOPICS),
    "citeseer-planetoid": ("citeseer", "Planetoid/CiteSeer/raw", CITESEER_FIELDS),
    "pubmed": ("pubmed", "Planetoid/PubMed/raw", ("class 0", "class 1", "class 2")),
}


def _load_planetoid(name: str, data_dir: str | Path | None) -> Graph:
    """A citation graph with sparse features and the public split.

    The 15 papers of CiteSeer that have neither words nor a label have an unknown label here (other readers put them
    into class 0). Isolated papers stay.
    """
    file_name, folder, classes = _PLANETOID[name]
    data = _read(file_name, read_verified(raw_files(name), folder, data_dir=data_dir))
    labels, test = data.y.numpy().copy(), data.test_mask.numpy()
    nodes = np.arange(len(labels))
    # test papers have the last ids; the files have no vectors for the ids left out among them
    labels[(nodes >= nodes[test].min()) & ~test] = UNKNOWN
    return Graph.build(
        name=name,
        features=sp.csr_array(data.x.numpy()),
        edges=data.edge_index.numpy().T,
        labels=labels,
        class_names=classes,
        train=data.train_mask.numpy(),
        validation=data.val_mask.numpy(),
        test=test,
    )


def raw_files(name: str) -> tuple[RawFile, ...]:
    """The files of a data set, with the SHA-256 that each must have."""
    prefix = f"ind.{_PLANETOID[name][0]}"
    return tuple(
        RawFile(f"{prefix}.{part}", f"{PLANETOID_URL}/{prefix}.{part}", sha)
        for part, sha in PLANETOID_SHA256[name].items()
    )


def _read(file_name: str, contents: dict[str, bytes]) -> Any:
    """Read checked bytes with PyTorch Geometric.

    Its reader opens files by path: it is given private copies of the bytes that were checked, because a file in a data
    folder may change between check and use.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch Geometric and its old pickles use names that others deprecated
        reader = require("torch_geometric.io", extra="data", feature="citation data sets")
        with tempfile.TemporaryDirectory(prefix="se-gnn-") as folder:
            for file, content in contents.items():
                (Path(folder) / file).write_bytes(content)
            return reader.read_planetoid_data(folder, file_name)


GRAPH_URL = "https://raw.githubusercontent.com/danielzuegner/gnn-meta-attack/master/data"
SPLIT_URL = "https://raw.githubusercontent.com/ChandlerBang/Pro-GNN/master/splits"

# X of X.npz, the SHA-256 of graph and split, and the classes: the files number the same topics in the order of the
# alphabet (they say so in a pickle, which is not read)
_NETTACK = {
    "citeseer": (
        "citeseer",
        "36e9a5bbe84eaa0c3c6b226f8b27450bb79246a5df22c375b3bacddb856efa8e",
        "12ab5787371b8826691d0c6f33ba7c250dff2754a0f571578bc83920594bb9a3",
        sorted(CITESEER_FIELDS),
    ),
    "cora-nettack": (
        "cora",
        "398a5c8f949a4f2a3c8fb248f777d2756c654de714762d6a18c04eaa19a96271",
        "40a3e7e4025c349095d425c597a9db53b2ddd2437f0d5ccf7b46417d912f1db0",
        sorted(CORA_TOPICS),
    ),
}


def _load_nettack(name: str, data_dir: str | Path | None) -> Graph:
    """The largest connected component with the published split.

    One paper of each graph is in no part of the split. Nodes are numbered as the attacked graphs number them.
    """
    file_name, graph_sha, split_sha, classes = _NETTACK[name]
    graph_file = RawFile(f"{file_name}.npz", f"{GRAPH_URL}/{file_name}.npz", graph_sha)
    split_name = f"{file_name}_prognn_splits.json"
    split_file = RawFile(split_name, f"{SPLIT_URL}/{split_name}", split_sha)
    content = read_verified([graph_file], "nettack", data_dir=data_dir)[graph_file.name]
    split = json.loads(read_verified([split_file], "splits", data_dir=data_dir)[split_name])
    features, given, labels = _read_graph(content, graph_file.name)
    nodes = largest_component(given, len(labels))
    inside = np.isin(given, nodes).all(axis=1)
    return Graph.build(
        name=name,
        features=features[nodes],
        edges=np.searchsorted(nodes, given[inside]),
        labels=labels[nodes],
        class_names=classes,
        train=split["idx_train"],
        validation=split["idx_val"],
        test=split["idx_test"],
    )


def _read_graph(content: bytes, where: str) -> tuple[sp.csr_array, IntArray, IntArray]:
    """Features, edges in one or both directions, and labels of an `.npz` file of CSR pieces."""
    pieces = [f"{matrix}_{piece}" for matrix in ("adj", "attr") for piece in PIECES]
    arrays = read_arrays(content, [*pieces, "labels"], where=where)  # the files hold pickles, too
    return csr(arrays, "attr", where), entries(csr(arrays, "adj", where)), arrays["labels"].astype(np.int64)


def largest_component(edges: IntArray, num_nodes: int) -> IntArray:
    """Nodes of the largest connected component, ascending; the first found where two are of one size.

    >>> largest_component(np.array([[0, 3], [4, 1], [1, 2]]), 6).tolist()
    [1, 2, 4]
    """
    u, v = edges.T
    adjacency = sp.csr_array((np.ones(len(edges)), (u, v)), shape=(num_nodes, num_nodes))
    _, component = connected_components(adjacency, directed=False)
    return np.flatnonzero(component == np.bincount(component).argmax())


BENCHMARK_URL = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
TRAIN_PER_CLASS = 20
VAL_PER_CLASS = 30


def _benchmark(name: str, sha256: str | None) -> RawFile:
    return RawFile(name, f"{BENCHMARK_URL}/{name}", sha256)


# folder inside a data folder, and the file; None: we have not seen the file, so that nothing is known to check it by
BENCHMARKS = {
    "amazon-photo": (
        "Amazon/Photo/raw",
        _benchmark("amazon_electronics_photo.npz", "4f552b0f6631b465c417b05db89d9d280fa7d01061b89fcc4602d88dd82ed22d"),
    ),
    "amazon-computers": ("Amazon/Computers/raw", _benchmark("amazon_electronics_computers.npz", None)),
    "coauthor-cs": ("Coauthor/CS/raw", _benchmark("ms_academic_cs.npz", None)),
    "coauthor-physics": (
        "Coauthor/Physics/raw",
        _benchmark("ms_academic_phy.npz", "3da759527a8d4f316f24edf55c4f998850b1b10d53f06cb817e9278593395916"),
    ),
}


def _load_benchmark(name: str, seed: int, data_dir: str | Path | None) -> Graph:
    """A graph with sparse features and a split by ``seed``: 20 nodes per class train, 30 validate, the others test."""
    folder, file = BENCHMARKS[name]
    features, edges, labels = _read_graph(read_verified([file], folder, data_dir=data_dir)[file.name], file.name)
    generator = np.random.default_rng(seed)
    split = split_by_class(labels, train=TRAIN_PER_CLASS, validation=VAL_PER_CLASS, generator=generator)
    return Graph.build(
        name=name,
        features=features,
        edges=edges,
        labels=labels,
        class_names=[f"class {label}" for label in range(labels.max() + 1)],
    ).replace(split=split)
