"""Rankings of the cases, the vote of the nearest, and everything that can be computed from a ranking."""

from se_gnn.ranking.ranking import NO_CASE, SPARE, Cases, NearestPerClass, Ranker, Ranking, WhatIf, nearest_per_class
from se_gnn.ranking.removals import (
    NEVER,
    ONLY_CLASSES,
    UNDECIDED,
    SmallestSet,
    SmallestSets,
    decided_removals,
    smallest_relabelings,
    smallest_removals,
    without_each,
)
from se_gnn.ranking.shapley import ShapleyValues, knn_shapley, shapley_values
from se_gnn.ranking.vote import Answers, ClassAnswers, NumberAnswers, answered_by, factors_of, tally, vote

__all__ = [
    "NEVER",
    "NO_CASE",
    "ONLY_CLASSES",
    "SPARE",
    "UNDECIDED",
    "Answers",
    "Cases",
    "ClassAnswers",
    "NearestPerClass",
    "NumberAnswers",
    "Ranker",
    "Ranking",
    "ShapleyValues",
    "SmallestSet",
    "SmallestSets",
    "WhatIf",
    "answered_by",
    "decided_removals",
    "factors_of",
    "knn_shapley",
    "nearest_per_class",
    "shapley_values",
    "smallest_relabelings",
    "smallest_removals",
    "tally",
    "vote",
    "without_each",
]
