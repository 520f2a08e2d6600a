"""An explanation as a `torch_geometric.explain.Explanation`. Shapes: N nodes, E undirected edges, M of them local."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from se_gnn.explain.explanation import Explanation, NumberAnswer
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray, dense
from se_gnn.optional import require


def to_pyg(explanation: Explanation, graph: Graph, *, features: bool = True) -> Any:
    """The explanation on the whole graph: both directions of an edge follow PyG, all forward edges first.

    Beside the masks it has ``index`` (the node), ``target`` (its predicted class, and -1 for all other nodes; or its
    predicted number, and NaN), ``importance`` of each edge, Eq. (10), NaN outside the local graph, and ``cases`` with
    their ``weights``. ``node_mask`` [N, 1] is 1 for the node, the weight for a case, and for other nodes of the local
    graph the largest mask of their edges.
    """
    explain: Any = require("torch_geometric.explain", extra="data", feature="PyG explanations")
    node = explanation.node
    ids = explanation.edge_ids
    mask, importance = np.zeros(graph.num_edges, np.float32), np.full(graph.num_edges, np.nan, np.float32)
    mask[ids], importance[ids] = mask_of_importance(explanation.importance), explanation.importance
    cases = np.array([one.node for one in explanation.votes], dtype=np.int64)
    weights = np.array([one.weight for one in explanation.votes], dtype=np.float32)
    counts = node_mask(graph, mask, node, cases, weights)
    if isinstance(explanation.answer, NumberAnswer):
        target = torch.full((graph.num_nodes,), torch.nan)
        target[node] = explanation.answer.value
    else:
        target = torch.full((graph.num_nodes,), -1)
        target[node] = explanation.predicted
    result = explain.Explanation(
        edge_index=directed(graph.edges.ends),
        edge_mask=torch.from_numpy(np.concatenate([mask, mask])),
        node_mask=torch.from_numpy(counts)[:, None],
        target=target,
        index=torch.tensor([node]),
        importance=torch.from_numpy(np.concatenate([importance, importance])),
        cases=torch.from_numpy(cases),
        weights=torch.from_numpy(weights),
    )
    if features:
        result.x = dense_features(graph)
    else:
        result.num_nodes = graph.num_nodes
    result._model_args = []  # PyG's metrics ask for it: our model reads x and edge_index alone
    return result


def mask_of_importance(importance: FloatArray) -> FloatArray:
    """Share of the edges that each edge is at least as important as, in (0, 1]; 0 where importance is not known.

    Importance is a similarity, so its order means more than its size. [M] to [M].

    >>> mask_of_importance(np.array([-3.0, -1.0, -2.0, -1.0], dtype=np.float32)).tolist()
    [0.25, 1.0, 0.5, 1.0]
    """
    known = np.isfinite(importance)
    ordered = np.sort(importance[known])
    mask = np.zeros(len(importance), np.float32)
    mask[known] = np.searchsorted(ordered, importance[known], side="right") / max(1, len(ordered))
    return mask


def node_mask(graph: Graph, edge_mask: FloatArray, node: int, cases: IntArray, weights: FloatArray) -> FloatArray:
    """What each node counts, [N]: see :func:`to_pyg`."""
    counts = np.zeros(graph.num_nodes, np.float32)
    for end in (0, 1):
        np.maximum.at(counts, graph.edges.ends[:, end], edge_mask)
    np.maximum.at(counts, cases, weights)
    counts[node] = 1
    return counts


def edge_ids(graph: Graph, edges: IntArray) -> IntArray:
    """Ids of edges that the graph has, given as pairs in any order; of several with the same ends the first."""
    n = graph.num_nodes
    low, high = edges.min(axis=1), edges.max(axis=1)
    keys = graph.edges.ends[:, 0] * n + graph.edges.ends[:, 1]
    ids: IntArray = np.searchsorted(keys, low * n + high)
    return ids


def directed(edges: IntArray) -> Tensor:
    """``edge_index`` [2, 2E] with every edge in both directions."""
    return torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())


def dense_features(graph: Graph) -> Tensor:
    """X as a dense tensor, [N, F]."""
    return torch.tensor(dense(graph.features))
