"""Rows that arrive after training, encoded as the tables of the graph were. Shapes: N known nodes, M new rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import Graph
from se_gnn.graph.columns import type_prefix
from se_gnn.graph.extend import NewNodes
from se_gnn.tables.edges import ONE, edge_tables
from se_gnn.tables.given import GivenTables, read_given
from se_gnn.tables.node_types import own_columns
from se_gnn.tables.settings import ImportSettings
from se_gnn.tables.source import Table


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
    sources = dict(nodes) if isinstance(nodes, Mapping) else {ONE: nodes}
    given, values, roles = [] if edges is None else edge_tables(edges), graph.edge_values, dict(graph.nodes.roles)
    by_table = values is not None and values.type is not None and "type" not in dict(values.names)
    edge_types = values.type_names if values is not None and by_table else (ONE,)
    _check_types(graph, "nodes", list(sources), graph.node_type_names or (ONE,))
    _check_types(graph, "edges", [one.type for one in given], edge_types)

    def called(role: str, column: str | None, types: Sequence[str]) -> dict[str, str]:
        """The column of each type that has a role: as named, as in the import, or called as the role is."""
        return {name: column or roles.get(f"{role} of {name}") or roles.get(role, role) for name in types}

    ids = called("id", id, list(sources))
    settings = ImportSettings(
        id=ids.get(ONE, ids),
        label=roles.get("label", "(label)"),
        split=roles.get("split"),
        source=called("source", source, edge_types),
        target=called("target", target, edge_types),
        caption=caption or roles.get("caption"),
        ignore=ignore,
        decimal=decimal,
        missing=missing,
        separator=separator,
        encoding=encoding,
    )
    tables, of_edges = read_given(sources, given, settings, new="new ")
    for name, table in tables.items():
        table.check_has(ids[name], caption, *ignore)
        _check_columns(graph, name, table, settings)
    found = GivenTables(tables, of_edges, settings, graph, joins=True)
    names: list[str] = [name for own in found.names() for name in own.to_pylist()]
    known = graph.nodes.known(names)
    if known:
        _refuse_known(found, known[0], names.index(known[0]))
    pairs, carried = found.all_edges()
    features = found.features(np.concatenate([graph.edges.ends, pairs]) if not found.has_attributes else pairs)
    captions = [text for one in found.nodes for text in one.captions().to_pylist()]
    return NewNodes(
        names=tuple(names),
        features=features[-len(names) :],
        pairs=pairs,
        edge_values=carried,
        known_features=None if found.has_attributes else features[: -len(names)],
        captions=tuple(captions) if any(captions) else None,
        raw=found.raw(),
        node_types=found.node_types(),
        notes=tuple(_notes(found)),
    )


def _notes(found: GivenTables) -> list[str]:
    """What people should know about the rows."""
    notes = []
    for one in found.nodes:
        notes += [*one.table.notes, *one.notes]
        for role, name in (("label", one.settings.label), ("split", one.settings.split)):
            if name in one.table.columns and name not in one.settings.ignore:
                notes.append(
                    f"column {name!r} of {one.table.name} is the {role} of known nodes: it is not read of new ones"
                )
    for one in found.nodes:
        notes += one.fitted.warnings
        seen = [column for column in one.fitted.summaries if "categor" in column.note or "(other)" in column.note]
        notes += [f"column {column.name!r}: {column.note}" for column in seen]
    return notes


def _refuse_known(found: GivenTables, name: str, place: int) -> None:
    """Refuse a new node with the name of a known one."""
    for one in found.nodes:
        if place < len(one):
            graph = found.joined.name if found.joined is not None else ""
            raise one.table.error(one.id, place, f"node {name!r} is in {graph} already; new nodes have new names")
        place -= len(one)


def _check_types(graph: Graph, what: str, given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse tables of new nodes or edges of a type that the graph does not have; the only type has no name."""
    if set(given) <= set(known):
        return
    if list(known) == [ONE]:
        raise InputError(f"{graph.name} has {what} of one type: give new {what} as one table, without a type")
    listed = ", ".join(f"{name}=FILE" for name in known)
    raise InputError(f"{graph.name} has several types of {what}: say of which type new {what} are, as {listed}")


def _check_columns(graph: Graph, type_name: str, table: Table, settings: ImportSettings) -> None:
    """Refuse columns that the table of the graph did not have."""
    prefix, shown = type_prefix(type_name), [one.name for one in own_columns(graph.columns or (), type_name)]
    if graph.raw is not None:
        shown = [name.removeprefix(prefix) for name in graph.raw.columns if name.startswith(prefix)]
    known = [*shown, *settings.taken(type_name or None), *settings.ignore, *filter(None, [settings.caption])]
    unknown = [name for name in table.columns if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise InputError(
            f"{table.name} has columns that the graph's table did not have: {', '.join(map(repr, unknown[:10]))}{hint}"
            f"; --column {shlex.quote(f'{unknown[0]}=ignore')} leaves one out"
        )
