"""How similar two nodes are, Eq. (2)-(7), and which labeled nodes are nearest, Eq. (8)-(9)."""

from se_gnn.similarity.kernels import EdgeMatching, can_record, match_edges, structure_similarity
from se_gnn.similarity.measure import Measure, measure_named
from se_gnn.similarity.nearest import nearest_labeled, vote, vote_weights
from se_gnn.similarity.overall import Similarities, combine, compare, compare_in_blocks, compare_with_matches
from se_gnn.similarity.plan import ComparisonPlan

__all__ = [
    "ComparisonPlan",
    "EdgeMatching",
    "Measure",
    "Similarities",
    "can_record",
    "combine",
    "compare",
    "compare_in_blocks",
    "compare_with_matches",
    "match_edges",
    "measure_named",
    "nearest_labeled",
    "structure_similarity",
    "vote",
    "vote_weights",
]
