"""NetworkX graphs as ours, and ours as NetworkX graphs. Shapes: N nodes, E edges."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, EdgeValues, Graph, RawTable
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.graph.split import PART_WORDS, PARTS
from se_gnn.optional import require

ROW, EDGE_ROW = "row_id", "edge_id"  # which row of the tables in `graph.graph` belongs to a node or an edge
SOURCE, TARGET = "(source)", "(target)"  # columns of an edge table, where attributes may be called "source"
_OF_GRAPH = ("name", "dataset", "feature_names", "columns", "raw", "image_shape", "node_type_names")
_OF_EDGES = ("type_names", "type_verbs", "attribute_names", "columns", "raw", "names")
Ends = Sequence[tuple[Any, Any, dict[str, Any]]]


def to_networkx(graph: Graph) -> Any:
    """A ``networkx.Graph`` that :func:`from_networkx` turns back into the same graph.

    Nodes are the names, with attributes ``x`` (their row of the features), ``label`` (name of the class, None where it
    is not known), ``split``, ``caption`` where there are captions, and ``type`` where there are several. What is known
    of the graph is in ``graph.graph``.

    Where edges carry values it is a ``MultiGraph``, with directions a ``MultiDiGraph``: an edge has its ``weight``,
    ``type`` (by name), ``time`` (seconds since 1970), ``attributes`` (a vector) and the cells of its row, as far as
    they are there; one without a direction among others with one leads from the lower node to the higher and has
    ``direction`` 0.
    """
    nx: Any = require("networkx", extra="data", feature="NetworkX graphs")
    values = graph.edge_values
    kind = nx.Graph if values is None else nx.MultiGraph if values.direction is None else nx.MultiDiGraph
    about = {name: getattr(graph, name) for name in _OF_GRAPH}
    about |= {"class_names": graph.class_names, "target_type": graph.target.node_type}
    about |= {"sparse_features": bool(sp.issparse(graph.features))}
    if values is not None:
        about["edge_values"] = {"carried": values.carried, **{name: getattr(values, name) for name in _OF_EDGES}}
    result = kind(**about)
    parts = np.full(graph.num_nodes, None, dtype=object)
    for part, nodes in graph.split.items():
        parts[nodes] = part
    rows: FloatArray = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    for node, name in enumerate(graph.node_names):
        label = None if graph.labels[node] == UNKNOWN else graph.class_names[graph.labels[node]]
        known: dict[str, Any] = {"x": rows[node].copy(), "label": label, "split": parts[node]}
        if graph.captions is not None:
            known["caption"] = graph.captions[node]
        if graph.node_types is not None:
            known["type"] = graph.node_type_names[graph.node_types[node]]
        if graph.raw is not None:
            known[ROW] = node
        result.add_node(name, **known)
    for edge, (u, v) in enumerate(graph.edges.ends.tolist()):
        if values is not None and values.direction is not None and values.direction[edge] < 0:
            u, v = v, u
        carried = {} if values is None else _edge_attributes(values, edge)
        result.add_edge(graph.node_names[u], graph.node_names[v], **carried)
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

    What :func:`to_networkx` wrote comes back, for the nodes and edges that are still there. A node or an edge that was
    added needs what all the others have: features, a type, a weight.

    Args:
        graph: the graph; without edge attributes its edges are taken as undirected, duplicates and self-loops merged
            and counted. All edge attributes are read as the columns of an edge table are, and become
            ``graph.edge_values``; then edges with the same ends and different values are all kept.
        features: node attribute with a vector of numbers. Where no node has it, all other node attributes become
            features as the columns of a table would (`se_gnn.datasets.tables`).
        label: node attribute with the class; missing or None: not known.
        split: node attribute that says train, validation, test or calibration; where no node has it, every node with a
            label is labeled.
        caption: node attribute with what people see for a node; where no node has it, they see its name.
        directed: keep the direction of the edges.
        edge_weight: edge attribute that says how much an edge counts, a number above 0.
        edge_type: edge attribute with the type of an edge.
        edge_time: edge attribute with its date, or seconds since 1970.
    """
    if directed and not graph.is_directed():
        raise InputError("directed: the NetworkX graph is undirected, its edges have no direction to keep")
    if not len(graph):
        raise InputError("the NetworkX graph has no nodes")
    place = {node: i for i, node in enumerate(graph.nodes)}
    attributes = [graph.nodes[node] for node in graph.nodes]
    roles = {"edge_weight": edge_weight, "edge_type": edge_type, "edge_time": edge_time}
    if not any(features in known for known in attributes):
        return _by_columns(graph, attributes, label, split, caption, {"directed": directed, **roles})
    about = dict(graph.graph)
    details: dict[str, Any] = {name: about[name] for name in (*_OF_GRAPH, "target_type") if name in about}
    names = [str(node) for node in place]
    labels, class_names = _labels([known.get(label) for known in attributes], about.get("class_names"))
    details |= {"class_names": class_names, "node_names": names}
    if any(caption in known for known in attributes):
        details["captions"] = [_text(known.get(caption)) for known in attributes]
    if any(split in known for known in attributes):
        details |= _split([known.get(split) for known in attributes])
    if about.get("raw") is not None:
        details["raw"] = _rows(about["raw"], [known.get(ROW) for known in attributes])
    if about.get("node_type_names"):
        details["node_types"] = _numbers(attributes, names, "type", about["node_type_names"])
    ends = list(graph.edges(data=True))
    if "edge_values" in about:
        ends.sort(key=lambda end: end[2].get(EDGE_ROW, len(ends)))  # parallel edges as they were, in either direction
        values: EdgeValues | None = _known_values(ends, about["edge_values"])
    else:
        values = _read_values(ends, directed=directed, **roles)
    matrix = _matrix([known.get(features) for known in attributes], list(place), features)
    return Graph.build(
        features=sp.csr_array(matrix) if about.get("sparse_features") else matrix,
        edges=np.array([(place[u], place[v]) for u, v, _ in ends], dtype=np.int64).reshape(-1, 2),
        edge_values=values,
        labels=labels,
        **details,
    )


