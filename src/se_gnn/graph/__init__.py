"""Attributed graphs, their local graphs, and how they are perturbed."""

from se_gnn.graph.columns import Column, RawTable
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.edges import Edges
from se_gnn.graph.graph import Graph
from se_gnn.graph.local import LocalGraphs, local_graphs
from se_gnn.graph.nodes import Nodes
from se_gnn.graph.perturb import replace_edges, sample_non_edges
from se_gnn.graph.split import Split
from se_gnn.graph.target import UNKNOWN, Classes, Numbers

__all__ = [
    "UNKNOWN",
    "Classes",
    "Column",
    "EdgeValues",
    "Edges",
    "Graph",
    "LocalGraphs",
    "Nodes",
    "Numbers",
    "RawTable",
    "Split",
    "local_graphs",
    "replace_edges",
    "sample_non_edges",
]
