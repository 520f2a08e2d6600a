"""Explanations: the votes behind a prediction, the matched edges behind a vote, as plain data."""

from se_gnn.explain.effects import shared_attributes
from se_gnn.explain.explainer import Comparison, Explanations, explain
from se_gnn.explain.explanation import (
    CRUCIAL_EDGES,
    Abstention,
    CaseVote,
    ClassAnswer,
    CompareSettings,
    EdgeInfo,
    EdgeMatches,
    Explanation,
    NodeInfo,
    RankRows,
    SharedAttribute,
    SharedAttributes,
    Value,
)
from se_gnn.explain.json_format import schema

__all__ = [
    "CRUCIAL_EDGES",
    "Abstention",
    "CaseVote",
    "ClassAnswer",
    "CompareSettings",
    "Comparison",
    "EdgeInfo",
    "EdgeMatches",
    "Explanation",
    "Explanations",
    "NodeInfo",
    "RankRows",
    "SharedAttribute",
    "SharedAttributes",
    "Value",
    "explain",
    "schema",
    "shared_attributes",
]
