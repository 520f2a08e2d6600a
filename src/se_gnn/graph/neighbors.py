"""The neighbors of each node as rows of a CSR matrix: in memory, mapped, or mapped with further edges beside them.

Shapes: N nodes, E edges.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from se_gnn.files.npy import forget, read_rows, take_rows
from se_gnn.files.scratch import nameless_file, room_for_scratch
from se_gnn.graph.arrays import BoolArray, Int32Array, IntArray
from se_gnn.graph.rows import BLOCK, mapped_scratch, row_ranges


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
