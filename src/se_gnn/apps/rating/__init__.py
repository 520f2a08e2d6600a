"""The paper's human evaluation (Table 3) as a tool: people say whether two local graphs are similar, without knowing
which method put them side by side. The pages are in :mod:`se_gnn.apps.rating.application`, which needs FastAPI.
"""  # noqa: D205

from se_gnn.apps.rating.plan import METHODS, RatingPlan
from se_gnn.apps.rating.prepare import prepare_pairs, read_models
from se_gnn.apps.rating.store import RatingStore
from se_gnn.apps.rating.summary import summarize

__all__ = ["METHODS", "RatingPlan", "RatingStore", "prepare_pairs", "read_models", "summarize"]
