"""What is known of graphs with planted motifs, and an explanation has to find. Shapes: N nodes, E edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """Ground truth beside a graph, in the order of its nodes and edges.

    Attributes:
        motif_edges: edges that belong to a planted motif.
        node_roles: copies of one node of a motif have the same number above 0; 0: outside of every motif. None where
            motifs are not copies of each other.
        edge_roles: edges of motifs, numbered in the same way.

    Shapes:
        - **motif_edges:** :math:`(E,)`
        - **node_roles:** :math:`(N,)`
        - **edge_roles:** :math:`(E,)`
    """

    motif_edges: BoolArray
    node_roles: IntArray | None = None
    edge_roles: IntArray | None = None

    @classmethod
    def of_roles(cls, graph: Graph, node_roles: IntArray, pairs: IntArray, edge_roles: IntArray) -> GroundTruth:
        """From the roles of nodes, and of edges as they were given to :meth:`Graph.build`."""
        roles = in_order_of_edges(graph, pairs, edge_roles).astype(np.int64)
        return cls(motif_edges=roles > 0, node_roles=np.asarray(node_roles, dtype=np.int64), edge_roles=roles)


def in_order_of_edges(graph: Graph, pairs: IntArray, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values that belong to pairs as they were given to :meth:`Graph.build`, for each edge of the graph, [E].

    Of a pair that was given more than once, in any direction, the first counts.

    >>> graph = Graph.build(features=np.ones((3, 1)), edges=[[2, 1], [1, 0], [1, 2]], labels=[0, 0, 1])
    >>> in_order_of_edges(graph, np.array([[2, 1], [1, 0], [1, 2]]), np.array([7, 8, 9])).tolist()
    [8, 7]
    """
    numbers, first = np.unique(np.sort(pairs, axis=1) @ [graph.num_nodes, 1], return_index=True)
    return np.asarray(values)[first[np.searchsorted(numbers, graph.edges.ends @ [graph.num_nodes, 1])]]
