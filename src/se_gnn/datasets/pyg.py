"""A PyG `Data` as our graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph

SPARSE_BELOW = 0.1  # share of non-zero attributes below which they are kept sparse


def from_pyg(data: Any, *, name: str = "graph") -> AttributedGraph:
    """Take over ``x``, ``edge_index``, ``y`` and the masks of a ``torch_geometric.data.Data``.

    Edges are symmetrized, duplicates and self-loops merged and counted (``graph.merged``). Without a ``train_mask``
    every node with a label is labeled.
    """
    for field in ("x", "edge_index", "y"):
        if getattr(data, field, None) is None:
            raise InputError(f"a PyG Data needs x, edge_index and y, this {type(data).__name__} has no {field}")
    dense = _array(data.x)
    filled = np.count_nonzero(dense) / max(1, dense.size)
    masks: dict[str, Any] = {part: getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")}
    for part, mask in masks.items():
        if mask is not None and mask.dim() != 1:
            raise InputError(f"{part}_mask must have one dimension, got shape {tuple(mask.shape)}: choose one split")
    return AttributedGraph.build(
        features=sp.csr_array(dense) if filled < SPARSE_BELOW else dense,
        edges=_array(data.edge_index).T,
        labels=_array(data.y).reshape(-1),
        name=name,
        train=_mask(masks["train"]),
        val=_mask(masks["val"]),
        test=_mask(masks["test"]),
    )


def _mask(mask: Any) -> np.ndarray | None:
    return None if mask is None else _array(mask).astype(bool)


def _array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().cpu().numpy())
