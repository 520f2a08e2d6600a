"""Link prediction by similar neighbors: which pairs of nodes are likely to be linked, and why."""

from typing import TYPE_CHECKING, Any

from se_gnn.links.explain import NeighborVote, PairExplanation
from se_gnn.links.recommendations import Recommendations, recommend

if TYPE_CHECKING:
    from se_gnn.links.predictor import Recommendation, SEGNNLinkPredictor

__all__ = [
    "NeighborVote",
    "PairExplanation",
    "Recommendation",
    "Recommendations",
    "SEGNNLinkPredictor",
    "recommend",
]


def __getattr__(name: str) -> Any:
    """Import the estimator when it is used: it needs scikit-learn, which takes a second to load."""
    if name not in ("Recommendation", "SEGNNLinkPredictor"):
        raise AttributeError(f"module 'se_gnn.links' has no attribute {name!r}")
    from se_gnn.links import predictor

    return getattr(predictor, name)
