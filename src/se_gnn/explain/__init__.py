"""Explanations: the votes behind a prediction, the matched edges behind a vote."""

from se_gnn.explain.bulk import Explanations
from se_gnn.explain.edge_data import shared_edge_data
from se_gnn.explain.evidence import CRUCIAL_EDGES, CrucialSubgraph, EdgeMatches, Neighbor
from se_gnn.explain.explainer import Comparison, Explainer
from se_gnn.explain.explanation import Explanation
from se_gnn.explain.serialize import schema
from se_gnn.explain.shared_attributes import (
    SharedAttribute,
    SharedAttributes,
    SharedEdgeAttributes,
    shared_attributes,
    shared_edge_attributes,
)

__all__ = [
    "CRUCIAL_EDGES",
    "Comparison",
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
    "shared_edge_data",
]
