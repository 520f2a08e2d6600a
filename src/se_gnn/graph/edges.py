"""The edges of a graph: every undirected edge once, sorted, what each carries, and the neighbors of each node.

Edges come in any order and direction. Without values, (u, v) and (v, u) and the same pair given again are one edge.
With values, two edges are the same edge given twice only where everything agrees: ends, direction, weight, type,
attributes, time and the cells that are shown. Shapes: N nodes, E edges.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.files.npy import forget, read_rows, take_rows
from se_gnn.graph.arrays import BoolArray, Int32Array, IntArray, as_integers, check_length, row_entries, row_starts
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.rows import BLOCK, Rows, as_rows, filtered, mapped_scratch, row_ranges


class Region(NamedTuple):
    """Rows as in :class:`Csr`, for compiled code to walk over: of all nodes, or, cut out of a larger graph, of some."""

    indptr: IntArray  # [n + 1]
    indices: Int32Array
    edge_ids: Int32Array
    nodes: IntArray | None = None  # ids in the graph, ascending, [n]; None: all nodes

    def places(self, nodes: IntArray) -> IntArray:
        """Where some nodes of the graph stand in the region."""
        return nodes if self.nodes is None else np.searchsorted(self.nodes, nodes)


@dataclass(frozen=True, eq=False)
class Csr:
    """Row i holds the neighbors of node i, ascending, and by which edge each is one; parallel edges side by side."""

    indptr: IntArray  # where each row begins, [N + 1]
    indices: Int32Array  # the neighbors, [2E]
    edge_ids: Int32Array  # the edge to each, [2E]
    later: Csr | None = None  # rows of all nodes with further edges, whose ids come after; None: there are none

    @classmethod
    def of(cls, ends: IntArray, num_nodes: int) -> Csr:
        """From all edges, sorted pairs u < v.

        >>> csr = Csr.of(np.array([[0, 1], [0, 2], [1, 2]]), 4)
        >>> csr.indptr.tolist(), csr.indices.tolist(), csr.edge_ids.tolist()
        ([0, 2, 4, 6, 6], [1, 2, 0, 2, 0, 1], [0, 1, 0, 2, 1, 2])
        """
        u, v = ends[:, 0], ends[:, 1]
        count = np.arange(len(ends), dtype=np.int64)
        starts = row_starts(np.bincount(u, minlength=num_nodes))
        upper = sp.csr_array((count.astype(np.int32), v, starts), shape=(num_nodes, num_nodes))
        lower = upper.tocsc()  # by the higher end; a counting sort, parallel edges stay
        indptr = starts + lower.indptr.astype(np.int64)
        indices, edge_ids = np.empty(2 * len(ends), np.int32), np.empty(2 * len(ends), np.int32)
        place = count + np.repeat(starts[:-1], np.diff(lower.indptr))
        indices[place], edge_ids[place] = lower.indices, lower.data
        place = count + lower.indptr[u + 1]
        indices[place], edge_ids[place] = v, count
        return cls(indptr, indices, edge_ids)

    def __len__(self) -> int:
        return len(self.indptr) - 1 if self.later is None else len(self.later)

    @cached_property
    def degrees(self) -> IntArray:
        """Number of edges at each node, [N]."""
        found = np.diff(self.indptr)
        if self.later is not None:
            found = np.concatenate([found, np.zeros(len(self) - len(found), np.int64)]) + self.later.degrees
        return found

    def rows(self, nodes: IntArray) -> tuple[IntArray, Int32Array, Int32Array]:
        """The rows of some nodes, ascending: where each begins, neighbors, edges; all in memory."""
        known = nodes[nodes < len(self.indptr) - 1]
        ptr, entries = row_entries(self.indptr, known)
        ptr = np.concatenate([ptr, np.full(len(nodes) - len(known), ptr[-1])])
        indices, edge_ids = take_rows(self.indices, entries), take_rows(self.edge_ids, entries)
        if self.later is None:
            return ptr, indices, edge_ids
        further = self.later.rows(nodes)
        row = np.concatenate([np.repeat(np.arange(len(nodes)), np.diff(one)) for one in (ptr, further[0])])
        indices, edge_ids = np.concatenate([indices, further[1]]), np.concatenate([edge_ids, further[2]])
        order = np.lexsort((edge_ids, indices, row))
        return ptr + further[0], indices[order], edge_ids[order]

    def blocks(self, budget: int = BLOCK) -> Iterator[tuple[int, IntArray, Int32Array]]:
        """All rows in their order: the first node of each block, where its rows begin, and the neighbors."""
        indptr = self.indptr if self.later is None else row_starts(self.degrees)
        for low, high in row_ranges(indptr, budget // self.indices.itemsize):
            if self.later is None:
                ptr = np.asarray(indptr[low : high + 1])
                yield low, ptr - ptr[0], read_rows(self.indices, int(ptr[0]), int(ptr[-1]))
            else:
                yield low, *self.rows(np.arange(low, high))[:2]

    def row_blocks(self, budget: int = BLOCK) -> Iterator[tuple[int, IntArray, Int32Array, Int32Array]]:
        """As :meth:`blocks`, with the edges to the neighbors."""
        for low, high in row_ranges(row_starts(self.degrees), budget // (2 * self.indices.itemsize)):
            yield low, *self.rows(np.arange(low, high))

    def around(self, nodes: IntArray, hops: int) -> Region:
        """What a walk of ``hops`` steps from some nodes can see.

        Without further edges these are the arrays themselves. Else the nodes within reach are cut out, with all edges
        among them: those less than ``hops`` away have all their neighbors, and ids keep their order.
        """
        if self.later is None:
            return Region(self.indptr, self.indices, self.edge_ids)
        reached = frontier = np.unique(nodes)
        for _ in range(hops):
            frontier = np.setdiff1d(self.rows(frontier)[1], reached)
            reached = np.union1d(reached, frontier)
        ptr, indices, edge_ids = self.rows(reached)
        places = np.minimum(np.searchsorted(reached, indices), len(reached) - 1)
        inside = reached[places] == indices
        indptr = row_starts(inside)[ptr]
        return Region(indptr, places[inside].astype(np.int32), edge_ids[inside], reached.astype(np.int64))

    def followed_by(self, later: Csr) -> Csr:
        """These rows, with those of all nodes for further edges beside them."""
        return dataclasses.replace(self, later=later if self.later is None else self.later.followed_by(later))

    def keep(self, kept: BoolArray) -> Csr:
        """The same rows with some of the edges, by a mask, [E], renumbered; written to files without a name."""
        numbers = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        degrees = [np.diff(row_starts(kept[ids])[ptr]) for _, ptr, _, ids in self.row_blocks()]
        indices = mapped_scratch((others[kept[ids]] for *_, others, ids in self.row_blocks()), np.int32)
        edge_ids = mapped_scratch((numbers[ids[kept[ids]]] for *_, ids in self.row_blocks()), np.int32)
        return Csr(row_starts(np.concatenate(degrees)), indices, edge_ids)

    def release(self) -> None:
        """Give the pages of mapped rows back."""
        forget(self.indptr, self.indices, self.edge_ids)


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
    """Every undirected edge once; :meth:`build` makes them from any list. Read-only."""

    # the two ends of each edge, `u < v`, sorted, [E, 2]; with `values` they may come again; an id is a position
    pairs: Rows
    num_nodes: int  # N, nodes of the graph
    values: EdgeValues | None = None  # the data of each edge besides its ends; None: nothing
    merged: EdgeReport = EdgeReport()  # what `build` merged away
    csr: Csr | None = None  # the same edges as neighbors of each node; None: computed when asked for

    def __post_init__(self) -> None:
        if self.pairs.shape[1:] != (2,):
            raise InputError(f"edges must have two ends each, got an array of shape {self.pairs.shape}")
        check_length("edge_values", self.values, "row per edge", len(self))

    @classmethod
    def build(cls, edges: Any, num_nodes: int, values: EdgeValues | None = None) -> Edges:
        """From edges in any order and direction; duplicates and self-loops are merged and counted.

        With ``values``, one row per edge as given, direction +1 from its first end to its second, parallel edges are
        all kept; only edges that agree in everything are merged.
        """
        pairs = as_pairs(edges)
        check_edge_ends(pairs, num_nodes)
        check_length("edge_values", values, "row per edge", len(pairs))
        canonical, _, values, report = canonical_edges(pairs, num_nodes, values)
        canonical.setflags(write=False)
        return cls(pairs=as_rows(canonical), num_nodes=num_nodes, values=values, merged=report)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def ends(self) -> IntArray:
        """The two ends of each edge, [E, 2]; mapped from files they can be indexed by edges alone."""
        found: IntArray = self.pairs.indexed()
        return found

    def keys(self) -> IntArray:
        """The two ends of each edge as one number, ascending, [E]."""
        return self.ends[:, 0] * self.num_nodes + self.ends[:, 1]

    @cached_property
    def neighbors(self) -> Csr:
        """The same edges as neighbors of each node."""
        return Csr.of(self.ends, self.num_nodes) if self.csr is None else self.csr

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Symmetric CSR matrix [N, N] whose stored values are edge ids, columns sorted; parallel edges side by side."""
        self.pairs.whole()  # refused where they are mapped
        csr = self.neighbors
        arrays = (csr.edge_ids.astype(np.int64), csr.indices, csr.indptr)
        return sp.csr_array(arrays, shape=(self.num_nodes, self.num_nodes))

    def keep(self, kept: BoolArray) -> Edges:
        """Some of the edges, by a mask, renumbered."""
        return dataclasses.replace(
            self,
            pairs=as_rows(filtered(self.pairs, kept)),
            values=None if self.values is None else self.values.with_rows(lambda rows: filtered(rows, kept)),
            csr=None if self.pairs.in_memory else self.neighbors.keep(kept),
        )


