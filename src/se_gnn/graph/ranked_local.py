r"""Local graphs that stay small: the nodes that a short random walk from the center reaches most often.

A walk starts at the center, stops before each step with probability `TELEPORT` and otherwise goes to a random neighbor,
at most n times. The share of walks that end at a node is its personalized PageRank of n steps. Nodes join the local
graph from the largest share to the smallest (the center first, of equals the lowest id first), each with its edges to
those that are there already, as long as at most M edges are in it. So the local graph of a hub stays as small as any.

Two shares that are equal on paper can be computed from different fractions and then differ in their last bits. Shares
that differ by less than one part in 2^40 therefore count as equal; rounding errors are much smaller than that.
Shapes: T nodes asked for, E edges.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from se_gnn.deterministic.threads import map_parts
from se_gnn.graph.arrays import Int32Array, IntArray
from se_gnn.graph.graph import Graph

TELEPORT = 0.2
EQUAL = 2.0**-40  # shares that differ by a smaller part of themselves are equal
MAX_NODES = 32  # of a local graph, the center included
FEWEST = 256  # local graphs that are worth a thread


def ranked_rows(graph: Graph, nodes: IntArray, hops: int, max_edges: int) -> tuple[IntArray, Int32Array, IntArray]:
    """Edge ids of each local graph as CSR rows, ascending, and how many nodes within reach each left out, [T]."""
    region = graph.neighbors().around(nodes, hops)
    places, num_nodes = region.places(nodes), len(region.indptr) - 1
    held = np.empty((len(nodes), _possible(graph, max_edges)), np.int32)
    sizes, left_out = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)

    def rank(part: slice) -> None:
        share, arriving, inside = np.zeros(num_nodes), np.zeros(num_nodes), np.zeros(num_nodes, np.bool_)
        reached, nearest = np.empty(num_nodes, np.int64), np.empty(MAX_NODES, np.int64)
        edges, count, others = held[part], sizes[part], left_out[part]
        _ranked_edges(
            *region.arrays,
            places[part],
            hops,
            TELEPORT,
            share,
            arriving,
            inside,
            reached,
            nearest,
            edges,
            count,
            others,
        )

    map_parts(rank, len(nodes), fewest=FEWEST)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    return ptr, held[np.arange(held.shape[1])[None, :] < sizes[:, None]], left_out


def _possible(graph: Graph, max_edges: int) -> int:
    """As many of ``max_edges`` as a local graph of :data:`MAX_NODES` nodes can have: no setting takes more memory."""
    pairs = MAX_NODES * (MAX_NODES - 1) // 2
    if max_edges <= pairs:
        return max_edges
    return min(max_edges, pairs * graph.edges.most_parallel, graph.num_edges)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _ranked_edges(
    indptr: IntArray,
    indices: IntArray,
    ids: IntArray,
    nodes: IntArray,
    hops: int,
    teleport: float,
    share: npt.NDArray[np.float64],
    arriving: npt.NDArray[np.float64],
    inside: npt.NDArray[np.bool_],
    reached: IntArray,
    nearest: IntArray,
    held: Int32Array,
    sizes: IntArray,
    left_out: IntArray,
) -> None:
    """Edges of each local graph, ascending, and how many; shares and who is inside are all 0 before and after."""
    for t in range(len(nodes)):
        center = nodes[t]
        count = _walk(indptr, indices, center, hops, teleport, share, arriving, reached)
        share[center] = 2.0  # first
        num_edges, num_inside = 0, 0
        for n in range(_largest(reached, count, share, nearest)):
            u = nearest[n]
            joining = 0
            for j in range(indptr[u], indptr[u + 1]):
                joining += inside[indices[j]]
            if num_edges + joining > held.shape[1]:
                break
            for j in range(indptr[u], indptr[u + 1]):
                if inside[indices[j]]:
                    slot = num_edges
                    while slot > 0 and held[t, slot - 1] > ids[j]:
                        held[t, slot] = held[t, slot - 1]
                        slot -= 1
                    held[t, slot] = ids[j]
                    num_edges += 1
            inside[u] = True
            num_inside += 1
        sizes[t], left_out[t] = num_edges, count - num_inside
        for i in range(count):
            share[reached[i]] = 0.0
            inside[reached[i]] = False


# Sorting is written out here: the compiler takes seconds for NumPy's.
@numba.njit(cache=True, nogil=True, error_model="numpy")
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _walk(
    indptr: IntArray,
    indices: IntArray,
    center: int,
    hops: int,
    teleport: float,
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
                arriving[v] += (1.0 - teleport) * share[u] / degree
        for i in range(count):
            u = reached[i]
            share[u] = arriving[u] + (teleport if u == center else 0.0)
            arriving[u] = 0.0
    return count
