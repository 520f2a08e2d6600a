"""`acm`, `dblp`: papers, authors and subjects or conferences, with the split published with HeCo.

"Self-supervised Heterogeneous Graph Neural Network with Co-contrastive Learning" (https://arxiv.org/abs/2105.09111).
ACM: papers have words, are written by authors and belong to a subject; papers are labeled. DBLP: papers have words,
authors keywords, a paper is written by authors and appears at a conference; authors are labeled. 20 labeled nodes per
class, 1,000 to validate and 1,000 to test. The features of each kind are a block (`se_gnn.tables.node_types`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from lab.datasets.known_arrays import read_known_arrays
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import UNKNOWN, Classes, Edges, EdgeValues, Graph, Split
from se_gnn.tables.arrays import csr
from se_gnn.tables.node_types import NodesOfType, join_types

_ORIGIN = (
    "convert the data of https://github.com/liun-online/HeCo (docs/reference/datasets.md names the arrays): pairs of "
    "indices and CSR pieces by node type"
)
DIGESTS = {
    "acm": "5b863101e200e8dbb8de89b47d574ced7e764ef1a33b05314b56810cbbb373e3",
    "dblp": "3930670b303f83dad7f52efc78d11fa68d57dc70e5cd724f5a1bb8cffbb341d5",
}
LABELED = {"acm": "paper", "dblp": "author"}
OTHER = {"acm": "subject", "dblp": "conference"}  # the kind without attributes
VERBS = {"paper-author": "is written by", "paper-subject": "is about", "paper-conference": "appears at"}
_PIECES = ("data", "indices", "indptr", "shape")


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The graph of all kinds with the published split, whatever the ``seed``."""
    file = RawFile(f"{name}.npz", url=None, sha256=None, origin=_ORIGIN)
    other, labeled = OTHER[name], LABELED[name]
    types = ("paper_author", f"paper_{other}")
    wanted = [f"features_{kind}_{piece}" for kind in ("paper", "author") for piece in _PIECES]
    wanted += [f"edges_{pair}" for pair in types] + ["label", "train", "val", "test"]
    content = read_verified([file], "hetero", data_dir=data_dir)[file.name]
    arrays = read_known_arrays(content, wanted, sha256=DIGESTS[name], where=file.name)
    words = {kind: csr(arrays, f"features_{kind}", file.name) for kind in ("paper", "author")}
    num_others = int(arrays[f"edges_paper_{other}"][:, 1].max()) + 1
    given = {kind: _nodes(kind, matrix) for kind, matrix in words.items()}
    given[other] = NodesOfType(names=[f"{other} {i}" for i in range(num_others)])
    nodes = join_types(given)
    known = nodes.of_type(labeled)
    labels = np.full(len(nodes), UNKNOWN, np.int64)
    labels[known] = arrays["label"]
    class_names = [f"class {label}" for label in range(int(arrays["label"].max()) + 1)]
    pairs = [
        np.stack([nodes.of_type(kind)[arrays[f"edges_{pair}"][:, end]] for end, kind in enumerate(pair.split("_"))], 1)
        for pair in types
    ]
    type_names = tuple(pair.replace("_", "-") for pair in types)
    values = EdgeValues(
        type=np.repeat(np.arange(2), [len(some) for some in pairs]).astype(np.int32),
        type_names=type_names,
        type_verbs=tuple(VERBS[kind] for kind in type_names),
    )
    return Graph(
        nodes=nodes,
        edges=Edges.build(np.concatenate(pairs), len(nodes), values),
        target=Classes.build(labels, class_names, num_nodes=len(nodes)),
        split=Split(known[arrays["train"]], known[arrays["val"]], known[arrays["test"]]),
        name=name,
    )


def _nodes(kind: str, matrix: sp.csr_array) -> NodesOfType:
    return NodesOfType(
        names=[f"{kind} {i}" for i in range(matrix.shape[0])],
        features=sp.csr_array(matrix, dtype=np.float32),
        feature_names=[f"word {i}" for i in range(matrix.shape[1])],
    )
