"""Rows that arrive after training, encoded as the table of the graph was. Shapes: N known nodes, M new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from se_gnn.datasets.structure import structure_numbers
from se_gnn.datasets.tables.columns import encode_like
from se_gnn.datasets.tables.edge_columns import EdgeSettings, encode_edge_values
from se_gnn.datasets.tables.edges import read_edges
from se_gnn.datasets.tables.nodes import read_captions, read_ids
from se_gnn.datasets.tables.raw import raw_table
from se_gnn.datasets.tables.read import Table, read_table
from se_gnn.datasets.tables.values import Reading
from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import Graph, RawTable
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.columns import Column, StructureColumn
from se_gnn.graph.extend import NewNodes

NO_EDGES = np.empty((0, 2), np.int64)


def read_new_nodes(
    graph: Graph,
    nodes: Any,
    edges: Any = None,
    *,
    id: str = "id",
    source: str = "source",
    target: str = "target",
    caption: str | None = None,
    ignore: Sequence[str] = (),
    decimal: str = ".",
    missing: Sequence[str] = (),
    separator: str | None = None,
) -> NewNodes:
    """Read new nodes and their edges; nothing is fitted.

    Args:
        graph: the graph that they join, imported from tables.
        nodes: one row per new node, with the columns of the graph's table: a path, a DataFrame or an Arrow table.
        edges: one row per edge, its ends by name; an end is a known node or a new one. None: there are none.
        id: column that names the new nodes.
        source: column with one end of an edge.
        target: column with the other end.
        caption: column with what people see for a node; None: its name.
        ignore: columns that the graph's table did not have, to be left out; without it they are an error.
        decimal: decimal point of numbers where the encoding does not say.
        missing: words that mean "no value".
        separator: between the columns of a CSV file; None: found out.
    """
    if graph.node_types is not None:
        raise InputError(
            f"{graph.name} has several kinds of nodes ({', '.join(graph.node_type_names)}): give new nodes as arrays, "
            "SEGNNClassifier.extend(features, edges, node_types=...) in Python"
        )
    if graph.columns is None:
        raise InputError(
            f"{graph.name} was not imported from tables, so that rows of a table cannot be encoded: give the features "
            "of new nodes as an array, SEGNNClassifier.extend(features, edges) in Python"
        )
    table = read_table(nodes, what="new nodes", separator=separator)
    for column in (id, *ignore, *([caption] if caption else [])):
        table.check_has(column)
    shown = graph.raw.columns if graph.raw is not None else tuple(column.name for column in graph.columns)
    _check_columns(table, (*shown, id, *ignore, *([caption] if caption else [])))
    names = read_ids(table, id)
    _check_new(table, id, names.to_pylist(), graph)
    reading = Reading(decimal=decimal, missing=frozenset(missing))
    pairs, values = NO_EDGES, None
    if edges is not None:
        edge_table = read_table(edges, what="new edges", separator=separator, of_edges=True)
        ids = pa.concat_arrays([pa.array(graph.node_names, pa.string()), names.cast(pa.string())])
        told = "New edges join known nodes and the rows of the new table."
        pairs = read_edges(
            edge_table, source, target, ids, nodes=f"neither {graph.name} nor {table.name}", hint=told
        ).pairs
        if graph.edge_values is not None:
            of_edges = EdgeSettings(reading=reading)
            values = encode_edge_values(edge_table, of_edges, (source, target), graph.edge_values).values
    structural = isinstance(graph.columns[0], StructureColumn)
    if structural:
        features = _structure(graph.columns, np.concatenate([graph.edges.ends, pairs]), graph.num_nodes + len(table))
        known, new, notes = features[: graph.num_nodes], features[graph.num_nodes :], []
    else:
        encoded = encode_like(table, shown, reading, graph, pairs)
        known, new = None, encoded.features
        notes = [
            *encoded.warnings,
            *(f"column {one.name!r}: {one.note}" for one in encoded.summaries if _odd(one.note)),
        ]
    return NewNodes(
        names=tuple(names.to_pylist()),
        features=new,
        pairs=pairs,
        edge_values=values,
        known_features=known,
        captions=None if caption is None else read_captions(table, caption),
        raw=None if graph.raw is None else _raw(table, shown),
        notes=tuple(notes),
    )


def _check_columns(table: Table, known: Sequence[str]) -> None:
    unknown = [name for name in table.columns if name not in known]
    if unknown:
        hint = did_you_mean(unknown[0], known)
        raise InputError(
            f"{table.name} has columns that the graph's table did not have: {', '.join(map(repr, unknown[:10]))}{hint}"
            f"; --column {unknown[0]}=ignore leaves one out"
        )


def _check_new(table: Table, id: str, names: list[str], graph: Graph) -> None:
    known = set(graph.node_names)
    row = next((row for row, name in enumerate(names) if name in known), None)
    if row is not None:
        raise table.error(id, row, f"node {names[row]!r} is in {graph.name} already; new nodes have new names")


def _structure(columns: Sequence[Column], pairs: IntArray, num_nodes: int) -> FloatArray:
    numbers = structure_numbers(pairs, num_nodes)
    blocks = [column.encode(numbers[column.name]) for column in columns if isinstance(column, StructureColumn)]
    features: FloatArray = np.stack(blocks, axis=1).astype(np.float32)
    return features


def _odd(note: str) -> bool:
    return "unknown categories" in note or "(other)" in note


def _raw(table: Table, columns: Sequence[str]) -> RawTable:
    """The rows as given; a column that the encoding does not need may be missing, and its cells are empty then."""
    data = table.data
    for name in columns:
        if name not in table.columns:
            data = data.append_column(name, pa.nulls(len(table), pa.string()))
    return raw_table(Table(table.name, data, tuple(data.column_names)), columns)
