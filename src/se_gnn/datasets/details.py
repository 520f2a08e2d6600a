"""What a graph has besides features, edges, labels and split, on its way into other libraries and back."""

from __future__ import annotations

import dataclasses
from typing import Any

from se_gnn.graph import AttributedGraph

_EVERYWHERE = ("features", "edges", "labels", "train", "val", "test", "node_names", "merged")
_NAMES = tuple(field.name for field in dataclasses.fields(AttributedGraph) if field.name not in _EVERYWHERE)
OF_EDGES = tuple(name for name in _NAMES if "edge" in name)
OF_NODES = tuple(name for name in _NAMES if name.startswith("node_"))


def graph_details(graph: AttributedGraph) -> dict[str, Any]:
    """Names, columns and ground truth, as :meth:`AttributedGraph.build` takes them; nothing for what is not there.

    Those in ``OF_EDGES`` have an entry an edge, in the order of ``graph.edges``, those in ``OF_NODES`` one a node. What
    was merged away when the graph was built (``merged``) is a report about where it came from, and stays behind.
    """
    return {name: getattr(graph, name) for name in _NAMES if getattr(graph, name) is not None}
