"""Rows that arrive after training, encoded as the tables of the graph were. Shapes: N known nodes, M new rows."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import EdgeValues, Graph, RawTable
from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.columns import StructureColumn, type_prefix
from se_gnn.graph.extend import NewNodes
from se_gnn.graph.rows import features_like
from se_gnn.tables.edges import EdgeRoles, Ids, edge_tables, find_ends, joined_types
from se_gnn.tables.features import encode_structure, raw_table
from se_gnn.tables.given import NodeRows
from se_gnn.tables.node_types import own_columns, type_mark, typed_rows
from se_gnn.tables.nodes import read_ids
from se_gnn.tables.source import Table, read_table

NO_EDGES = np.empty((0, 2), np.int64)
TOLD = "New edges join known nodes and the rows of the new table."


def read_new_nodes(
    graph: Graph,
    nodes: Any,
    edges: Any = None,
    *,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    caption: str | None = None,
    ignore: Sequence[str] = (),
    decimal: str | None = None,
    missing: Sequence[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
) -> NewNodes:
    """Read new nodes and their edges; nothing is fitted. Columns that are not named are called as in the import.

    Args:
        graph: the graph that they join, imported from tables.
        nodes: one row per new node, with the columns of the graph's table: a path, a DataFrame or an Arrow table. Where
            the graph has several types of nodes: a dictionary of such tables by type.
        edges: one row per edge, its ends by name; an end is a known node or a new one. Where each edge type had a table
            of its own: a dictionary by type, or a list of :class:`EdgeTable`. None: there are none.
        id: column that names the new nodes.
        source: column with one end of an edge.
        target: column with the other end.
        caption: column with what people see for a node.
        ignore: columns that the graph's table did not have, to be left out; without it they are an error.
        decimal: decimal point of numbers where the encoding does not say; None: detected.
        missing: words that mean "no value".
        separator: between the columns of a CSV file; None: detected.
        encoding: of a CSV file; None: detected.
    """
    if graph.columns is None:
        raise InputError(
            f"{graph.name} was not imported from tables, so that rows of a table cannot be encoded: give the features "
            "of new nodes as an array, SEGNNClassifier.extend(features, edges) in Python"
        )
    given = dict(nodes) if isinstance(nodes, Mapping) else {"": nodes}
    _check_types(graph, "nodes", list(given), graph.node_type_names or ("",))
    how: dict[str, Any] = {"separator": separator, "encoding": encoding, "decimal": decimal, "missing": missing}
    tables = {
        name: _new_rows(graph, name, read_table(one, what=f"new nodes {name}".strip(), **how), id, caption, ignore)
        for name, one in given.items()
    }
    rows, roles = list(tables.values()), dict(graph.nodes.roles)
    names = [name for one in rows for name in _names(graph, one)]
    pairs, values = NO_EDGES, None
    if edges is not None:
        pairs, values = _edges(graph, edges, tables, {"source": source, "target": target}, how)
    notes = [note for one in rows for note in one.notes]
    known = None
    if isinstance(graph.columns[0], StructureColumn):
        whole = np.concatenate([graph.edges.ends, pairs])
        features = encode_structure(graph.columns, graph.num_nodes + len(names), whole)
        known, new = features[: graph.num_nodes], features[graph.num_nodes :]
    else:
        blocks: list[Features] = []
        for one in rows:
            found = one.like(graph)
            blocks += one.encode(found.columns, None)
            if one.type:
                blocks[-1] = typed_rows(blocks[-1], *type_mark(graph, one.type), graph.num_features)
            notes += found.warnings
            notes += [
                f"column {c.name!r}: {c.note}" for c in found.summaries if "categor" in c.note or "(other)" in c.note
            ]
        new = blocks[0]
        if graph.node_type_names:
            new = features_like(graph.nodes.features, sp.vstack(blocks)).whole()
    captions = [text for one in rows for text in one.captions(caption or roles.get("caption")).to_pylist()]
    node_types, raw = None, None
    if graph.node_type_names:
        numbers = [graph.node_type_names.index(one.type) for one in rows]
        node_types = np.repeat(numbers, [len(one.ids) for one in rows]).astype(np.int32)
    if graph.raw is not None:
        cells = [raw_table(one.table, graph.raw.columns, prefix=type_prefix(one.type)) for one in rows]
        raw = functools.reduce(RawTable.joined, cells)
    return NewNodes(
        names=tuple(names),
        features=new,
        pairs=pairs,
        edge_values=values,
        known_features=known,
        captions=tuple(captions) if any(captions) else None,
        raw=raw,
        node_types=node_types,
        notes=tuple(notes),
    )


def _new_rows(
    graph: Graph, type_name: str, table: Table, id: str | None, caption: str | None, ignore: Sequence[str]
) -> NodeRows:
    """The new nodes of one type, whose table has the columns of the graph's."""
    roles = dict(graph.nodes.roles)
    id = id or roles.get(f"id of {type_name}") or roles.get("id", "id")
    table.check_has(id, caption, *ignore)
    shown, prefix = [column.name for column in own_columns(graph.columns or (), type_name)], type_prefix(type_name)
    if graph.raw is not None:
        shown = [name.removeprefix(prefix) for name in graph.raw.columns if name.startswith(prefix)]
    unread = [name for name in (roles.get("label"), roles.get("split")) if name in table.columns]
    _check_columns(table, [*shown, id, *ignore, *filter(None, (*unread, caption, roles.get("caption")))])
    ids, notes = read_ids(table, id)
    notes += [
        f"column {name!r} of {table.name} is the {'label' if name == roles.get('label') else 'split'} of known nodes: "
        "it is not read of new ones"
        for name in unread
        if name not in ignore
    ]
    found = NodeRows(type_name, table, ids, [*table.notes, *notes])
    names = _names(graph, found)
    known = graph.nodes.known(names)
    if known:
        already = f"node {known[0]!r} is in {graph.name} already; new nodes have new names"
        raise table.error(id, names.index(known[0]), already)
    return found


