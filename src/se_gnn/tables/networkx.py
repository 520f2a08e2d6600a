"""NetworkX graphs as ours, and ours as NetworkX graphs. Shapes: N nodes, E edges.

Ours carry the graph that they were made of as ``graph.graph["about"]``, and each node and edge its position there: what
is no attribute of a node or an edge (columns, cells, what edges are called) comes back from it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Classes, Edges, EdgeValues, Graph, Nodes, Numbers, RawTable, Split
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray, dense
from se_gnn.graph.edge_values import ARRAYS, NO_TIME
from se_gnn.graph.rows import as_rows, features_like
from se_gnn.graph.split import PART_WORDS, PARTS
from se_gnn.graph.target import Target
from se_gnn.optional import require

if TYPE_CHECKING:
    from se_gnn.tables import ImportSettings

ROW, EDGE_ROW = "row_id", "edge_id"  # position of a node or an edge in the graph that is carried along
SOURCE, TARGET = "(source)", "(target)"  # columns of an edge table, where attributes may be called "source"
Ends = Sequence[tuple[Any, Any, dict[str, Any]]]


def to_networkx(graph: Graph) -> Any:
    """A ``networkx.Graph`` that :func:`from_networkx` turns back into the same graph.

    Nodes are the names, with attributes ``x`` (their row of the features), ``label`` (name of the class, or the number
    to predict; None where it is not known), ``split``, ``caption`` where there are captions, and ``type`` where there
    are several.

    Where edges carry values it is a ``MultiGraph``, with directions a ``MultiDiGraph``: an edge has its ``weight``,
    ``type`` (by name), ``time`` (seconds since 1970), ``attributes`` (a vector) and the cells of its row, if
    there are any. If only some edges have a direction, one without leads from the lower node to the higher and has
    ``direction`` 0.
    """
    nx: Any = require("networkx", extra="data", feature="NetworkX graphs")
    values, target = graph.edge_values, graph.target
    rows, edges = dense(graph.nodes.features.whole()), graph.edges.pairs.whole()
    kind = nx.Graph if values is None else nx.MultiGraph if values.direction is None else nx.MultiDiGraph
    result = kind(name=graph.name, about=graph)
    parts = np.full(graph.num_nodes, None, dtype=object)
    for part, nodes in graph.split.items():
        parts[nodes] = part
    for node, name in enumerate(graph.node_names):
        label = target.array[node].item()
        if not isinstance(target, Numbers):
            label = target.names[label]
        known: dict[str, Any] = {ROW: node, "x": rows[node].copy(), "split": parts[node]}
        known["label"] = label if target.known[node] else None
        if graph.captions is not None:
            known["caption"] = graph.captions[node]
        if graph.node_types is not None:
            known["type"] = graph.node_type_names[graph.node_types[node]]
        result.add_node(name, **known)
    for edge, (u, v) in enumerate(edges.tolist()):
        if values is not None and values.direction is not None and values.direction[edge] < 0:
            u, v = v, u
        result.add_edge(
            graph.node_names[u], graph.node_names[v], **({} if values is None else _edge_attributes(values, edge))
        )
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
    """Make a graph of a NetworkX graph, directed or not; its nodes keep their names.

    What :func:`to_networkx` wrote comes back, for the nodes and edges that are still there. A node or an edge that was
    added needs what all the others have: features, a type, a weight.

    Args:
        graph: the graph; without edge attributes its edges are taken as undirected, duplicates and self-loops merged
            and counted. All edge attributes are read as the columns of an edge table are, and become
            ``graph.edge_values``; then edges with the same ends and different values are all kept. Its classes may be
            named in ``graph.graph["class_names"]``, in their order.
        features: node attribute with a vector of numbers. Where no node has it, all other node attributes become
            features as the columns of a table would (`se_gnn.tables`).
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
    if not any(features in known for known in attributes):
        present = {name for known in attributes for name in known}
        columns = {"split": split if split in present else None, "caption": caption if caption in present else None}
        settings = _settings(label, directed, edge_weight, edge_type, edge_time, name=graph.name or "graph", **columns)
        return _by_columns(graph, attributes, sorted(present), settings)
    names, about = [str(node) for node in place], graph.graph.get("about")

    def column(name: str) -> list[Any]:
        """One attribute of all nodes; nothing where no node has it."""
        return [known.get(name) for known in attributes] if any(name in known for known in attributes) else []

    ends = sorted(graph.edges(data=True), key=lambda end: end[2].get(EDGE_ROW, math.inf))  # as they were, if they were
    pairs = np.array([(place[u], place[v]) for u, v, _ in ends], dtype=np.int64).reshape(-1, 2)
    matrix, given = _matrix(column(features), list(place), features), column(label) or [None] * len(names)
    target: Target
    if about is None:
        values = _read_values(ends, _settings(label, directed, edge_weight, edge_type, edge_time))
        nodes = Nodes(features=as_rows(matrix), names=tuple(names))
        labels, classes = _labels(given, graph.graph.get("class_names"))
        target = Classes(labels=labels, names=classes)
    else:
        nodes, values = about.nodes, _known_values(ends, about.edge_values)
        if about.predicts_numbers:
            target = about.target.with_array([np.nan if value is None else value for value in given])
        else:
            target = about.target.with_array(_labels(given, about.class_names)[0])
    types = None
    if nodes.types is not None:
        types = _positions("node", names, _all("node", names, attributes, "type"), nodes.type_names)
    return Graph(
        nodes=dataclasses.replace(
            nodes,
            features=features_like(nodes.features, matrix),
            names=tuple(names),
            captions=tuple(map(_text, column(caption))) or None,
            raw=None if nodes.raw is None else _rows(nodes.raw, [one.get(ROW) for one in attributes]),
            types=types,
        ),
        edges=Edges.build(pairs, len(names), values),
        target=target,
        split=Split(**(_split(column(split)) or {"train": np.flatnonzero(target.known)})),
        name=graph.name or ("graph" if about is None else ""),
        dataset=None if about is None else about.dataset,
    )


