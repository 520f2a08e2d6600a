"""A PyG `Data` as our graph, and ours as a `Data`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.datasets.details import OF_EDGES, graph_details
from se_gnn.datasets.pyg_edges import edge_tensors, edges_of
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.optional import require

MASKS = {"train": "train_mask", "validation": "val_mask", "test": "test_mask", "calibration": "calibration_mask"}
SPARSE_BELOW = 0.1  # share of non-zero attributes below which they are kept sparse


def from_pyg(data: Any, *, name: str = "graph", directed: bool | None = None) -> Graph:
    """Take over ``x``, ``edge_index``, ``y`` and the masks of a ``torch_geometric.data.Data``.

    Edges are symmetrized, duplicates and self-loops merged and counted (``graph.merged``). ``edge_weight``,
    ``edge_type``, ``edge_attr`` and ``edge_time`` (seconds since 1970) become ``graph.edge_values``: then edges with
    the same ends and different values are all kept. Without a ``train_mask`` every node with a label is labeled. What
    :func:`to_pyg` wrote besides comes back, too.

    Args:
        data: the graph.
        name: of the graph.
        directed: keep the direction of the edges; None: as :func:`to_pyg` wrote it, else no.
    """
    for field in ("x", "edge_index", "y"):
        if getattr(data, field, None) is None:
            raise InputError(f"a PyG Data needs x, edge_index and y, this {type(data).__name__} has no {field}")
    dense = _array(data.x)
    filled = np.count_nonzero(dense) / max(1, dense.size)
    masks: dict[str, Any] = {part: getattr(data, mask, None) for part, mask in MASKS.items()}
    for part, mask in masks.items():
        if mask is not None and mask.dim() != 1:
            raise InputError(f"{MASKS[part]} must have one dimension, got shape {tuple(mask.shape)}: choose one split")
    details: dict[str, Any] = {"name": name, **(getattr(data, "about", None) or {})}
    sparse = details.pop("sparse_features", filled < SPARSE_BELOW)
    split: dict[str, Any] = {part: _mask(mask) for part, mask in masks.items()}
    pairs, values, taken = edges_of(data, details.pop("edge_values", None), directed=directed)
    details |= {field: _array(data[field])[taken] for field in OF_EDGES if field in data}
    return Graph.build(
        features=sp.csr_array(dense) if sparse else dense,
        edges=pairs,
        edge_values=values,
        labels=_array(data.y).reshape(-1),
        **details,
        **split,
    )


def to_pyg(graph: Graph) -> Any:
    """A ``torch_geometric.data.Data`` that :func:`from_pyg` turns back into the same graph.

    ``x`` is dense, ``edge_index`` has both directions, ``y`` is -1 where the class is not known; names and the like are
    in the dictionary ``about``. Where edges carry values they are ``edge_weight``, ``edge_type``, ``edge_attr`` and
    ``edge_time``, ``edge_id`` tells which of ours each is, and an edge with a direction is there in that one only.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch Geometric uses names that PyTorch deprecated
        pyg: Any = require("torch_geometric.data", extra="data", feature="PyG graphs")
    details = graph_details(graph)
    both, tensors, about_edges = edge_tensors(graph)
    ids = tensors.get("edge_id", np.tile(np.arange(graph.num_edges), 2))
    of_edges = {field: torch.tensor(details.pop(field)[ids]) for field in OF_EDGES if field in details}
    of_edges |= {field: torch.from_numpy(array.copy()) for field, array in tensors.items()}
    details |= about_edges
    dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    masks = {name: torch.zeros(graph.num_nodes, dtype=torch.bool) for name in MASKS.values()}
    for part, name in MASKS.items():
        masks[name][torch.from_numpy(getattr(graph, part).copy())] = True
    return pyg.Data(
        x=torch.from_numpy(dense.copy()),
        edge_index=torch.from_numpy(np.ascontiguousarray(both.T)),
        y=torch.from_numpy(graph.labels.copy()),
        **masks,
        **of_edges,
        about={**details, "node_names": graph.node_names, "sparse_features": bool(sp.issparse(graph.features))},
    )


def _mask(mask: Any) -> np.ndarray | None:
    return None if mask is None else _array(mask).astype(bool)


def _array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().cpu().numpy())
