"""A list of edges with values in any order, brought to sorted pairs u < v; parallel edges are kept. Shapes: E edges.

Two edges are the same edge given twice only where everything agrees: ends, direction, weight, type, attributes, time
and the cells that are shown. Without direction, (u, v) and (v, u) are the same ends.
"""

from __future__ import annotations

import numpy as np

from se_gnn.graph.arrays import IntArray
from se_gnn.graph.edge_list import EdgeReport
from se_gnn.graph.edge_values import EdgeValues


def canonical_valued_edges(
    pairs: IntArray, values: EdgeValues, num_nodes: int
) -> tuple[IntArray, IntArray, EdgeValues, EdgeReport]:
    """Sorted pairs u < v, the given edge of each, its values, and what was merged; parallel edges stay as given.

    The direction of an edge whose ends are swapped is reversed with it.

    >>> values = EdgeValues(direction=np.array([1, 1, 1, 1], np.int8))
    >>> pairs = np.array([[2, 0], [0, 2], [0, 2], [1, 1]])
    >>> edges, given, kept, report = canonical_valued_edges(pairs, values, 3)
    >>> edges.tolist(), given.tolist(), kept.direction.tolist(), report.duplicates, report.self_loops
    ([[0, 2], [0, 2]], [0, 1], [-1, 1], 1, 1)
    """
    proper = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
    swapped = pairs[proper, 0] > pairs[proper, 1]
    ends = np.sort(pairs[proper], axis=1)
    held = values.take(proper).reversed(swapped)
    order = np.lexsort((ends[:, 1], ends[:, 0]))  # stable: parallel edges stay in the order given
    first = _first_of_equals(ends, held)  # [E]
    repeated = first != np.arange(len(first))
    kept = order[~repeated[order]]
    reciprocal = int((swapped[repeated] != swapped[first[repeated]]).sum())
    report = EdgeReport(
        given=len(pairs),
        self_loops=len(pairs) - len(proper),
        reciprocal=reciprocal,
        duplicates=int(repeated.sum()) - reciprocal,
    )
    return ends[kept].astype(np.int64), proper[kept], held.take(kept), report


def is_sorted(edges: IntArray, num_nodes: int) -> bool:
    """Whether edges are sorted pairs u < v, parallel ones side by side."""
    keys = edges[:, 0] * num_nodes + edges[:, 1]
    return bool((edges[:, 0] < edges[:, 1]).all() and (np.diff(keys) >= 0).all())


def _first_of_equals(ends: IntArray, values: EdgeValues) -> IntArray:
    """The first of the edges that agree with each in everything, [E]."""
    count = len(ends)
    if not count:
        return np.empty(0, np.int64)
    columns = [ends, *(getattr(values, name) for name in values.carried)]
    columns += [values.raw.codes] if values.raw is not None and values.raw.columns else []
    rows = [np.ascontiguousarray(column).reshape(count, -1).view(np.uint8) for column in columns]
    packed = np.ascontiguousarray(np.concatenate(rows, axis=1))
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    return np.asarray(first[group], np.int64)
