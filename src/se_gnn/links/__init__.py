"""Link prediction by similar neighbors: which pairs of nodes are likely to be linked, and why."""

from se_gnn.links.explain import NeighborVote, PairExplanation, PairInfo, explain_pair
from se_gnn.links.model import LinkModel, fit
from se_gnn.links.predictor import Recommendation, SEGNNLinkPredictor
from se_gnn.links.recommendations import Recommendations, recommend

__all__ = [
    "LinkModel",
    "NeighborVote",
    "PairExplanation",
    "PairInfo",
    "Recommendation",
    "Recommendations",
    "SEGNNLinkPredictor",
    "explain_pair",
    "fit",
    "recommend",
]
