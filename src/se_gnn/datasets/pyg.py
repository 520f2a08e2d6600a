"""A PyG `Data` as our graph, and ours as a `Data`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.datasets.details import OF_EDGES, graph_details
from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph
from se_gnn.optional import require

SPARSE_BELOW = 0.1  # share of non-zero attributes below which they are kept sparse


def from_pyg(data: Any, *, name: str = "graph") -> AttributedGraph:
    """Take over ``x``, ``edge_index``, ``y`` and the masks of a ``torch_geometric.data.Data``.

    Edges are symmetrized, duplicates and self-loops merged and counted (``graph.merged``). Without a ``train_mask``
    every node with a label is labeled. What :func:`to_pyg` wrote besides comes back, too.
    """
    for field in ("x", "edge_index", "y"):
        if getattr(data, field, None) is None:
            raise InputError(f"a PyG Data needs x, edge_index and y, this {type(data).__name__} has no {field}")
    for field in ("edge_weight", "edge_attr"):
        if getattr(data, field, None) is not None:
            warnings.warn(f"{field} is not used: an edge counts as one edge, whatever it carries", stacklevel=2)
    dense = _array(data.x)
    filled = np.count_nonzero(dense) / max(1, dense.size)
    masks: dict[str, Any] = {part: getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")}
    for part, mask in masks.items():
        if mask is not None and mask.dim() != 1:
            raise InputError(f"{part}_mask must have one dimension, got shape {tuple(mask.shape)}: choose one split")
    details: dict[str, Any] = {"name": name, **(getattr(data, "about", None) or {})}
    sparse = details.pop("sparse_features", filled < SPARSE_BELOW)
    details |= {field: _array(data[field]) for field in OF_EDGES if field in data}
    return AttributedGraph.build(
        features=sp.csr_array(dense) if sparse else dense,
        edges=_array(data.edge_index).T,
        labels=_array(data.y).reshape(-1),
        **details,
        train=_mask(masks["train"]),
        val=_mask(masks["val"]),
        test=_mask(masks["test"]),
    )


def to_pyg(graph: AttributedGraph) -> Any:
    """A ``torch_geometric.data.Data`` that :func:`from_pyg` turns back into the same graph.

    ``x`` is dense, ``edge_index`` has both directions, ``y`` is -1 where the class is not known; names and the like are
    in the dictionary ``about``.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch Geometric uses names that PyTorch deprecated
        pyg: Any = require("torch_geometric.data", extra="data", feature="PyG graphs")
    details = graph_details(graph)
    both = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    of_edges = {field: torch.tensor(np.tile(details.pop(field), 2)) for field in OF_EDGES if field in details}
    dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    masks = {f"{part}_mask": torch.zeros(graph.num_nodes, dtype=torch.bool) for part in ("train", "val", "test")}
    for part in ("train", "val", "test"):
        masks[f"{part}_mask"][torch.from_numpy(getattr(graph, part).copy())] = True
    return pyg.Data(
        x=torch.from_numpy(dense.copy()),
        edge_index=torch.from_numpy(np.ascontiguousarray(both)),
        y=torch.from_numpy(graph.labels.copy()),
        **masks,
        **of_edges,
        about={**details, "node_names": graph.node_names, "sparse_features": bool(sp.issparse(graph.features))},
    )


def _mask(mask: Any) -> np.ndarray | None:
    return None if mask is None else _array(mask).astype(bool)


def _array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().cpu().numpy())
