"""The parts of an explanation: matched edges, a labeled neighbor and its vote, the crucial subgraph.

An edge is known by its id, its row in the graph's edge list, from the match to the picture. Shapes: M edges of a local
graph, S edges of a crucial subgraph.
"""

from __future__ import annotations

from dataclasses import dataclass

from se_gnn.explain.shared_attributes import SharedAttributes
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray

CRUCIAL_EDGES = 5  # of a crucial subgraph, unless another size is asked for


@dataclass(frozen=True, slots=True, eq=False)
class EdgeMatches:
    """Edges of one local graph, each with its best match in another, Eq. (5).

    ``above_average`` marks the edges whose match is at least as close as average. The average is that of the same edge
    over the K nearest labeled nodes that have edges; on the way back, that of all edges of all labeled nodes. Where
    edges match only those of their direction or type and the other local graph has none, ``matched_ids`` is -1 and the
    similarity is that of the edge with its own opposite.

    Shapes:
        - **edge_ids**, **matched_ids:** :math:`(M,)` rows of ``graph.edges.ends``
        - **similarity**, **above_average:** :math:`(M,)`
    """

    edge_ids: IntArray
    matched_ids: IntArray
    similarity: FloatArray
    above_average: BoolArray

    def __len__(self) -> int:
        return len(self.edge_ids)

    @property
    def matched(self) -> BoolArray:
        """Which edges have a match, [M]."""
        found: BoolArray = self.matched_ids >= 0
        return found


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Neighbor:
    """One of the K nearest labeled nodes and its vote.

    ``weight`` is what it adds to the probability of its class, Eq. (8)-(9). ``similarity`` is the sum of
    ``node_term`` and ``structure_term``, Eq. (7). ``structure_similarity`` is None where one of the two nodes has no
    edges: then the two were compared by node similarity alone. ``edge_ids`` is its local graph.
    """

    node: int
    name: str
    label: int
    label_name: str
    weight: float
    similarity: float
    node_similarity: float
    structure_similarity: float | None
    node_term: float  # lambda s^n
    structure_term: float  # (1 - lambda) s^e
    without: tuple[float, ...]  # class probabilities if this node were not labeled
    edge_ids: IntArray  # edges of its local graph, ascending
    explained: bool  # in full: with matches (where both have edges) and shared attributes
    matches: EdgeMatches | None = None  # edges of the explained node, matched in this node's local graph
    matches_back: EdgeMatches | None = None  # edges of this node, matched in the explained node's local graph
    shared_attributes: SharedAttributes | None = None  # where the graph has names for its attributes


@dataclass(frozen=True, slots=True, eq=False)
class CrucialSubgraph:
    """The edges of a local graph that matter most, most important first.

    Shapes:
        - **nodes:** ids of their ends, ascending
        - **edge_ids**, **importance:** :math:`(S,)`; **edges:** :math:`(S, 2)` node ids
    """

    nodes: IntArray
    edge_ids: IntArray
    edges: IntArray
    importance: FloatArray
