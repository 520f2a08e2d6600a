"""What edges alone say of a node, as features where a table has no attributes. Shapes: N nodes, E edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.graph.arrays import IntArray
from se_gnn.graph.edges import canonical_edges

EDGES, TRIANGLES, NEIGHBORS = "number of edges", "number of triangles", "mean edges of neighbors"
DECIMALS = {EDGES: 0, TRIANGLES: 0, NEIGHBORS: 1}


def structure_numbers(pairs: IntArray, num_nodes: int) -> dict[str, npt.NDArray[np.float64]]:
    """Degree, number of triangles, and mean degree of the neighbors of each node, each [N]; 0 without edges.

    >>> numbers = structure_numbers(np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 2]]), 4)
    >>> [values.round(2).tolist() for values in numbers.values()]
    [[2.0, 2.0, 3.0, 1.0], [1.0, 1.0, 1.0, 0.0], [2.5, 2.5, 1.67, 3.0]]
    """
    edges = canonical_edges(pairs, num_nodes)[0]
    degrees = np.bincount(edges.ravel(), minlength=num_nodes).astype(np.float64)
    u, v = edges.T
    total = np.bincount(u, degrees[v], num_nodes) + np.bincount(v, degrees[u], num_nodes)
    return {EDGES: degrees, TRIANGLES: _triangles(edges, degrees), NEIGHBORS: total / np.maximum(degrees, 1)}


def _triangles(edges: IntArray, degrees: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each triangle once: edges point to the end of larger degree, so that no hub has many of its own."""
    n = len(degrees)
    rank = np.empty(n, np.int64)
    rank[np.lexsort((np.arange(n), degrees))] = np.arange(n)
    swap = rank[edges[:, 0]] > rank[edges[:, 1]]
    low, high = np.where(swap, edges[:, 1], edges[:, 0]), np.where(swap, edges[:, 0], edges[:, 1])
    upward = sp.csr_array((np.ones(len(edges)), (low, high)), shape=(n, n))
    # (U U)_ac counts the b with a -> b -> c; where a -> c as well it is a triangle with lowest a and highest c
    closed = (upward @ upward).multiply(upward).tocsr()
    # the middle b of a -> b -> c, seen from b: (U^T U)_bc counts the a with a -> b and a -> c
    middle = (upward.T @ upward).multiply(upward).sum(axis=1)
    return np.asarray(closed.sum(axis=1) + closed.sum(axis=0) + middle, dtype=np.float64).ravel()