def _edge_attributes(values: EdgeValues, edge: int) -> dict[str, Any]:
    """Everything that one edge carries, by name; the cells of its row where nothing else has their name."""
    known: dict[str, Any] = {} if values.raw is None else values.raw.row(edge)
    known |= {part: getattr(values, part)[edge] for part in values.edge_data}
    known[EDGE_ROW] = edge
    if values.direction is not None and known.pop("direction") == 0:
        known["direction"] = 0
    if values.weight is not None:
        known["weight"] = known["weight"].item()
    if values.type is not None:
        known["type"] = values.type_names[known["type"]]
    if values.time is not None and (time := known.pop("time").item()) != NO_TIME:
        known["time"] = time
    return known


def _known_values(ends: Ends, about: EdgeValues | None) -> EdgeValues | None:
    """The values that :func:`to_networkx` wrote, of the edges that are there; an edge without a part is refused."""
    if about is None:
        return None
    names, attributes = [f"({u!r}, {v!r})" for u, v, _ in ends], [known for _, _, known in ends]
    default = {"direction": 1, "time": NO_TIME}
    given: dict[str, Any] = {
        part: [known.get(part, default[part]) for known in attributes]
        if part in default
        else _all("edge", names, attributes, part)
        for part in about.edge_data
    }
    if "type" in given:
        given["type"] = _positions("edge", names, given["type"], about.type_names)
    arrays: dict[str, Any] = {part: np.array(values, ARRAYS[part]) for part, values in given.items()}
    if "attributes" in arrays:
        arrays["attributes"] = arrays["attributes"].reshape(len(ends), about.num_attributes)
    raw = None if about.raw is None else _rows(about.raw, [known.get(EDGE_ROW) for known in attributes])
    return dataclasses.replace(about, **arrays, raw=raw)


