r"""Attributes as an untrained map of the nodes: rows of length 1, as they are or smoothed over the graph.

.. math:: Z_0 = X, \qquad Z_{k+1} = (1 - a) \, S Z_k + a X, \qquad S = D^{-1/2} (A + I) D^{-1/2}

Columns come some at a time, so that neither a dense [N, F] nor, of a mapped graph, any matrix is in memory. Shapes: N
nodes, F features, b columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array

STEPS, TELEPORT = 10, 0.1  # of the smoothing
COLUMNS = 512  # at most at a time
MOST = 50_000_000  # numbers of [N, b]
MOST_SMOOTHED = 3 * 10**9  # edges times attributes: smoothing more of them takes minutes


def smoothable(graph: Graph) -> bool:
    """Whether attributes are smoothed over the graph; of a very large graph they are read as they are alone."""
    return graph.num_edges * graph.num_features <= MOST_SMOOTHED


def attribute_columns(graph: Graph, *, smoothed: bool) -> Iterator[Float64Array]:
    """The attributes of all nodes, rows of length 1, smoothed or as they are, some columns at a time, [N, b]."""
    width = max(1, min(COLUMNS, MOST // max(1, graph.num_nodes)))
    step, columns = _step(graph) if smoothed else None, _columns(graph)
    for low in range(0, graph.num_features, width):
        block = start = columns(low, low + width)
        if step is not None:
            for _ in range(STEPS):
                block = (1 - TELEPORT) * step(block) + TELEPORT * start
        yield block


def unit_rows(rows: Any) -> sp.csr_array:
    """The rows of a matrix, each with length 1; a row of zeros stays."""
    features = sp.csr_array(rows).astype(np.float64)
    lengths = np.sqrt(np.asarray(features.multiply(features).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ features)


def _columns(graph: Graph) -> Callable[[int, int], Float64Array]:
    """What gives some columns of all nodes, dense."""
    rows = graph.nodes.features
    if rows.in_memory:
        whole = sp.csc_array(unit_rows(rows.whole()))
        return lambda low, high: whole[:, low:high].toarray()

    def read(low: int, high: int) -> Float64Array:
        found = np.empty((graph.num_nodes, min(high, graph.num_features) - low))
        for first, block in rows.blocks():
            found[first : first + block.shape[0]] = unit_rows(block)[:, low:high].toarray()
        return found

    return read


def _step(graph: Graph) -> Callable[[Float64Array], Float64Array]:
    """What multiplies by S."""
    count, neighbors = graph.num_nodes, graph.neighbors()
    root = 1 / np.sqrt(graph.degrees + 1.0)
    if graph.fits_memory:
        ones = sp.csr_array((np.ones(len(neighbors.indices)), neighbors.indices, neighbors.indptr), (count, count))
        matrix = sp.csr_array(sp.diags_array(root) @ (ones + sp.eye_array(count)) @ sp.diags_array(root))
        return lambda values: np.asarray(matrix @ values)

    def by_blocks(values: Float64Array) -> Float64Array:
        scaled = values * root[:, None]
        found = scaled.copy()
        for low, ptr, others in neighbors.blocks():
            rows = sp.csr_array((np.ones(len(others)), others, ptr), (len(ptr) - 1, count))
            found[low : low + len(ptr) - 1] += rows @ scaled
        found *= root[:, None]
        return np.asarray(found)

    return by_blocks


def without_itself(inverse: Float64Array, targets: Float64Array) -> Float64Array:
    """What ridge regression without each row says of that row, [M, C], from the inverse of all rows, [M, M]."""
    return targets - (inverse @ targets) / inverse.diagonal()[:, None]
