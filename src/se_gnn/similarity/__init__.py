"""How similar two nodes are, Eq. (2)-(7), and which labeled nodes are nearest, Eq. (8)-(9)."""

from se_gnn.similarity.matching import match_edges
from se_gnn.similarity.nearest import nearest_labeled, vote, vote_weights
from se_gnn.similarity.overall import ComparisonPlan, Similarities, combine, compare
from se_gnn.similarity.structure import structure_similarity

__all__ = [
    "ComparisonPlan",
    "Similarities",
    "combine",
    "compare",
    "match_edges",
    "nearest_labeled",
    "structure_similarity",
    "vote",
    "vote_weights",
]
