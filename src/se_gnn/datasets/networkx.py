"""A NetworkX graph as ours, and ours as a NetworkX graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.datasets.details import OF_EDGES, OF_NODES, GraphDetails, graph_details
from se_gnn.datasets.networkx_edges import (
    ID,
    SOURCE,
    TARGET,
    about_edges,
    edge_attributes,
    edge_frame,
    networkx_class,
    read_values,
    stored_values,
)
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.split import PART_WORDS, PARTS
from se_gnn.optional import require


def to_networkx(graph: Graph) -> Any:
    """A ``networkx.Graph`` that :func:`from_networkx` turns back into the same graph.

    Nodes are the names, with attributes ``x`` (their row of the features), ``label`` (name of the class, None where it
    is not known), ``split``, and ``caption`` where there are captions. What is known of edges is on the edges, what is
    known of the graph in ``graph.graph``.

    Where edges carry values it is a ``MultiGraph``, with directions a ``MultiDiGraph``: an edge has its ``weight``,
    ``type`` (by name), ``time`` (seconds since 1970), ``attributes`` (a vector) and the cells of its row, as far as
    they are there; one without a direction among others with one leads from the lower node to the higher and has
    ``direction`` 0.
    """
    nx: Any = require("networkx", extra="data", feature="NetworkX graphs")
    details = graph_details(graph)
    of_edges = {name: details.pop(name) for name in OF_EDGES if name in details}
    of_nodes = {name: details.pop(name) for name in OF_NODES if name in details}
    captions = details.pop("captions", None)
    values = details.pop("edge_values", None)
    if values is not None:
        details["edge_values"] = about_edges(values)
    result = networkx_class(nx, values)(
        **details, sparse_features=bool(sp.issparse(graph.features)), known_of_edges=tuple(of_edges)
    )
    parts = np.full(graph.num_nodes, None, dtype=object)
    for part in PARTS:
        parts[getattr(graph, part)] = part
    rows: FloatArray = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    for node, name in enumerate(graph.node_names):
        label = None if graph.labels[node] == UNKNOWN else graph.class_names[graph.labels[node]]
        known = {field: array[node].item() for field, array in of_nodes.items()}
        if captions is not None:
            known["caption"] = captions[node]
        result.add_node(name, x=rows[node].copy(), label=label, split=parts[node], **known)
    for edge, (u, v) in enumerate(graph.edges.tolist()):
        known = {field: array[edge].item() for field, array in of_edges.items()}
        if values is not None:
            known |= edge_attributes(values, edge)
            u, v = (v, u) if values.direction is not None and values.direction[edge] < 0 else (u, v)
        result.add_edge(graph.node_names[u], graph.node_names[v], **known)
    return result


def from_networkx(
    graph: Any,
    *,
    features: str = "x",
    label: str = "label",
    split: str = "split",
    caption: str = "caption",
    directed: bool = False,
    edge_weight: str | None = None,
    edge_type: str | None = None,
    edge_time: str | None = None,
) -> Graph:
    """Take over a NetworkX graph, directed or not; the names of its nodes stay.

    Args:
        graph: the graph; without edge attributes its edges are taken as undirected, duplicates and self-loops merged
            and counted. All edge attributes are read as the columns of an edge table are, and become
            ``graph.edge_values``; then edges with the same ends and different values are all kept.
        features: node attribute with a vector of numbers. Where no node has it, all other node attributes become
            features as the columns of a table would (`se_gnn.datasets.tables`).
        label: node attribute with the class; missing or None: not known.
        split: node attribute that says train, validation, test or calibration; where no node has it, every node
            with a label is labeled.
        caption: node attribute with what people see for a node; where no node has it, they see its name.
        directed: keep the direction of the edges.
        edge_weight: edge attribute that says how much an edge counts, a number above 0.
        edge_type: edge attribute with the type of an edge.
        edge_time: edge attribute with its date, or seconds since 1970.
    """
    if directed and not graph.is_directed():
        raise InputError("directed: the NetworkX graph is undirected, its edges have no direction to keep")
    roles = {"edge_weight": edge_weight, "edge_type": edge_type, "edge_time": edge_time}
    if not len(graph):
        raise InputError("the NetworkX graph has no nodes")
    place = {node: i for i, node in enumerate(graph.nodes)}
    attributes = [graph.nodes[node] for node in graph.nodes]
    if not any(features in known for known in attributes):
        return _by_columns(graph, attributes, label, split, caption, {"directed": directed, **roles})
    about = dict(graph.graph)
    labels, class_names = _labels([known.get(label) for known in attributes], about.pop("class_names", None))
    matrix = _matrix([known.get(features) for known in attributes], list(place), features)
    kept = ("name", "feature_names", "columns", "raw", "image_shape")
    details: GraphDetails = {name: about[name] for name in kept if name in about}  # type: ignore[assignment]
    details |= {"class_names": class_names, "node_names": [str(node) for node in place]}
    if any(caption in known for known in attributes):
        details["captions"] = [_text(known.get(caption)) for known in attributes]
    if any(split in known for known in attributes):
        details |= _split([known.get(split) for known in attributes])
    ends = list(graph.edges(data=True))
    if "edge_values" in about:
        ends.sort(key=lambda end: end[2].get(ID, len(ends)))  # parallel edges as they were, in either direction
    for name in OF_EDGES:
        if name in about.get("known_of_edges", ()):
            details[name] = np.array([known[name] for _, _, known in ends])  # type: ignore[literal-required]
    for name in OF_NODES:
        if all(name in known for known in attributes):
            details[name] = np.array([known[name] for known in attributes])  # type: ignore[literal-required]
    if about.get("node_type_names"):
        details["node_type_names"] = about["node_type_names"]
    if "edge_values" in about:
        details["edge_values"] = stored_values(ends, about["edge_values"])
    else:
        unread = {*about.get("known_of_edges", ())}
        details["edge_values"] = read_values(ends, unread, directed=directed, **roles)
    return Graph.build(
        features=sp.csr_array(matrix) if about.get("sparse_features") else matrix,
        edges=np.array([(place[u], place[v]) for u, v, _ in ends], dtype=np.int64).reshape(-1, 2),
        labels=labels,
        **details,
    )


def _by_columns(
    graph: Any, attributes: list[dict[str, Any]], label: str, split: str, caption: str, of_edges: dict[str, Any]
) -> Graph:
    from se_gnn.datasets.tables import ImportSettings, import_tables

    names = {name for known in attributes for name in known}
    pd: Any = require("pandas", extra="tables", feature="tables")
    nodes = pd.DataFrame({name: [known.get(name) for known in attributes] for name in sorted(names)})
    nodes.insert(0, "(node)", [str(node) for node in graph.nodes])
    if not graph.number_of_edges():
        raise InputError("the NetworkX graph has no edges")
    edges = edge_frame(graph.edges(data=True))
    settings = ImportSettings(
        id="(node)",
        label=label,
        split=split if split in names else None,
        caption=caption if caption in names else None,
        ignore=[caption] if caption in names else [],
        name=graph.name or "graph",
        source=SOURCE,
        target=TARGET,
        **of_edges,
    )
    return import_tables(nodes, edges, settings).graph


def _labels(values: list[Any], names: Any) -> tuple[IntArray, tuple[str, ...]]:
    known = [None if value is None or value != value else str(value) for value in values]
    classes = tuple(names) if names is not None else tuple(sorted({value for value in known if value is not None}))
    places = {name: i for i, name in enumerate(classes)} | {None: UNKNOWN}
    strange = next((value for value in known if value not in places), None)
    if strange is not None:
        raise InputError(f"label {strange!r} is not one of the class_names of the graph: {', '.join(classes)}")
    return np.array([places[value] for value in known], dtype=np.int64), classes


def _matrix(rows: list[Any], nodes: list[Any], attribute: str) -> FloatArray:
    size = next(np.size(row) for row in rows if row is not None)
    for node, row in zip(nodes, rows):
        if row is None or np.size(row) != size:
            found = "has none" if row is None else f"has {np.size(row)} values"
            raise InputError(f"attribute {attribute!r} must have {size} numbers at every node; node {node!r} {found}")
    return np.stack([np.asarray(row, dtype=np.float32).ravel() for row in rows])


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value)


def _split(values: list[Any]) -> GraphDetails:
    strange = next((value for value in values if value not in (*PART_WORDS, None, "")), None)
    if strange is not None:
        raise InputError(f"the split of a node must be {', '.join(PARTS)} or nothing, got {strange!r}")
    parts = [PART_WORDS.get(value) for value in values]
    return {part: [i for i, own in enumerate(parts) if own == part] for part in PARTS}  # type: ignore[return-value]
