"""The role of a node, as numbers that its edges give: features where a table has no attributes.

Shapes: N nodes, E edges.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Float64Array, FloatArray, IntArray
from se_gnn.graph.columns import Column, StructureColumn
from se_gnn.graph.edges import canonical_edges

EDGES, TRIANGLES, CORE, PAGERANK = "number of edges", "number of triangles", "core number", "PageRank (average 1)"
FEWEST, MEDIAN = "fewest edges of a neighbor", "median edges of neighbors"
NEIGHBORS, MOST = "mean edges of neighbors", "most edges of a neighbor"
DECIMALS = {EDGES: 0, TRIANGLES: 0, CORE: 0, PAGERANK: 2, FEWEST: 0, MEDIAN: 0, NEIGHBORS: 1, MOST: 0}

DAMPING = 0.85
ITERATIONS = 50  # the error is below 0.85^50, 0.03% of a rank


def structure_numbers(pairs: IntArray, num_nodes: int) -> dict[str, Float64Array]:
    """Degree, triangles, core number and PageRank of each node, and the degrees of its neighbors, each [N].

    A node without edges has no neighbors: all but its PageRank are 0.

    >>> numbers = structure_numbers(np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 2]]), 4)
    >>> [numbers[name].round(2).tolist() for name in (EDGES, TRIANGLES, CORE, NEIGHBORS)]
    [[2.0, 2.0, 3.0, 1.0], [1.0, 1.0, 1.0, 0.0], [2.0, 2.0, 2.0, 1.0], [2.5, 2.5, 1.67, 3.0]]
    """
    edges = canonical_edges(pairs, num_nodes)[0]
    both = (np.concatenate([edges[:, 0], edges[:, 1]]), np.concatenate([edges[:, 1], edges[:, 0]]))
    adjacency = sp.csr_array((np.ones(len(both[0])), both), shape=(num_nodes, num_nodes))
    degrees = np.diff(adjacency.indptr).astype(np.float64)
    return {
        EDGES: degrees,
        TRIANGLES: _triangles(edges, degrees),
        CORE: _core_numbers(adjacency, degrees),
        PAGERANK: _pagerank(adjacency, degrees),
        **_neighbor_degrees(adjacency, degrees),
    }


def fit_structure(name: str, num_nodes: int, edges: IntArray) -> tuple[StructureColumn, ...]:
    """Columns for the edges around each node, where no column of the table ``name`` says anything about it."""
    from se_gnn.tables.features import standardization  # needs pyarrow

    columns: list[StructureColumn] = []
    for what, numbers in structure_numbers(edges, num_nodes).items():
        if numbers.min() < numbers.max():
            column = StructureColumn(
                name=what, first=len(columns), size=1, offset=0.0, scale=1.0, log_unit=1.0, decimals=DECIMALS[what]
            )
            columns.append(dataclasses.replace(column, **standardization(column.encode(numbers))))
    if not columns:
        raise InputError(
            f"{name} has no column that says something about a node, and all nodes have the same number of edges "
            "and triangles: there is nothing to tell them apart by"
        )
    return tuple(columns)


def encode_structure(columns: Sequence[Column], num_nodes: int, edges: IntArray) -> FloatArray:
    """Features from the edges around each node, as they were fitted before."""
    numbers = structure_numbers(edges, num_nodes)
    blocks = [column.encode(numbers[column.name]) for column in columns if isinstance(column, StructureColumn)]
    return np.stack([block.astype(np.float32) for block in blocks], axis=1)


def _neighbor_degrees(adjacency: sp.csr_array, degrees: Float64Array) -> dict[str, Float64Array]:
    """The smallest, the (lower) median, the mean and the largest degree of the neighbors of each node."""
    node = np.repeat(np.arange(len(degrees)), np.diff(adjacency.indptr))
    ordered = degrees[adjacency.indices][np.lexsort((degrees[adjacency.indices], node))]
    start, has = adjacency.indptr[:-1].astype(np.int64), degrees > 0

    def at(share: float) -> Float64Array:
        found = np.zeros(len(degrees))
        found[has] = ordered[(start + np.floor(share * (degrees - 1)).astype(np.int64))[has]]
        return found

    mean = adjacency @ degrees / np.maximum(degrees, 1)
    return {FEWEST: at(0.0), MEDIAN: at(0.5), NEIGHBORS: mean, MOST: at(1.0)}


def _core_numbers(adjacency: sp.csr_array, degrees: Float64Array) -> Float64Array:
    """The largest k for which a node is in a part of the graph where every node has k neighbors, [N]."""
    left, core, gone = degrees.astype(np.int64), np.zeros(len(degrees)), np.zeros(len(degrees), bool)
    k = 0
    while not gone.all():
        k = max(k, int(left[~gone].min()))
        peeled = np.flatnonzero(~gone & (left <= k))
        while len(peeled):
            core[peeled], gone[peeled] = k, True
            counts = np.diff(adjacency.indptr)[peeled]
            offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            others = adjacency.indices[np.repeat(adjacency.indptr[peeled], counts) + offsets]
            touched, lost = np.unique(others[~gone[others]], return_counts=True)
            left[touched] -= lost
            peeled = touched[left[touched] <= k]
    return core


def _pagerank(adjacency: sp.csr_array, degrees: Float64Array) -> Float64Array:
    """PageRank with damping 0.85, [N], in units of the average; a node without edges passes nothing on."""
    share, rank = 1 / np.maximum(degrees, 1), np.ones(len(degrees))
    for _ in range(ITERATIONS):
        rank = 1 - DAMPING + DAMPING * (adjacency @ (share * rank))
    return rank


def _triangles(edges: IntArray, degrees: Float64Array) -> Float64Array:
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