def _edge_attributes(values: EdgeValues, edge: int) -> dict[str, Any]:
    """Everything that one edge carries, by name; the cells of its row where nothing else has their name."""
    known: dict[str, Any] = {EDGE_ROW: edge}
    if values.direction is not None and values.direction[edge] == 0:
        known["direction"] = 0
    if values.weight is not None:
        known["weight"] = values.weight[edge].item()
    if values.type is not None:
        known["type"] = values.type_names[values.type[edge]]
    if values.attributes is not None:
        known["attributes"] = values.attributes[edge].copy()
    if values.time is not None and values.time[edge] != NO_TIME:
        known["time"] = values.time[edge].item()
    cells = {} if values.raw is None else values.raw.row(edge)
    return cells | known


def _known_values(ends: Ends, about: Mapping[str, Any]) -> EdgeValues:
    """The values that :func:`to_networkx` wrote, of the edges that are there; an edge without a part is refused."""
    parts, names = about["carried"], [f"({u!r}, {v!r})" for u, v, _ in ends]
    attributes = [known for _, _, known in ends]
    arrays: dict[str, Any] = {}
    if "direction" in parts:
        arrays["direction"] = np.array([known.get("direction", 1) for known in attributes], np.int8)
    if "weight" in parts:
        arrays["weight"] = np.array(_all(attributes, names, "weight"), np.float32)
    if "type" in parts:
        arrays["type"] = _numbers(attributes, names, "type", about["type_names"], of="edge")
    if "attributes" in parts:
        size = len(about["attribute_names"] or ()) or sum(column.size for column in about["columns"] or ())
        rows = [np.asarray(row, np.float32) for row in _all(attributes, names, "attributes")]
        arrays["attributes"] = np.stack(rows) if rows else np.empty((0, max(1, size)), np.float32)
    if "time" in parts:
        arrays["time"] = np.array([known.get("time", NO_TIME) for known in attributes], np.int64)
    known: dict[str, Any] = {name: about[name] for name in _OF_EDGES}
    if known["raw"] is not None:
        known["raw"] = _rows(known["raw"], [one.get(EDGE_ROW) for one in attributes])
    return EdgeValues(**arrays, **known)


def _all(attributes: Sequence[Mapping[str, Any]], names: Sequence[str], attribute: str, of: str = "edge") -> list[Any]:
    """One attribute of all edges or nodes."""
    missing = next((name for name, known in zip(names, attributes) if known.get(attribute) is None), None)
    if missing is not None:
        raise InputError(f"{of} {missing} has no attribute {attribute!r}, which all others have: give it one")
    return [known[attribute] for known in attributes]


def _numbers(
    attributes: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    attribute: str,
    known: Sequence[str],
    of: str = "node",
) -> IntArray:
    """An attribute that names one of some types, by their positions."""
    given, place = _all(attributes, names, attribute, of), {name: i for i, name in enumerate(known)}
    strange = next((i for i, name in enumerate(given) if name not in place), None)
    if strange is not None:
        raise InputError(f"{of} {names[strange]} must have a {attribute} of {', '.join(known)}, got {given[strange]!r}")
    return np.array([place[name] for name in given], np.int32)


def _rows(raw: RawTable, places: Sequence[int | None]) -> RawTable:
    """The rows of a table that belong to some nodes or edges; what was added has an empty one."""
    numbers = np.array([len(raw) if place is None else place for place in places], np.int64)
    return dataclasses.replace(raw, codes=np.concatenate([raw.codes, raw.empty(1).codes])[numbers])


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
    return import_tables(nodes, _edge_frame(graph.edges(data=True)), settings).graph


def _edge_frame(ends: Iterable[tuple[Any, Any, dict[str, Any]]]) -> Any:
    """An edge table of a user's graph: the two ends and every edge attribute."""
    pd: Any = require("pandas", extra="tables", feature="tables")
    listed = [(u, v, {str(name): value for name, value in known.items()}) for u, v, known in ends]
    names = sorted({name for _, _, known in listed for name in known})
    frame = {SOURCE: [str(u) for u, _, _ in listed], TARGET: [str(v) for _, v, _ in listed]}
    return pd.DataFrame({**frame, **{name: [known.get(name) for _, _, known in listed] for name in names}})


def _read_values(
    ends: Ends, *, directed: bool, edge_weight: str | None, edge_type: str | None, edge_time: str | None
) -> EdgeValues | None:
    """The edge attributes of a user's graph, read as the columns of an edge table."""
    if not directed and not any(known for _, _, known in ends):
        return None
    from se_gnn.datasets.tables.edge_columns import EdgeSettings, read_edge_values
    from se_gnn.datasets.tables.read import read_table

    settings = EdgeSettings(directed=directed, weight=edge_weight, type=edge_type, time=edge_time)
    table = read_table(_edge_frame(ends), what="edges", of_edges=True)
    return read_edge_values(table, settings, (SOURCE, TARGET)).values


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


def _split(values: list[Any]) -> dict[str, list[int]]:
    strange = next((value for value in values if value not in (*PART_WORDS, None, "")), None)
    if strange is not None:
        raise InputError(f"the split of a node must be {', '.join(PARTS)} or nothing, got {strange!r}")
    parts = [PART_WORDS.get(value) for value in values]
    return {part: [i for i, own in enumerate(parts) if own == part] for part in PARTS}
