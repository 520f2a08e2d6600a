"""Attributed graphs, their local graphs, and how they are perturbed."""

import se_gnn.compiled_code  # noqa: F401 (before any compiled function is declared)
from se_gnn.graph.columns import Column
from se_gnn.graph.edge_list import EdgeReport
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.graph import Graph
from se_gnn.graph.labels import UNKNOWN
from se_gnn.graph.local import LocalGraphs, local_graphs
from se_gnn.graph.perturb import PerturbedEdges, replace_edges, sample_non_edges
from se_gnn.graph.raw import RawTable

__all__ = [
    "UNKNOWN",
    "Column",
    "EdgeReport",
    "EdgeValues",
    "Graph",
    "LocalGraphs",
    "PerturbedEdges",
    "RawTable",
    "local_graphs",
    "replace_edges",
    "sample_non_edges",
]