def _all(what: str, names: Sequence[str], attributes: Sequence[Mapping[str, Any]], attribute: str) -> list[Any]:
    """One attribute of all edges or nodes."""
    missing = next((name for name, known in zip(names, attributes) if known.get(attribute) is None), None)
    if missing is not None:
        raise InputError(f"{what} {missing} has no attribute {attribute!r}, which all others have: give it one")
    return [known[attribute] for known in attributes]


def _positions(what: str, names: Sequence[str], types: Sequence[str], known: Sequence[str]) -> Int32Array:
    """Types of nodes or edges by their positions among those that are known."""
    place = {name: i for i, name in enumerate(known)}
    strange = next((i for i, name in enumerate(types) if name not in place), None)
    if strange is not None:
        raise InputError(f"{what} {names[strange]} must have a type of {', '.join(known)}, got {types[strange]!r}")
    return np.array([place[name] for name in types], np.int32)


def _rows(raw: RawTable, places: Sequence[int | None]) -> RawTable:
    """The rows of a table that belong to some nodes or edges; what was added has an empty one."""
    numbers = np.array([len(raw) if place is None else place for place in places], np.int64)
    return dataclasses.replace(raw, codes=np.concatenate([raw.codes, raw.empty(1).codes])[numbers])


def _settings(
    label: str, directed: bool, weight: str | None, type: str | None, time: str | None, **more: Any
) -> ImportSettings:
    """How attributes are read as the columns of tables."""
    from se_gnn.tables import ImportSettings

    roles = {"directed": directed, "edge_weight": weight, "edge_type": type, "edge_time": time, **more}
    return ImportSettings(id="(node)", label=label, source=SOURCE, target=TARGET, **roles)


def _by_columns(graph: Any, attributes: list[dict[str, Any]], names: list[str], settings: ImportSettings) -> Graph:
    from se_gnn.tables import read_tables

    pd: Any = require("pandas", extra="tables", feature="tables")
    nodes = pd.DataFrame({name: [known.get(name) for known in attributes] for name in names})
    nodes.insert(0, "(node)", [str(node) for node in graph.nodes])
    if not graph.number_of_edges():
        raise InputError("the NetworkX graph has no edges")
    return read_tables(nodes, _edge_frame(graph.edges(data=True)), settings).graph


def _edge_frame(ends: Iterable[tuple[Any, Any, dict[str, Any]]]) -> Any:
    """An edge table of a user's graph: the two ends and every edge attribute."""
    pd: Any = require("pandas", extra="tables", feature="tables")
    listed = [(u, v, {str(name): value for name, value in known.items()}) for u, v, known in ends]
    names = sorted({name for _, _, known in listed for name in known})
    frame = {SOURCE: [str(u) for u, _, _ in listed], TARGET: [str(v) for _, v, _ in listed]}
    return pd.DataFrame({**frame, **{name: [known.get(name) for _, _, known in listed] for name in names}})


def _read_values(ends: Ends, settings: ImportSettings) -> EdgeValues | None:
    """The edge attributes of a user's graph, read as the columns of an edge table."""
    if not settings.directed and not any(known for _, _, known in ends):
        return None
    from se_gnn.tables.edges import ONE, EdgeRoles, EdgeTable, Ids, fit_edges
    from se_gnn.tables.source import read_table

    table = read_table(_edge_frame(ends), what="edges", of_edges=True)
    table.check_has(settings.edge_weight, settings.edge_type, settings.edge_time)
    one = EdgeRoles(EdgeTable(type=ONE, table=table), settings, {ONE: Ids(table.column(SOURCE))})
    template = fit_edges([one])
    one.carry(template)
    return one.read(table, template, np.arange(len(table)), one.shown)


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


def _split(values: list[Any]) -> dict[str, Any]:
    strange = next((value for value in values if value not in (*PART_WORDS, None, "")), None)
    if strange is not None:
        raise InputError(f"the split of a node must be {', '.join(PARTS)} or nothing, got {strange!r}")
    parts = [PART_WORDS.get(value) for value in values]
    return {part: [i for i, own in enumerate(parts) if own == part] for part in PARTS if values}
