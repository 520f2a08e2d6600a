"""The edges of a graph: every undirected edge once, sorted, and what each carries. Shapes: E edges.

Edges come in any order and direction. Without values, (u, v) and (v, u) and the same pair given again are one edge.
With values, two edges are the same edge given twice only where everything agrees: ends, direction, weight, type,
attributes, time and the cells that are shown.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import BoolArray, IntArray, as_integers
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.neighbors import Csr
from se_gnn.graph.rows import Rows, as_rows, filtered


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Edges:
    """Every undirected edge once; :meth:`build` makes them from any list. Checked on construction, read-only after.

    Args:
        pairs: the two ends of each edge as ``u < v``, sorted; with ``values`` the same ends may come again. The id of
            an edge is its position.
        num_nodes: N, nodes of the graph.
        values: what each edge carries besides its ends; None: nothing.
        merged: what :meth:`build` merged away.
        csr: the same edges as neighbors of each node; None: computed when asked for.
        verified: pairs and neighbors were checked when the files were opened; only sizes are looked at.

    Shapes:
        - **pairs:** :math:`(E, 2)`
    """

    pairs: Rows
    num_nodes: int
    values: EdgeValues | None = None
    merged: EdgeReport = EdgeReport()
    csr: Csr | None = None
    verified: InitVar[bool] = False

    def __post_init__(self, verified: bool) -> None:
        object.__setattr__(self, "pairs", as_rows(self.pairs))
        if self.values is not None and len(self.values) != len(self):
            raise InputError(f"edge_values must have one row per edge ({len(self)}), got {len(self.values)}")
        if verified:
            return
        ends = self.ends
        check_edge_ends(ends, self.num_nodes)
        if not is_sorted(ends, self.num_nodes, once=self.values is None):
            each = ", each once" if self.values is None else ""
            raise InputError(f"edges must be sorted pairs u < v{each}; Graph.build makes them so")
        ends.setflags(write=False)

    @classmethod
    def build(cls, edges: Any, num_nodes: int, values: EdgeValues | None = None) -> Edges:
        """From edges in any order and direction; duplicates and self-loops are merged and counted.

        With ``values``, one row per edge as given, direction +1 from its first end to its second, parallel edges are
        all kept; only edges that agree in everything are merged.
        """
        pairs = as_pairs(edges)
        check_edge_ends(pairs, num_nodes)
        if values is None:
            canonical, _, report = canonical_edges(pairs, num_nodes)
        else:
            if len(values) != len(pairs):
                raise InputError(f"edge_values must have one row per edge ({len(pairs)}), got {len(values)}")
            canonical, _, values, report = canonical_valued_edges(pairs, values, num_nodes)
        return cls(pairs=as_rows(canonical), num_nodes=num_nodes, values=values, merged=report)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def ends(self) -> IntArray:
        """The two ends of each edge, [E, 2], in memory; refused where they are mapped from files."""
        found: IntArray = self.pairs.whole()
        return found

    @cached_property
    def neighbors(self) -> Csr:
        """The same edges as neighbors of each node."""
        return Csr.of(self.ends, self.num_nodes) if self.csr is None else self.csr

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Symmetric CSR matrix [N, N] whose stored values are edge ids, columns sorted; parallel edges side by side."""
        _ = self.ends  # refused where they are mapped
        csr = self.neighbors
        arrays = (csr.edge_ids.astype(np.int64), csr.indices, csr.indptr)
        return sp.csr_array(arrays, shape=(self.num_nodes, self.num_nodes))

    @cached_property
    def most_parallel(self) -> int:
        """At least as many as the most edges that join one pair of nodes."""
        if self.values is None:
            return 1
        most = run = sections = 1
        last = -1
        for _, ends in self.pairs.blocks():
            keys = np.concatenate([[last], ends[:, 0] * self.num_nodes + ends[:, 1]])
            sections += int((np.diff(keys) < 0).sum())  # edges of new nodes come after all others
            lengths = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(keys) != 0, [True]])))
            lengths[0] += run - 1  # the run goes on from the block before
            most, run, last = max(most, int(lengths.max())), int(lengths[-1]), int(keys[-1])
        return most * sections

    def keep(self, kept: BoolArray) -> Edges:
        """Some of the edges, by a mask; they are numbered anew."""
        return Edges(
            pairs=as_rows(filtered(self.pairs, kept)),
            num_nodes=self.num_nodes,
            values=None if self.values is None else self.values.keep(kept),
            merged=self.merged,
            csr=None if self.pairs.in_memory else self.neighbors.keep(kept),
            verified=True,
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


def is_sorted(edges: IntArray, num_nodes: int, *, once: bool) -> bool:
    """Whether edges are sorted pairs u < v, each once or parallel ones side by side."""
    steps = np.diff(edges[:, 0] * num_nodes + edges[:, 1])
    return bool((edges[:, 0] < edges[:, 1]).all() and (steps > 0 if once else steps >= 0).all())


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