def as_pairs(edges: Any) -> IntArray:
    """Pairs of nodes, [E, 2]."""
    if np.size(edges) == 0:
        return np.empty((0, 2), np.int64)
    pairs = as_integers(edges, "edges")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        # reshaping a [2, E] array to pairs would silently give a different graph
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


def canonical_edges(
    pairs: IntArray, num_nodes: int, values: EdgeValues | None = None, cells: IntArray | None = None
) -> tuple[IntArray, IntArray, EdgeValues | None, EdgeReport]:
    """Sorted pairs u < v, the given edge of each, its values, and what was merged.

    Without values each pair comes once. With values parallel edges stay, in the order given, unless they agree in
    everything; the direction of an edge whose ends are swapped is reversed with it. Cells that are shown, but not kept
    with the values, are compared by a digest of each row, ``cells``.

    >>> values = EdgeValues(direction=np.array([1, 1, 1, 1], np.int8))
    >>> pairs = np.array([[2, 0], [0, 2], [0, 2], [1, 1]])
    >>> edges, given, kept, report = canonical_edges(pairs, 3, values)
    >>> edges.tolist(), given.tolist(), kept.direction.tolist(), report.duplicates, report.self_loops
    ([[0, 2], [0, 2]], [0, 1], [-1, 1], 1, 1)
    """
    proper = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
    swapped = pairs[proper, 0] > pairs[proper, 1]
    ends = np.stack([np.minimum(*pairs[proper].T), np.maximum(*pairs[proper].T)], axis=1)
    keys = ends[:, 0] * num_nodes + ends[:, 1]
    held = None if values is None else values.take(proper).reversed(swapped)
    known = keys if held is None else _packed([keys, *([] if cells is None else [cells[proper]])], held)
    _, kept, group = np.unique(known, return_index=True, return_inverse=True)  # the first of those that agree
    ways = np.zeros((len(kept), 2), np.bool_)
    ways[group, swapped.astype(np.int8)] = True
    reciprocal = int(ways.all(axis=1).sum())
    if held is not None:
        kept = kept[np.lexsort((kept, keys[kept]))]
        held = held.take(kept)
    report = EdgeReport(
        given=len(pairs),
        self_loops=len(pairs) - len(proper),
        reciprocal=reciprocal,
        duplicates=len(proper) - len(kept) - reciprocal,
    )
    return ends[kept], proper[kept], held, report


def _packed(keys: list[IntArray], values: EdgeValues) -> npt.NDArray[Any]:
    """The bytes of all that is known of each edge, [E]."""
    columns = [*keys, *(getattr(values, name) for name in values.edge_data)]
    columns += [] if values.raw is None else [values.raw.codes]
    rows = [np.ascontiguousarray(one).reshape(len(one), -1).view(np.uint8) for one in columns if one.size]
    packed = np.concatenate(rows, axis=1) if rows else np.empty((0, 1), np.uint8)
    return packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
