"""n-hop local graphs as CSR rows of edge ids, never as copies of edges.

`E_s(v)` holds every edge both of whose ends lie within n hops of v. The same edge leads towards the center of one local
graph and away from that of another: a *role* belongs to an edge in a local graph. Shapes: T nodes asked for, E edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from se_gnn.deterministic.threads import map_parts
from se_gnn.graph.arrays import Int32Array, IntArray
from se_gnn.graph.graph import Graph
from se_gnn.graph.ranked_local import ranked_rows
from se_gnn.graph.rows import take

FEWEST, FEWEST_ROLES = 16, 256  # local graphs that are worth a thread
NONE, TOWARDS, AWAY, BETWEEN = range(4)
ROLE_WORDS = (
    "without a direction",
    "towards the center",
    "away from the center",
    "between nodes equally far from the center",
)


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    r"""A local graph of n hops as a union: all edges at its *inner* nodes, those within n - 1 hops, and its *rim*.

    The rim holds the edges between two nodes n hops away. Local graphs share inner nodes, so that what is known of
    the edges at a node serves many of them.

    Shapes:
        - **inner_ptr**, **rim_ptr:** :math:`(T + 1,)`
        - **inner:** node ids, **rim:** edge ids, ascending in a row
    """

    inner_ptr: IntArray
    inner: Int32Array
    rim_ptr: IntArray
    rim: Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class LocalGraphs:
    r"""Local graphs of some nodes: row i holds the edge ids ``edge_ids[ptr[i]:ptr[i + 1]]``, ascending.

    Shapes:
        - **nodes:** :math:`(T,)`
        - **ptr:** :math:`(T + 1,)`
        - **edge_ids:** :math:`(\sum_i |E_s(v_i)|,)`
    """

    nodes: IntArray
    ptr: IntArray
    edge_ids: Int32Array
    num_edges: int  # E, edges of the whole graph
    cover: Cover | None = None  # None: of a part of the edges
    left_out: IntArray | None = None  # [T], nodes within n hops that a limit on the edges left out; None: no limit
    parts: Int32Array | None = None  # of each entry of `edge_ids`: edges match only edges of their part; None: any

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def sizes(self) -> IntArray:
        """Number of edges in each local graph, [T]."""
        return np.diff(self.ptr)

    def row(self, i: int) -> Int32Array:
        """Edge ids of the i-th local graph."""
        return self.edge_ids[self.ptr[i] : self.ptr[i + 1]]

    def union(self) -> IntArray:
        """Ids of the edges that lie in at least one of the local graphs, ascending."""
        mask = np.zeros(self.num_edges, dtype=np.bool_)
        _mark(mask, self.edge_ids)
        return np.flatnonzero(mask)

    def positions(self, among: IntArray) -> Int32Array:
        """Where each entry of ``edge_ids`` stands in ``among``, ascending edge ids that hold them all."""
        if len(among) == self.num_edges:
            return self.edge_ids
        place = np.empty(self.num_edges, np.int32)
        place[among] = np.arange(len(among), dtype=np.int32)
        return place[self.edge_ids]

    def sampled(self, most: int, *, generator: np.random.Generator) -> LocalGraphs:
        """At most ``most`` edges of each local graph, drawn without replacement."""
        rows = [
            np.sort(generator.choice(self.row(i), most, replace=False)) if size > most else self.row(i)
            for i, size in enumerate(self.sizes)
        ]
        ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        edge_ids = np.concatenate([*rows, np.empty(0, np.int32)]).astype(np.int32)
        parts = None
        if self.parts is not None:
            places = [low + np.searchsorted(self.row(i), row) for i, (low, row) in enumerate(zip(self.ptr, rows))]
            parts = self.parts[np.concatenate([*places, np.empty(0, np.int64)]).astype(np.int64)]
        return LocalGraphs(self.nodes, ptr, edge_ids, self.num_edges, parts=parts)

    def of_part(self, part: int) -> LocalGraphs:
        """The edges of one part alone, of the same nodes."""
        assert self.parts is not None
        inside = self.parts == part
        ptr = np.concatenate([[0], np.cumsum(inside)])[self.ptr]
        return LocalGraphs(self.nodes, ptr, self.edge_ids[inside], self.num_edges)

    def select(self, positions: IntArray) -> LocalGraphs:
        """The local graphs at some positions, in that order."""
        ptr, edge_ids = csr_rows(self.ptr, self.edge_ids, positions)
        cover = self.cover
        if cover is not None:
            rows = (csr_rows(cover.inner_ptr, cover.inner, positions), csr_rows(cover.rim_ptr, cover.rim, positions))
            cover = Cover(*rows[0], *rows[1])
        left_out = None if self.left_out is None else self.left_out[positions]
        parts = None if self.parts is None else csr_rows(self.ptr, self.parts, positions)[1]
        return LocalGraphs(self.nodes[positions], ptr, edge_ids, self.num_edges, cover, left_out, parts)


def csr_rows(ptr: IntArray, values: Int32Array, positions: IntArray | Int32Array) -> tuple[IntArray, Int32Array]:
    """Some rows of a CSR matrix: where each begins, and their values."""
    sizes = np.diff(ptr)[positions]
    selected = np.concatenate([[0], np.cumsum(sizes)])
    return selected, values[np.repeat(ptr[positions] - selected[:-1], sizes) + np.arange(selected[-1])]


def local_graphs(graph: Graph, nodes: IntArray, hops: int, max_edges: int | None = None) -> LocalGraphs:
    """Local graphs of ``nodes``: the edges among all nodes within ``hops`` hops of each.

    With ``max_edges`` at most so many edges, among the nodes that a random walk of ``hops`` steps from the center
    reaches most often (:mod:`se_gnn.graph.ranked_local`).

    >>> path = Graph.build(features=[[0.0]] * 4, edges=[[0, 1], [1, 2], [2, 3]], labels=[0, 0, 1, 1])
    >>> local_graphs(path, np.array([0, 1]), hops=2).row(0).tolist()
    [0, 1]
    """
    nodes = np.ascontiguousarray(nodes, dtype=np.int64)
    if max_edges is not None:
        ptr, edge_ids, left_out = ranked_rows(graph, nodes, hops, max_edges)
        return LocalGraphs(nodes, ptr, edge_ids, graph.num_edges, left_out=left_out)
    region = graph.neighbors().around(nodes, hops)
    places = region.places(nodes)
    parts = map_parts(lambda part: _local_edges(*region.arrays, places[part], hops), len(nodes), fewest=FEWEST)
    sizes = np.concatenate([part[0] for part in parts], axis=1)
    starts = np.concatenate([np.zeros((3, 1), np.int64), np.cumsum(sizes, axis=1)], axis=1)
    edge_ids, inner, rim = (np.concatenate([part[which] for part in parts]) for which in (1, 2, 3))
    if region.nodes is not None:  # edges of nodes that joined later have higher ids than those of their neighbors
        edge_ids, rim = _sorted_rows(starts[0], edge_ids), _sorted_rows(starts[2], rim)
    cover = Cover(starts[1], region.ids(inner), starts[2], rim)
    return LocalGraphs(nodes, starts[0], edge_ids, graph.num_edges, cover)


def _sorted_rows(ptr: IntArray, values: Int32Array) -> Int32Array:
    """The values of each row, ascending."""
    return values[np.lexsort((values, np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))))]


@numba.njit(cache=True, nogil=True)
def _mark(mask: npt.NDArray[np.bool_], places: Int32Array) -> None:
    """Half the time of ``mask[places] = True``, which makes wider integers of the places first."""
    for place in places:
        mask[place] = True


# Sorting and searching are written out here: the compiler takes seconds for NumPy's.
@numba.njit(cache=True, nogil=True)
def _sort(values: IntArray, count: int) -> None:
    """Sort the first values in place: a heap, from which the largest is taken again and again."""
    for start in range(count // 2 - 1, -1, -1):
        _sink(values, start, count)
    for end in range(count - 1, 0, -1):
        values[0], values[end] = values[end], values[0]
        _sink(values, 0, end)


@numba.njit(cache=True, nogil=True)
def _sink(values: IntArray, parent: int, end: int) -> None:
    value = values[parent]
    while 2 * parent + 1 < end:
        child = 2 * parent + 1
        if child + 1 < end and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[parent] = values[child]
        parent = child
    values[parent] = value


@numba.njit(cache=True, nogil=True)
def _first_above(values: Int32Array, low: int, high: int, limit: int) -> int:
    """The first place from ``low`` on, of ascending values, that is not below the limit; else ``high``."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def _local_edges(
    indptr: IntArray, indices: Int32Array, ids: Int32Array, nodes: IntArray, hops: int
) -> tuple[IntArray, Int32Array, Int32Array, Int32Array]:
    """Edges, inner nodes and rim of each local graph, one after the other, and how many each has, [3, T]."""
    num_nodes, num_edges = len(indptr) - 1, len(indices)
    seen = np.zeros(num_nodes, np.uint8)  # 1: inside the local graph, 2: at its outermost hop; a byte: in the cache
    ball = np.empty(num_nodes, np.int64)
    sizes = np.empty((3, len(nodes)), np.int64)
    edge_ids, inner, rim = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    first, first_inner, first_rim = 0, 0, 0
    for t in range(len(nodes)):
        ball[0] = nodes[t]
        seen[nodes[t]] = 1
        start, end = 0, 1
        for hop in range(hops):
            code = 1 + (hop == hops - 1)
            frontier_end = end
            for b in range(start, frontier_end):
                for j in range(indptr[ball[b]], indptr[ball[b] + 1]):
                    v = indices[j]
                    if seen[v] == 0:
                        seen[v] = code
                        ball[end] = v
                        end += 1
            start = frontier_end
        inner = _with_room(inner, first_inner, start)
        for b in range(start):
            inner[first_inner + b] = ball[b]
        most = 0
        for b in range(end):
            most += indptr[ball[b] + 1] - indptr[ball[b]]
        edge_ids = _with_room(edge_ids, first, min(most, num_edges))
        rim = _with_room(rim, first_rim, min(most, num_edges))
        _sort(ball, end)  # so that the edge ids come out ascending
        count, at_rim = 0, 0
        for b in range(end):
            u = ball[b]
            for j in range(_first_above(indices, indptr[u], indptr[u + 1], u), indptr[u + 1]):
                v = indices[j]
                if seen[v] > 0:
                    edge_ids[first + count] = ids[j]
                    count += 1
                    if seen[u] == 2 and seen[v] == 2:
                        rim[first_rim + at_rim] = ids[j]
                        at_rim += 1
        for b in range(end):
            seen[ball[b]] = 0
        sizes[0, t], sizes[1, t], sizes[2, t] = count, start, at_rim
        first, first_inner, first_rim = first + count, first_inner + start, first_rim + at_rim
    return sizes, edge_ids[:first], inner[:first_inner], rim[:first_rim]


