"""`cora`, `citeseer-planetoid`, `pubmed`: citation graphs in the files of Planetoid, with their public split.

"Revisiting Semi-Supervised Learning with Graph Embeddings" (https://arxiv.org/abs/1603.08861). A node is a paper, an
edge a citation in either direction; the features are words (0 / 1, TF-IDF for PubMed). PyTorch Geometric reads the
files.
"""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.optional import require

URL = "https://github.com/kimiyoung/planetoid/raw/master/data"

SHA256 = {
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


@dataclass(frozen=True, slots=True)
class _Source:
    file_name: str  # X of ind.X.graph
    folder: str  # inside a data folder
    class_names: tuple[str, ...]  # in the order of the label vectors


CORA_TOPICS = (
    "Theory",
    "Reinforcement Learning",
    "Genetic Algorithms",
    "Neural Networks",
    "Probabilistic Methods",
    "Case Based",
    "Rule Learning",
)

# The sizes of the classes, all different, tell which label vector is which topic. Sources on PubMed disagree which of
# its two nearly equal classes is type 1 diabetes: its classes keep their numbers.
_SOURCES = {
    "cora": _Source("cora", "Planetoid/Cora/raw", CORA_TOPICS),
    "citeseer-planetoid": _Source("citeseer", "Planetoid/CiteSeer/raw", ("AI", "ML", "IR", "DB", "Agents", "HCI")),
    "pubmed": _Source("pubmed", "Planetoid/PubMed/raw", ("class 0", "class 1", "class 2")),
}


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """A citation graph with sparse features and the public split, whatever the ``seed``.

    The 15 papers of CiteSeer that have neither words nor a label have an unknown label here (other readers put them
    into class 0). Isolated papers stay.
    """
    source = _SOURCES[name]
    contents = read_verified(raw_files(name), source.folder, data_dir=data_dir)
    data = _read(source.file_name, contents)
    labels, test = data.y.numpy().copy(), data.test_mask.numpy()
    nodes = np.arange(len(labels))
    # test papers have the last ids; the files have no vectors for the ids left out among them
    labels[(nodes >= nodes[test].min()) & ~test] = UNKNOWN
    return Graph.build(
        name=name,
        features=sp.csr_array(data.x.numpy()),
        edges=data.edge_index.numpy().T,
        labels=labels,
        class_names=source.class_names,
        train=data.train_mask.numpy(),
        validation=data.val_mask.numpy(),
        test=test,
    )


def raw_files(name: str) -> tuple[RawFile, ...]:
    """The files of a data set, with the SHA-256 that each must have."""
    prefix = f"ind.{_SOURCES[name].file_name}"
    return tuple(RawFile(f"{prefix}.{part}", f"{URL}/{prefix}.{part}", sha) for part, sha in SHA256[name].items())


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
