"""Changes to the edges of a graph: random pairs added, given pairs flipped. Shapes: E edges."""

from __future__ import annotations

import math

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import sample_non_edges
from se_gnn.graph.arrays import IntArray


def num_changes(rate: float, num_edges: int) -> int:
    """Number of changes at a perturbation rate: the rate of the edges, rounded down.

    >>> num_changes(0.25, 3668), num_changes(0.29, 100)
    (917, 29)
    """
    if not (math.isfinite(rate) and rate >= 0):
        raise InputError(f"rate must be a finite number of at least 0, got {rate!r}")
    return math.floor(rate * num_edges + 1e-6)  # 0.29 * 100 is a little below 29


def add_random_edges(edges: IntArray, num_nodes: int, rate: float, *, generator: np.random.Generator) -> IntArray:
    """Random noise at a perturbation rate: ``floor(rate * E)`` random pairs without an edge become edges, [E', 2].

    >>> path = np.array([[0, 1], [1, 2], [2, 3]])
    >>> add_random_edges(path, 4, 1.0, generator=np.random.default_rng(0)).tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    count = num_changes(rate, len(edges))
    free = num_nodes * (num_nodes - 1) // 2 - len(np.unique(edges, axis=0))
    if count > free:
        raise InputError(f"rate {rate:g} would add {count} edges, but only {free} pairs of nodes have none")
    return flip_pairs(edges, num_nodes, sample_non_edges(edges, num_nodes, count, generator=generator))


def flip_pairs(edges: IntArray, num_nodes: int, pairs: IntArray) -> IntArray:
    """Canonical edges after each of some distinct pairs u < v was flipped: added, or taken out where it was an edge.

    Parallel edges are one pair: all of them are taken out, or the pair is in the answer once. `with_edges` of a graph
    gives a pair all its edges back.

    >>> flip_pairs(np.array([[0, 1], [1, 2]]), 3, np.array([[0, 2], [0, 1]])).tolist()
    [[0, 2], [1, 2]]
    """
    joined, flipped = (np.unique(some @ [num_nodes, 1]) for some in (edges, pairs))  # u N + v: the order of the pairs
    numbers = np.setxor1d(joined, flipped, assume_unique=True)
    return np.stack([numbers // num_nodes, numbers % num_nodes], axis=1)
