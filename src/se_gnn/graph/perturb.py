"""Noise on the edges: some are replaced by random pairs that are not edges.

The pairs u < v of N nodes are numbered 0 .. P - 1, P = N (N - 1) / 2, in the order of canonical edges. An edge is a
taken number; the r-th free number follows from one binary search, so that sampling free pairs needs no rejection and
takes the same time on an empty and on a nearly complete graph. Shapes: E edges, R replaced edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedEdges:
    """Edges after some were replaced, and the ids of those that were not."""

    edges: IntArray  # canonical: `u < v`, sorted, [E, 2]
    kept: IntArray  # ids in the edges given, ascending, [E - R]
    new: IntArray  # ids of the new edges in `edges`, ascending, [R]

    @property
    def origin(self) -> IntArray:
        """The edge given whose values each edge has: itself, or the one it replaced, [E]; each of them once.

        The values of edges after the change are ``graph.edge_values.take(noisy.origin)``.
        """
        count = len(self.edges)
        is_new, is_kept = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        is_new[self.new], is_kept[self.kept] = True, True
        origin = np.empty(count, np.int64)
        origin[~is_new], origin[is_new] = self.kept, np.flatnonzero(~is_kept)
        return origin


def replace_edges(edges: IntArray, num_nodes: int, share: float, *, generator: np.random.Generator) -> PerturbedEdges:
    """Replace a share of the edges by as many random pairs that are not edges of the graph.

    ``round(share * E)`` edges are replaced, or as many as there are pairs without an edge where those are fewer; the
    number of edges stays. No new pair is a self-loop, a duplicate or one of the edges that were taken out. Of parallel
    edges each is kept or replaced for itself.

    Args:
        edges: canonical edges, as in `Graph.edges`, parallel ones too.
        num_nodes: N.
        share: part of the edges to replace, between 0 and 1.
        generator: source of randomness.

    >>> square = np.array([[0, 1], [0, 3], [1, 2], [2, 3]])
    >>> noisy = replace_edges(square, 4, 0.5, generator=np.random.default_rng(0))
    >>> len(noisy.edges), len(noisy.kept), sorted({(0, 2), (1, 3)} & set(map(tuple, noisy.edges.tolist())))
    (4, 2, [(0, 2), (1, 3)])
    """
    if not 0 <= share <= 1:
        raise InputError(f"share must be between 0 and 1, got {share!r}")
    taken = _pair_numbers(edges, num_nodes)  # [E]
    joined = _distinct(taken)
    count = min(round(share * len(edges)), _num_pairs(num_nodes) - len(joined))
    keep = np.ones(len(edges), dtype=bool)
    keep[generator.choice(len(edges), count, replace=False, shuffle=False)] = False
    added = _sample_free(joined, num_nodes, count, generator)  # [R]
    # two sorted runs: the stable sort of NumPy merges them in one pass
    numbers = np.sort(np.concatenate([taken[keep], added]), kind="stable")
    return PerturbedEdges(
        edges=_pairs(numbers, num_nodes), kept=np.flatnonzero(keep), new=np.searchsorted(numbers, added)
    )


def sample_non_edges(edges: IntArray, num_nodes: int, count: int, *, generator: np.random.Generator) -> IntArray:
    """Distinct random pairs u < v that are not edges, sorted, [count, 2].

    >>> sample_non_edges(np.array([[0, 1], [1, 2]]), 3, 1, generator=np.random.default_rng(0)).tolist()
    [[0, 2]]
    """
    joined = _distinct(_pair_numbers(edges, num_nodes))
    free = _num_pairs(num_nodes) - len(joined)
    if not 0 <= count <= free:
        raise InputError(f"count must be between 0 and the {free} pairs of nodes without an edge, got {count}")
    return _pairs(_sample_free(joined, num_nodes, count, generator), num_nodes)


def _distinct(numbers: IntArray) -> IntArray:
    """Ascending numbers, each once: parallel edges take one pair."""
    repeated = numbers[1:] == numbers[:-1]
    return numbers[np.append(True, ~repeated)] if repeated.any() else numbers


def _num_pairs(num_nodes: int) -> int:
    return num_nodes * (num_nodes - 1) // 2


def _first_numbers(u: IntArray, num_nodes: int) -> IntArray:
    """Number of the pair (u, u + 1) for each u."""
    return u * (2 * num_nodes - u - 1) // 2


def _pair_numbers(edges: IntArray, num_nodes: int) -> IntArray:
    """Number of each pair u < v, [E]; ascending where the edges are sorted."""
    return _first_numbers(edges[:, 0], num_nodes) + (edges[:, 1] - edges[:, 0] - 1)


def _pairs(numbers: IntArray, num_nodes: int) -> IntArray:
    """The pairs u < v of some ascending numbers, [len(numbers), 2]."""
    first = _first_numbers(np.arange(num_nodes), num_nodes)
    ends = np.searchsorted(numbers, first)  # [N] ascending numbers: search N rows in them rather than them in N rows
    u = np.repeat(np.arange(num_nodes), np.diff(ends, append=len(numbers)))
    return np.stack([u, numbers - first[u] + u + 1], axis=1)


def _sample_free(taken: IntArray, num_nodes: int, count: int, generator: np.random.Generator) -> IntArray:
    """Distinct random numbers of pairs that are not taken, ascending, [count]."""
    ranks = generator.choice(_num_pairs(num_nodes) - len(taken), count, replace=False, shuffle=False)
    ranks.sort()
    free_before = taken - np.arange(len(taken))  # [E] free numbers below each taken one
    return ranks + np.searchsorted(free_before, ranks, side="right")
