"""`citeseer-metattack-RATE`, `cora-metattack-RATE`: graphs that Metattack has poisoned, as the Pro-GNN authors ran it.

"Adversarial Attacks on Graph Neural Networks via Meta Learning" (https://arxiv.org/abs/1902.08412) changes a share
RATE of the edges so that a GCN trained on the result does badly. Published with "Graph Structure Learning for Robust
Graph Neural Networks" (https://arxiv.org/abs/2005.10203). Nodes, features, labels and split are those of `citeseer` and
`cora-nettack`.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import scipy.sparse as sp

from se_gnn.datasets import public
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.tables.arrays import entries, read_arrays

URL = "https://raw.githubusercontent.com/ChandlerBang/Pro-GNN/master/meta"

SHA256 = {
    "citeseer_meta_adj_0.05.npz": "8d27840b7ead85ed90260d54a6f4ff65740d869e1203017111c7fa9ef355242f",
    "citeseer_meta_adj_0.1.npz": "5c333f8c92267ccd6f08ec27c421e9f0a17d9dda58729c93c7c823794c7c23f3",
    "citeseer_meta_adj_0.15.npz": "69069c65343fc75c7b508bd97263a1a2d96212f62e72259ce34c4146f6db866d",
    "citeseer_meta_adj_0.2.npz": "599e1fb14330bb5451216a5cebe7987840ecfa6a2d41004088f616e8653e9f5a",
    "citeseer_meta_adj_0.25.npz": "63ff4f587683c93f36ff9ef987b9efad36260af5407bdf1a4175359dfb25ce91",
    "cora_meta_adj_0.05.npz": "bfb6ed914acbae726906ff0aa09b5ae70713849dcc637d8f08eeb27c0ef24c1f",
    "cora_meta_adj_0.1.npz": "fbb6b1485cdfa93ae23501f950b43f4dc96eb09099f5fec3d67b93a92394dbd7",
    "cora_meta_adj_0.15.npz": "f22e02303c239ba236acf3c214e4ff8e2539d68992737e2d909d02a96eabfc88",
    "cora_meta_adj_0.2.npz": "adbe44b4014bc183525d8f55f2173c091fad9cc5c97e01a08a423ee6ceea8caa",
    "cora_meta_adj_0.25.npz": "2e0e4eb2293a48f9a54c612bb1ac36b7ef4e643626acf4c159792b2cb6b534d8",
}
RATES = (0.05, 0.1, 0.15, 0.2, 0.25)
CLEAN = {"citeseer": "citeseer", "cora": "cora-nettack"}  # the graph that was attacked


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """An attacked graph by its whole name, such as `citeseer-metattack-0.25`; the ``seed`` changes nothing."""
    attacked, _, rate = name.partition("-metattack-")
    return load_attacked(attacked, float(rate), data_dir=data_dir)


def load_attacked(name: str, rate: float, *, data_dir: str | Path | None = None) -> Graph:
    """`citeseer` or `cora` after an attack that changed a share ``rate`` of its edges; rate 0 is the clean graph."""
    if name not in CLEAN:
        raise InputError(f"attacked graphs are published for {' and '.join(CLEAN)}, got {name!r}")
    if rate not in (0, *RATES):
        raise InputError(f"rate must be one of 0, {', '.join(f'{known:g}' for known in RATES)}, got {rate!r}")
    clean = public.load(CLEAN[name], data_dir=data_dir)
    if rate == 0:
        return clean
    file_name = f"{name}_meta_adj_{rate:g}.npz"
    file = RawFile(file_name, f"{URL}/{file_name}", SHA256[file_name])
    content = read_verified([file], "metattack", data_dir=data_dir)[file_name]
    adjacency = _read_adjacency(content, clean.num_nodes, where=file_name)
    attacked = clean.with_edges(entries(sp.csr_array(sp.triu(adjacency))))
    return dataclasses.replace(attacked, name=f"{name}-metattack-{rate:g}")


def _read_adjacency(content: bytes, num_nodes: int, *, where: str) -> sp.csr_array:
    """A matrix that SciPy stored, checked to be an undirected graph without weights and self-loops, [N, N]."""
    arrays = read_arrays(content, ("data", "indices", "indptr", "shape"), where=where)
    matrix = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    if matrix.shape != (num_nodes, num_nodes):
        raise InputError(f"{where} must join the {num_nodes} nodes of the clean graph, got shape {matrix.shape}")
    if (matrix.data != 1).any() or matrix.diagonal().any() or (matrix != matrix.T).nnz:
        raise InputError(f"{where} must be symmetric, with entries 0 and 1 and a diagonal of zeros")
    return matrix
