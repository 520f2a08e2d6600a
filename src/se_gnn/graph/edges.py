"""The edges of a graph: every undirected edge once, sorted, what each carries, and the neighbors of each node.

Edges come in any order and direction. Without values, (u, v) and (v, u) and the same pair given again are one edge.
With values, two edges are the same edge given twice only where everything agrees: ends, direction, weight, type,
attributes, time and the cells that are shown. Shapes: N nodes, E edges.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.files.npy import forget, read_rows, take_rows
from se_gnn.files.writing import nameless_file, room_for_scratch
from se_gnn.graph.arrays import BoolArray, Int32Array, IntArray, as_integers
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.rows import BLOCK, Rows, as_rows, filtered, mapped_scratch, row_ranges


class Region(NamedTuple):
    """Rows for compiled code to walk over: those of all nodes, or, cut out of a larger graph, those of ``nodes``.

    Shapes:
        - **indptr:** :math:`(n + 1,)`, **indices**, **edge_ids:** as in :class:`Csr`
        - **nodes:** :math:`(n,)` ids in the graph, ascending; None: all nodes
    """

    indptr: IntArray
    indices: Int32Array
    edge_ids: Int32Array
    nodes: IntArray | None = None

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """Where each row begins, neighbors, edges."""
        return self.indptr, self.indices, self.edge_ids

    def places(self, nodes: IntArray) -> IntArray:
        """Where some nodes of the graph stand in the region."""
        return nodes if self.nodes is None else np.searchsorted(self.nodes, nodes)

    def ids(self, places: Int32Array) -> Int32Array:
        """The nodes of the graph that stand at some places."""
        return places if self.nodes is None else self.nodes[places].astype(np.int32)


@dataclass(frozen=True, eq=False)
class Csr:
    r"""Row i holds the neighbors of node i, ascending, and by which edge each is one; parallel edges side by side.

    Args:
        indptr: where each row begins.
        indices: the neighbors.
        edge_ids: the edge to each.
        later: rows of all nodes with further edges, whose ids come after; None: there are none.

    Shapes:
        - **indptr:** :math:`(N + 1,)`
        - **indices**, **edge_ids:** :math:`(2 E,)`
    """

    indptr: IntArray
    indices: Int32Array
    edge_ids: Int32Array
    later: Csr | None = None

    @classmethod
    def of(cls, ends: IntArray, num_nodes: int) -> Csr:
        """From all edges, sorted pairs u < v.

        >>> csr = Csr.of(np.array([[0, 1], [0, 2], [1, 2]]), 4)
        >>> csr.indptr.tolist(), csr.indices.tolist(), csr.edge_ids.tolist()
        ([0, 2, 4, 6, 6], [1, 2, 0, 2, 0, 1], [0, 1, 0, 2, 1, 2])
        """
        u, v = ends[:, 0], ends[:, 1]
        count = np.arange(len(ends), dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(u, minlength=num_nodes))])
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
        sizes = np.zeros(len(nodes), np.int64)
        first = np.asarray(self.indptr[known])
        sizes[: len(known)] = self.indptr[known + 1] - first
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(first - ptr[: len(known)], sizes[: len(known)]) + np.arange(ptr[-1])
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
        indptr = self.indptr if self.later is None else np.concatenate([[0], np.cumsum(self.degrees)])
        for low, high in row_ranges(indptr, budget // self.indices.itemsize):
            if self.later is None:
                ptr = np.asarray(indptr[low : high + 1])
                yield low, ptr - ptr[0], read_rows(self.indices, int(ptr[0]), int(ptr[-1]))
            else:
                yield low, *self.rows(np.arange(low, high))[:2]

    def row_blocks(self, budget: int = BLOCK) -> Iterator[tuple[int, IntArray, Int32Array, Int32Array]]:
        """As :meth:`blocks`, with the edges to the neighbors."""
        indptr = np.concatenate([[0], np.cumsum(self.degrees)])
        for low, high in row_ranges(indptr, budget // (2 * self.indices.itemsize)):
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
        indptr = np.concatenate([[0], np.cumsum(inside)])[ptr]
        return Region(indptr, places[inside].astype(np.int32), edge_ids[inside], reached.astype(np.int64))

    def followed_by(self, later: Csr) -> Csr:
        """These rows, with those of all nodes for further edges beside them."""
        return dataclasses.replace(self, later=later if self.later is None else self.later.followed_by(later))

    def keep(self, kept: BoolArray) -> Csr:
        """The rows with some edges only, [E], which are numbered anew; in files without a name, as the rows are."""
        numbers = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        degrees = np.zeros(len(self), np.int64)
        with room_for_scratch(), nameless_file() as indices, nameless_file() as edge_ids:
            for low, ptr, others, ids in self.row_blocks():
                inside = kept[ids]
                degrees[low : low + len(ptr) - 1] = np.diff(np.concatenate([[0], np.cumsum(inside)])[ptr])
                indices.write(np.ascontiguousarray(others[inside]).data)
                edge_ids.write(np.ascontiguousarray(numbers[ids[inside]]).data)
            shape = (int(degrees.sum()),)
            for file in (indices, edge_ids):
                file.flush()
            neighbors, numbered = (mapped_scratch(file, np.int32, shape) for file in (indices, edge_ids))
        return Csr(np.concatenate([[0], np.cumsum(degrees)]), neighbors, numbered)

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
        """The two ends of each edge, [E, 2]; mapped from files they can be indexed by edges alone."""
        found: IntArray = self.pairs.indexed()
        return found

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
        return dataclasses.replace(
            self,
            pairs=as_rows(filtered(self.pairs, kept)),
            values=None if self.values is None else self.values.keep(kept),
            csr=None if self.pairs.in_memory else self.neighbors.keep(kept),
            verified=True,
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
    columns = [ends, *(getattr(values, name) for name in values.edge_data)]
    columns += [values.raw.codes] if values.raw is not None and values.raw.columns else []
    rows = [np.ascontiguousarray(column).reshape(count, -1).view(np.uint8) for column in columns]
    packed = np.ascontiguousarray(np.concatenate(rows, axis=1))
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    return np.asarray(first[group], np.int64)
