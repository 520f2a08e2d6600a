"""What a graph has besides features, edges and labels, on its way into other libraries and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypedDict

from se_gnn.graph import Column, EdgeValues, Graph, RawTable

_EVERYWHERE = ("features", "edges", "labels", "train", "validation", "test", "calibration", "node_names", "merged")
_NAMES = tuple(field.name for field in dataclasses.fields(Graph) if field.name not in _EVERYWHERE)
OF_EDGES = ("motif_edges", "edge_roles")
OF_NODES = ("node_roles", "node_types")


class GraphDetails(TypedDict, total=False):
    """What :meth:`Graph.build` takes besides features, edges and labels."""

    class_names: Sequence[str] | None
    node_names: Sequence[str] | None
    train: Any
    validation: Any
    test: Any
    calibration: Any
    name: str
    feature_names: Sequence[str] | None
    columns: Sequence[Column] | None
    captions: Sequence[str] | None
    raw: RawTable | None
    image_shape: tuple[int, int] | None
    edge_values: EdgeValues | None
    node_types: Any
    node_type_names: Sequence[str]
    motif_edges: Any
    node_roles: Any
    edge_roles: Any


def graph_details(graph: Graph) -> dict[str, Any]:
    """Names, columns, rows and ground truth, as :class:`GraphDetails` has them; nothing for what is not there.

    Those in ``OF_EDGES`` have one entry per edge, in the order of ``graph.edges``, those in ``OF_NODES`` one per node.
    What was merged away when the graph was built (``merged``) is a report about where it came from, and stays behind.
    """
    held = {name: getattr(graph, name) for name in _NAMES if getattr(graph, name) is not None}
    if graph.node_types is None:
        del held["node_type_names"]
    return held