@numba.njit(cache=True, nogil=True)
def _with_room(values: Int32Array, held: int, more: int) -> Int32Array:
    """The same array, or a copy of the values it holds with room for more."""
    if held + more <= len(values):
        return values
    larger = np.empty(max(held + more, len(values) + len(values) // 2), np.int32)
    larger[:held] = values[:held]
    return larger


def edge_roles(graph: Graph, local: LocalGraphs, hops: int) -> Int32Array:
    r"""The role of each edge of each local graph, :math:`(\sum_i |E_s(v_i)|,)`, in the order of ``local.edge_ids``.

    An edge leads *towards* the center if it ends at a node that is fewer hops away than the one it starts at, *away*
    if it ends at one that is more, *between* if both are equally far; an edge without a direction has no role.
    """
    direction = None if graph.edge_values is None else graph.edge_values.direction
    if direction is None:
        return np.zeros(len(local.edge_ids), np.int32)
    region = graph.neighbors().around(local.nodes, hops)
    centers, num_nodes = region.places(local.nodes), len(region.indptr) - 1
    used = local.union()
    entries = local.positions(used)
    ends, leads = region.places(graph.edges.pairs.take(used)), take(direction, used)
    roles = np.empty(len(local.edge_ids), np.int32)

    def decide(part: slice) -> None:
        away = np.full(num_nodes, hops + 1)  # hops from the center
        reached = np.empty(num_nodes, np.int64)
        ptr = local.ptr[part.start : part.stop + 1]
        _roles(region.indptr, region.indices, ends, leads, centers[part], ptr, entries, hops, away, reached, roles)

    map_parts(decide, len(local), fewest=FEWEST_ROLES)
    return roles


@numba.njit(cache=True, nogil=True)
def _roles(
    indptr: IntArray,
    indices: Int32Array,
    ends: IntArray,
    direction: npt.NDArray[np.int8],
    nodes: IntArray,
    ptr: IntArray,
    entries: Int32Array,
    hops: int,
    away: IntArray,
    reached: IntArray,
    roles: Int32Array,
) -> None:
    for t in range(len(nodes)):
        reached[0] = nodes[t]
        away[nodes[t]] = 0
        start, end = 0, 1
        for hop in range(1, hops + 1):
            last = end
            for b in range(start, last):
                for j in range(indptr[reached[b]], indptr[reached[b] + 1]):
                    v = indices[j]
                    if away[v] > hops:
                        away[v] = hop
                        reached[end] = v
                        end += 1
            start = last
        for m in range(ptr[t], ptr[t + 1]):
            edge = entries[m]
            step = (away[ends[edge, 1]] - away[ends[edge, 0]]) * direction[edge]  # hops that it leads away
            if direction[edge] == 0:
                roles[m] = 0
            else:
                roles[m] = 1 if step < 0 else 2 if step > 0 else 3
        for b in range(end):
            away[reached[b]] = hops + 1
