"""The paper's human evaluation (Table 3) as a tool: people say whether two local graphs are similar, without knowing
which method put them side by side. The pages are in :mod:`lab.rating.application`, which needs FastAPI.
"""  # noqa: D205

from lab.rating.plan import METHODS, RatingPlan
from lab.rating.prepare import prepare_pairs, read_models
from lab.rating.store import RatingStore
from lab.rating.summary import summarize

__all__ = ["METHODS", "RatingPlan", "RatingStore", "prepare_pairs", "read_models", "summarize"]
