"""Explanations: the votes behind a prediction, the matched edges behind a vote."""

from se_gnn.explain.bulk import Explanations
from se_gnn.explain.explainer import Explainer
from se_gnn.explain.explanation import CrucialSubgraph, EdgeMatches, Explanation, Neighbor
from se_gnn.explain.serialize import schema
from se_gnn.explain.shared_attributes import (
    SharedAttribute,
    SharedAttributes,
    SharedEdgeAttributes,
    shared_attributes,
    shared_edge_attributes,
)

__all__ = [
    "CrucialSubgraph",
    "EdgeMatches",
    "Explainer",
    "Explanation",
    "Explanations",
    "Neighbor",
    "SharedAttribute",
    "SharedAttributes",
    "SharedEdgeAttributes",
    "schema",
    "shared_attributes",
    "shared_edge_attributes",
]
