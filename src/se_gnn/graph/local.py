"""n-hop local graphs as CSR rows of edge ids, never as copies of edges, whole or with a limit on their edges.

`E_s(v)` holds every edge both of whose ends lie within n hops of v. The same edge leads towards the center of one local
graph and away from that of another: a *role* belongs to an edge in a local graph.

With a limit, a local graph holds the nodes that a short random walk from the center reaches most often. A walk starts
at the center, stops before each step with probability `TELEPORT` and otherwise goes to a random neighbor, at most n
times. The share of walks that end at a node is its personalized PageRank of n steps. Nodes join the local graph from
the largest share to the smallest (the center first, of equals the lowest id first), each with its edges to those that
are there already, as long as at most M edges are in it. So the local graph of a hub stays as small as any.

Two shares that are equal on paper can be computed from different fractions and then differ in their last bits. Shares
that differ by less than one part in 2^40 therefore count as equal; rounding errors are much smaller than that.
Shapes: T nodes asked for, E edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.layers import map_parts
from se_gnn.graph.arrays import Int32Array, IntArray, row_entries, row_starts
from se_gnn.graph.graph import Graph
from se_gnn.graph.rows import take

TELEPORT = 0.2
EQUAL = 2.0**-40  # shares that differ by a smaller part of themselves are equal
MAX_NODES = 32  # of a local graph with a limit, the center included
FEWEST, FEWEST_SMALL = 16, 256  # local graphs that are worth a thread; those with a limit, or only their roles
NONE, TOWARDS, AWAY, BETWEEN = range(4)
ROLE_WORDS = (
    "without a direction",
    "towards the center",
    "away from the center",
    "between nodes equally far from the center",
)


@dataclass(frozen=True, slots=True, eq=False)
class LocalGraphs:
    """Local graphs of some nodes: row i holds the edge ids ``edge_ids[ptr[i]:ptr[i + 1]]``, ascending."""

    nodes: IntArray  # [T]
    ptr: IntArray  # [T + 1]
    edge_ids: Int32Array
    num_edges: int  # E, edges of the whole graph
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
        ptr = row_starts([len(row) for row in rows])
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
        ptr = row_starts(inside)[self.ptr]
        return LocalGraphs(self.nodes, ptr, self.edge_ids[inside], self.num_edges)

    def select(self, positions: IntArray) -> LocalGraphs:
        """The local graphs at some positions, in that order."""
        ptr, edge_ids = csr_rows(self.ptr, self.edge_ids, positions)
        left_out = None if self.left_out is None else self.left_out[positions]
        parts = None if self.parts is None else csr_rows(self.ptr, self.parts, positions)[1]
        return LocalGraphs(self.nodes[positions], ptr, edge_ids, self.num_edges, left_out, parts)


def csr_rows(ptr: IntArray, values: Int32Array, positions: IntArray | Int32Array) -> tuple[IntArray, Int32Array]:
    """Some rows of a CSR matrix: where each begins, and their values."""
    selected, entries = row_entries(ptr, positions)
    return selected, values[entries]


def local_graphs(graph: Graph, nodes: IntArray, hops: int, max_edges: int | None = None) -> LocalGraphs:
    """Local graphs of ``nodes``: the edges among all nodes within ``hops`` hops of each.

    With ``max_edges``, each has at most that many edges, among the nodes that a random walk of ``hops`` steps from the
    center reaches most often (:mod:`se_gnn.graph.local`).

    >>> path = Graph.build(features=[[0.0]] * 4, edges=[[0, 1], [1, 2], [2, 3]], labels=[0, 0, 1, 1])
    >>> local_graphs(path, np.array([0, 1]), hops=2).row(0).tolist()
    [0, 1]
    """
    nodes = np.ascontiguousarray(nodes, dtype=np.int64)
    region = graph.neighbors().around(nodes, hops)
    places = region.places(nodes)

    def edges_of(part: slice) -> tuple[IntArray, Int32Array, IntArray]:
        if max_edges is not None:
            return _ranked_edges(*region[:3], places[part], hops, max_edges)
        sizes, edge_ids = _local_edges(*region[:3], places[part], hops)
        ptr = row_starts(sizes).astype(np.int32 if len(edge_ids) < 2**31 else np.int64)
        rows = sp.csr_array((np.empty(len(edge_ids), np.int8), edge_ids, ptr), shape=(len(sizes), graph.num_edges))
        rows.sort_indices()
        return sizes, rows.indices.astype(np.int32, copy=False), sizes

    parts = map_parts(edges_of, len(nodes), fewest=FEWEST if max_edges is None else FEWEST_SMALL)
    sizes, edge_ids, left_out = map(np.concatenate, zip(*parts))
    return LocalGraphs(
        nodes, row_starts(sizes), edge_ids, graph.num_edges, left_out=None if max_edges is None else left_out
    )


@compiled
def _mark(mask: npt.NDArray[np.bool_], places: Int32Array) -> None:
    """Half the time of ``mask[places] = True``, which makes wider integers of the places first."""
    for place in places:
        mask[place] = True


@compiled
def _ball(
    indptr: IntArray, indices: Int32Array, center: int, hops: int, away: npt.NDArray[np.int8], reached: IntArray
) -> int:
    """Write the nodes within reach into ``reached``, and their hops from the center into ``away``; how many there are.

    ``away`` is -1 for all other nodes, a byte each: they stay in the cache.
    """
    reached[0] = center
    away[center] = 0
    start, end = 0, 1
    for hop in range(1, hops + 1):
        last = end
        for b in range(start, last):
            for j in range(indptr[reached[b]], indptr[reached[b] + 1]):
                v = indices[j]
                if away[v] < 0:
                    away[v] = hop
                    reached[end] = v
                    end += 1
        start = last
    return end


@compiled
def _local_edges(
    indptr: IntArray, indices: Int32Array, ids: Int32Array, nodes: IntArray, hops: int
) -> tuple[IntArray, Int32Array]:
    """How many edges each local graph has, [T], and the edges, one local graph after the other, unsorted."""
    num_nodes, num_edges = len(indptr) - 1, len(indices)
    away, ball = np.full(num_nodes, -1, np.int8), np.empty(num_nodes, np.int64)
    sizes, edge_ids, first = np.empty(len(nodes), np.int64), np.empty(1024, np.int32), 0
    for t in range(len(nodes)):
        end = _ball(indptr, indices, nodes[t], hops, away, ball)
        most = 0
        for b in range(end):
            most += indptr[ball[b] + 1] - indptr[ball[b]]
        edge_ids = _with_room(edge_ids, first, min(most, num_edges))
        last = first
        for b in range(end):
            u = ball[b]
            for j in range(indptr[u], indptr[u + 1]):
                if indices[j] > u and away[indices[j]] >= 0:
                    edge_ids[last] = ids[j]
                    last += 1
        for b in range(end):
            away[ball[b]] = -1
        sizes[t], first = last - first, last
    return sizes, edge_ids[:first]


@compiled
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
    centers, used = region.places(local.nodes), local.union()
    entries = local.positions(used)
    ends, leads = region.places(graph.edges.pairs.take(used)), take(direction, used)
    roles = np.empty(len(local.edge_ids), np.int32)

    def decide(part: slice) -> None:
        ptr = local.ptr[part.start : part.stop + 1]
        _roles(region.indptr, region.indices, ends, leads, centers[part], ptr, entries, hops, roles)

    map_parts(decide, len(local), fewest=FEWEST_SMALL)
    return roles


@compiled
def _roles(
    indptr: IntArray,
    indices: Int32Array,
    ends: IntArray,
    direction: npt.NDArray[np.int8],
    nodes: IntArray,
    ptr: IntArray,
    entries: Int32Array,
    hops: int,
    roles: Int32Array,
) -> None:
    away, reached = np.full(len(indptr) - 1, -1, np.int8), np.empty(len(indptr) - 1, np.int64)
    for t in range(len(nodes)):
        end = _ball(indptr, indices, nodes[t], hops, away, reached)
        for m in range(ptr[t], ptr[t + 1]):
            edge = entries[m]
            step = (away[ends[edge, 1]] - away[ends[edge, 0]]) * direction[edge]  # hops that it leads away
            roles[m] = 0 if direction[edge] == 0 else 1 if step < 0 else 2 if step > 0 else 3
        for b in range(end):
            away[reached[b]] = -1


@compiled(error_model="numpy")
def _ranked_edges(
    indptr: IntArray,
    indices: Int32Array,
    ids: Int32Array,
    nodes: IntArray,
    hops: int,
    max_edges: int,
) -> tuple[IntArray, Int32Array, IntArray]:
    """How many edges each local graph has, these, ascending, and how many nodes within reach it leaves out."""
    sizes, left_out = np.empty(len(nodes), np.int64), np.empty(len(nodes), np.int64)
    edge_ids, first = np.empty(1024, np.int32), 0
    num_nodes = len(indptr) - 1
    share, arriving, inside = np.zeros(num_nodes), np.zeros(num_nodes), np.zeros(num_nodes, np.bool_)
    reached, nearest = np.empty(num_nodes, np.int64), np.empty(MAX_NODES, np.int64)
    for t in range(len(nodes)):
        center = nodes[t]
        count = _walk(indptr, indices, center, hops, share, arriving, reached)
        share[center] = 2.0  # first
        num_edges, num_inside = 0, 0
        for n in range(_largest(reached, count, share, nearest)):
            u = nearest[n]
            joining = 0
            for j in range(indptr[u], indptr[u + 1]):
                joining += inside[indices[j]]
            if num_edges + joining > max_edges:
                break
            edge_ids = _with_room(edge_ids, first + num_edges, joining)
            for j in range(indptr[u], indptr[u + 1]):
                if inside[indices[j]]:
                    slot = first + num_edges
                    while slot > first and edge_ids[slot - 1] > ids[j]:
                        edge_ids[slot] = edge_ids[slot - 1]
                        slot -= 1
                    edge_ids[slot] = ids[j]
                    num_edges += 1
            inside[u] = True
            num_inside += 1
        sizes[t], left_out[t], first = num_edges, count - num_inside, first + num_edges
        for i in range(count):
            share[reached[i]] = 0.0
            inside[reached[i]] = False
    return sizes, edge_ids[:first], left_out


# Sorting is written out here: the compiler takes seconds for NumPy's.
@compiled(error_model="numpy")
def _largest(reached: IntArray, count: int, share: npt.NDArray[np.float64], nearest: IntArray) -> int:
    """Put the nodes with the largest shares into ``nearest``, of equals the lowest id first; how many there are."""
    held = 0
    for i in range(count):
        u = reached[i]
        more, less = share[u] * (1 + EQUAL), share[u] * (1 - EQUAL)
        slot = held
        while slot > 0:
            v = nearest[slot - 1]
            if share[v] > more or (share[v] >= less and v < u):
                break
            if slot < len(nearest):
                nearest[slot] = v
            slot -= 1
        if slot < len(nearest):
            nearest[slot] = u
            if held < len(nearest):
                held += 1
    return held


@compiled(error_model="numpy")
def _walk(
    indptr: IntArray,
    indices: Int32Array,
    center: int,
    hops: int,
    share: npt.NDArray[np.float64],
    arriving: npt.NDArray[np.float64],
    reached: IntArray,
) -> int:
    """Write the share of walks that end at each node within reach into ``share``; how many there are."""
    reached[0] = center
    share[center] = 1.0
    count = 1
    for _ in range(hops):
        known = count
        for i in range(known):
            u = reached[i]
            degree = indptr[u + 1] - indptr[u]
            for j in range(indptr[u], indptr[u + 1]):
                v = indices[j]
                if share[v] == 0.0 and arriving[v] == 0.0:
                    reached[count] = v
                    count += 1
                arriving[v] += (1.0 - TELEPORT) * share[u] / degree
        for i in range(count):
            u = reached[i]
            share[u] = arriving[u] + (TELEPORT if u == center else 0.0)
            arriving[u] = 0.0
    return count
