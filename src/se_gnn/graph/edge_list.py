"""A list of edges in any order and direction, brought to "every undirected edge once". Shapes: E edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray, as_integers


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """What was merged away when edges were brought to "every undirected edge once"."""

    given: int = 0
    self_loops: int = 0
    reciprocal: int = 0  # (v, u) given beside (u, v)
    duplicates: int = 0  # the same pair given again in the same order

    def __str__(self) -> str:
        kept = self.given - self.self_loops - self.reciprocal - self.duplicates
        return (
            f"{self.given:,} edges given, {kept:,} kept: {self.reciprocal:,} reciprocal and {self.duplicates:,} "
            f"duplicate edges merged, {self.self_loops:,} self-loops removed"
        )


def as_pairs(edges: Any) -> IntArray:
    """Pairs of nodes, [E, 2]."""
    if np.size(edges) == 0:
        return np.empty((0, 2), np.int64)
    pairs = as_integers(edges, "edges")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        # a [2, E] array reshaped to pairs would be another graph without a word
        raise InputError(f"edges must be pairs of nodes, shape (E, 2), got shape {pairs.shape}")
    return pairs


def check_edge_ends(edges: IntArray, num_nodes: int) -> None:
    """Refuse edges to nodes that are not there."""
    if not len(edges):
        return
    bad = np.flatnonzero((edges < 0).any(axis=1) | (edges >= num_nodes).any(axis=1))
    if len(bad):
        u, v = edges[bad[0]]
        raise InputError(
            f"edges must join nodes 0 to {num_nodes - 1}: edge {bad[0]} = ({u}, {v}) names a missing node"
            f" ({len(bad)} such edges)"
        )


def canonical_edges(pairs: IntArray, num_nodes: int) -> tuple[IntArray, IntArray, EdgeReport]:
    """Sorted unique pairs u < v, the first given edge of each, and what was merged."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    proper = np.flatnonzero(low != high)
    keys = low[proper] * num_nodes + high[proper]
    unique, first = np.unique(keys, return_index=True)
    # sorted, not np.unique: its hash table takes ten times as long on millions of edges
    ordered = np.sort(pairs[proper, 0] * num_nodes + pairs[proper, 1])
    num_ordered = int(np.count_nonzero(np.diff(ordered))) + bool(len(ordered))
    report = EdgeReport(
        given=len(pairs),
        self_loops=len(pairs) - len(proper),
        reciprocal=num_ordered - len(unique),
        duplicates=len(proper) - num_ordered,
    )
    edges = np.stack([unique // num_nodes, unique % num_nodes], axis=1).astype(np.int64)
    return edges, proper[first], report


def is_canonical(edges: IntArray, num_nodes: int) -> bool:
    """Whether edges are sorted pairs u < v, each once."""
    keys = edges[:, 0] * num_nodes + edges[:, 1]
    return bool((edges[:, 0] < edges[:, 1]).all() and (np.diff(keys) > 0).all())
