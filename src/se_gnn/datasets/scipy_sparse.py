"""A graph as SciPy sparse matrices, and back."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from se_gnn.datasets.details import GraphDetails, graph_details
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.split import PARTS


def to_scipy(graph: Graph) -> dict[str, Any]:
    """The arguments of :func:`from_scipy` that give the same graph: a symmetric CSR ``adjacency`` of ones first.

    Where edges carry values, an entry is the number of parallel edges.
    """
    adjacency = graph.adjacency.copy()
    adjacency.data = np.ones(len(adjacency.data), np.float32)
    adjacency.sum_duplicates()
    own = {name: getattr(graph, name) for name in ("features", "labels", "node_names", *PARTS)}
    return {"adjacency": adjacency, **own, **graph_details(graph)}


def from_scipy(adjacency: Any, features: Any, labels: Any = None, **details: Unpack[GraphDetails]) -> Graph:
    """A graph from its adjacency matrix and its features.

    Args:
        adjacency: [N, N], sparse or dense; whatever is not 0 is an edge, its value is not looked at. A matrix that is
            not symmetric is taken as undirected.
        features: [N, F], sparse or dense.
        labels: class of each node, -1 where unknown; None: all unknown.
        details: what :meth:`Graph.build` takes besides: names, split and so on. What belongs to edges comes
            in the order of the upper triangle, row by row. With ``edge_values``, an entry is the number of edges
            between two nodes; direction +1 is from the lower node to the higher.
    """
    matrix = sp.csr_array(adjacency)
    num_nodes = np.shape(features)[0]
    if matrix.shape != (num_nodes, num_nodes):
        raise InputError(f"adjacency must be {num_nodes} x {num_nodes}, as features has rows, got shape {matrix.shape}")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if (matrix != matrix.T).nnz == 0:
        matrix = sp.csr_array(sp.triu(matrix))
    matrix.sort_indices()
    entries = matrix.tocoo()
    edges = np.stack([entries.row, entries.col], axis=1)
    if details.get("edge_values") is not None:
        edges = np.repeat(edges, entries.data.astype(np.int64), axis=0)
    return Graph.build(
        features=features,
        edges=edges,
        labels=np.full(num_nodes, UNKNOWN) if labels is None else labels,
        **details,
    )