def _names(graph: Graph, one: NodeRows) -> list[str]:
    """What the graph calls new nodes: by their type, too, if it does so with those that it has."""
    ids: list[str] = one.ids.to_pylist()
    return [f"{one.type} {name}" for name in ids] if _called_by_type(graph) else ids


def _check_types(graph: Graph, what: str, given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse tables of new nodes or edges of a type that the graph does not have; the only type has no name."""
    if set(given) <= set(known):
        return
    if list(known) == [""]:
        raise InputError(f"{graph.name} has {what} of one type: give new {what} as one table, without a type")
    listed = ", ".join(f"{name}=FILE" for name in known)
    raise InputError(f"{graph.name} has several types of {what}: say of which type new {what} are, as {listed}")


def _called_by_type(graph: Graph) -> bool:
    """Whether nodes are called by their type, because ids of two types are the same."""
    return bool(graph.node_type_names) and all(
        graph.node_names[int(graph.nodes.of_type(name)[0])].startswith(f"{name} ")
        for name in graph.node_type_names
        if len(graph.nodes.of_type(name))
    )


def _check_columns(table: Table, known: Sequence[str]) -> None:
    unknown = [name for name in table.columns if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise InputError(
            f"{table.name} has columns that the graph's table did not have: {', '.join(map(repr, unknown[:10]))}{hint}"
            f"; --column {shlex.quote(f'{unknown[0]}=ignore')} leaves one out"
        )


def _edges(
    graph: Graph,
    edges: Any,
    tables: Mapping[str, NodeRows],
    named: Mapping[str, str | None],
    how: Mapping[str, Any],
) -> tuple[IntArray, EdgeValues | None]:
    """Edges as positions in the graph with the new nodes, and what they carry."""
    ids, given, values = _ids(graph, tables), edge_tables(edges), graph.edge_values
    by_table = values is not None and values.type is not None and "type" not in dict(values.names)
    types = values.type_names if values is not None and by_table else ("",)
    _check_types(graph, "edges", [one.type for one in given], types)
    template = None if values is None else values.take(np.empty(0, np.int64))
    cells = () if template is None or template.raw is None else template.raw.columns
    pairs, carried, roles = [], [], dict(graph.nodes.roles)
    for one in given:
        source, target = (
            name or roles.get(f"{end} of {one.type}") or roles.get(end, end) for end, name in named.items()
        )
        ends = source, target
        table = read_table(one.table, what=f"new edges {one.type}".strip(), of_edges=True, **how)
        table.check_has(*ends)
        own = EdgeRoles(table=table, ends=ends, of_type=one.type, joins=joined_types(one, table, ends, ids))
        names = " nor ".join([graph.name, *(rows.table.name for rows in tables.values())])
        pairs.append(find_ends(own, ids, nodes=names, hint=TOLD).pairs)
        carried.append(own.like(template).read(template, np.arange(len(table)), cells))
    held = [one for one in carried if one is not None]
    return np.concatenate(pairs), functools.reduce(EdgeValues.joined, held) if held else None


def _ids(graph: Graph, tables: Mapping[str, NodeRows]) -> dict[str, Ids]:
    """The names of known and new nodes by type, as edges call them, and their positions in the graph with the new."""
    first = np.cumsum([graph.num_nodes, *(len(one.ids) for one in tables.values())])
    places = {one.type: np.arange(low, low + len(one.ids)) for one, low in zip(tables.values(), first.tolist())}
    if not graph.node_type_names:
        names = pa.concat_arrays([pa.array(list(graph.node_names), pa.string()), tables[""].ids.cast(pa.string())])
        return {"": Ids(names)}
    found, by_type = {}, _called_by_type(graph)
    for name in graph.node_type_names:
        nodes = graph.nodes.of_type(name)
        known = [graph.node_names[node].removeprefix(f"{name} " if by_type else "") for node in nodes.tolist()]
        new = tables[name].ids.cast(pa.string()) if name in tables else pa.array([], pa.string())
        whole = np.concatenate([nodes, places.get(name, np.empty(0, np.int64))])
        found[name] = Ids(pa.concat_arrays([pa.array(known, pa.string()), new]), whole)
    return found
