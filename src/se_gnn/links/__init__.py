"""Link prediction by similar neighbors: which pairs of nodes are likely to be linked, and why."""

from se_gnn.links.explain import NeighborVote, PairExplanation, PairInfo
from se_gnn.links.predictor import Recommendation, SEGNNLinkPredictor
from se_gnn.links.recommendations import Recommendations, recommend

__all__ = [
    "NeighborVote",
    "PairExplanation",
    "PairInfo",
    "Recommendation",
    "Recommendations",
    "SEGNNLinkPredictor",
    "recommend",
]
