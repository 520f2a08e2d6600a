"""Where an edge leads, seen from the center of a local graph. Shapes: T local graphs, E edges.

The same edge leads towards one center and away from another: a role belongs to an edge *in a local graph*.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from se_gnn.graph.arrays import Int32Array, IntArray
from se_gnn.graph.graph import Graph
from se_gnn.graph.local import LocalGraphs
from se_gnn.graph.parts import map_parts

NONE, TOWARDS, AWAY, BETWEEN = range(4)
FEWEST = 256  # local graphs that are worth a thread
ROLE_WORDS = (
    "without a direction",
    "towards the center",
    "away from the center",
    "between nodes equally far from the center",
)


def edge_roles(graph: Graph, local: LocalGraphs, hops: int) -> Int32Array:
    r"""The role of each edge of each local graph, :math:`(\sum_i |E_s(v_i)|,)`, in the order of ``local.edge_ids``.

    An edge leads *towards* the center if it ends at a node that is fewer hops away than the one it starts at, *away*
    if it ends at one that is more, *between* if both are equally far; an edge without a direction has no role.
    """
    direction = None if graph.edge_values is None else graph.edge_values.direction
    if direction is None:
        return np.zeros(len(local.edge_ids), np.int32)
    adjacency = graph.adjacency
    pattern = (adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64))
    roles = np.empty(len(local.edge_ids), np.int32)

    def decide(part: slice) -> None:
        away = np.full(graph.num_nodes, hops + 1)  # hops from the center
        reached = np.empty(graph.num_nodes, np.int64)
        nodes, ptr = local.nodes[part], local.ptr[part.start : part.stop + 1]
        _roles(*pattern, graph.edges, direction, nodes, ptr, local.edge_ids, hops, away, reached, roles)

    map_parts(decide, len(local), fewest=FEWEST)
    return roles


@numba.njit(cache=True, nogil=True)
def _roles(
    indptr: IntArray,
    indices: IntArray,
    edges: IntArray,
    direction: npt.NDArray[np.int8],
    nodes: IntArray,
    ptr: IntArray,
    edge_ids: Int32Array,
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
            edge = edge_ids[m]
            step = (away[edges[edge, 1]] - away[edges[edge, 0]]) * direction[edge]  # hops that it leads away
            if direction[edge] == 0:
                roles[m] = 0
            else:
                roles[m] = 1 if step < 0 else 2 if step > 0 else 3
        for b in range(end):
            away[reached[b]] = hops + 1
