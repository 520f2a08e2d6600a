"""Several types of nodes in one graph: the columns of each type side by side, zeros elsewhere.

A node of type t with attributes x has the features :math:`(0, ..., 0, x, 0, ..., 0)` and a mark in the column of its
type. A linear layer over these blocks is one linear layer per type, with a bias of its own:

.. math:: W [0; x; 0; m_t] = W_t x + m_t b_t

The mark :math:`m_t` is as large as the attributes of its type are long (root mean square; 1 where there are none): it
neither drowns them nor is drowned by them. The output is one space for all types. Features are sparse, so that a block
of zeros costs nothing. Shapes: N nodes of all types, F features of all blocks.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Features, Int32Array, IntArray, as_features, dense
from se_gnn.graph.columns import BooleanColumn, CategoryColumn, Column, type_prefix

MOST_NAMED = 10_000  # nodes of a type that are also distinguished by their names
NAME_COLUMNS = ("name", "id", "(id)")
SPARSE_BELOW = 0.1  # share of features that are not 0, below which they are kept sparse


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodesOfType:
    """The nodes of one type.

    Args:
        names: what each is called, unique within the type.
        features: their attributes; None: they are distinguished by their names if there are at most 10,000, otherwise
            only by their edges.
        feature_names: what people see for each attribute.
        columns: the columns of a table that the attributes were.
        taken: names that a column of names must not have.

    Shapes:
        - **features:** :math:`(N_t, F_t)`
    """

    names: Sequence[str]
    features: Features | None = None
    feature_names: Sequence[str] | None = None
    columns: Sequence[Column] | None = None
    taken: Collection[str] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JoinedTypes:
    """All nodes, one type after the other.

    Shapes:
        - **features:** :math:`(N, F)`, **types:** :math:`(N,)`
    """

    features: Features
    feature_names: tuple[str, ...]
    columns: tuple[Column, ...] | None  # None: some type has attributes that were no columns
    types: Int32Array
    type_names: tuple[str, ...]
    names: tuple[str, ...]
    first: Mapping[str, int]  # the first node of each type

    def nodes(self, type: str, positions: IntArray) -> IntArray:
        """Nodes of the graph at some positions within a type."""
        return np.asarray(positions, np.int64) + self.first[type]


def join_types(given: Mapping[str, NodesOfType], *, labeled: str | None = None) -> JoinedTypes:
    """Nodes of several types in one table of features; a node is called by its type where names repeat.

    With ``labeled``, the type whose nodes have labels, nodes of all other types are distinguished by their names even
    if they have attributes: two papers may be alike because they share an author, whatever the author's country is. A
    labeled node itself is not known by its name, which would give its label away.

    >>> papers = NodesOfType(names=["p"], features=np.array([[0.5, 2.0]], np.float32), feature_names=["year", "pages"])
    >>> joined = join_types({"paper": papers, "author": NodesOfType(names=["a", "b"])})
    >>> joined.feature_names
    ('paper', 'paper: year', 'paper: pages', 'author', 'author: name = a', 'author: name = b')
    >>> joined.features[1].tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    """
    if not given:
        raise InputError("several types of nodes: at least one must be given")
    blocks: list[sp.csr_array] = []
    columns: dict[str, Sequence[Column] | None] = {}
    feature_names: list[str] = []
    for type, nodes in given.items():
        block, names, columns[type] = _block(type, nodes, named=labeled not in (None, type))
        mark = np.full((len(nodes.names), 1), _mean_length(block), np.float32)
        blocks.append(sp.csr_array(sp.hstack([sp.csr_array(mark), block], format="csr")))
        feature_names += [type, *names]
    matrix = sp.csr_array(sp.block_diag(blocks, format="csr"), dtype=np.float32)
    matrix.sort_indices()
    filled = matrix.nnz >= SPARSE_BELOW * matrix.shape[0] * matrix.shape[1]
    sizes = [len(nodes.names) for nodes in given.values()]
    return JoinedTypes(
        features=matrix.toarray() if filled else as_features(matrix),
        feature_names=tuple(feature_names),
        columns=joined_columns(columns),
        types=np.repeat(np.arange(len(sizes)), sizes).astype(np.int32),
        type_names=tuple(given),
        names=_names(given),
        first=dict(zip(given, np.cumsum([0, *sizes]).tolist())),
    )


def joined_columns(given: Mapping[str, Sequence[Column] | None]) -> tuple[Column, ...] | None:
    """The columns of all types, called by their type, each after a column that marks it; None: some are not known."""
    joined: list[Column] = []
    first = 0
    for type_name, own in given.items():
        if own is None:
            return None
        joined.append(BooleanColumn(name=type_name, first=first, size=1, words=("no", "yes"), fill=0.0))
        first += 1
        for column in own:
            joined.append(dataclasses.replace(column, name=type_prefix(type_name) + column.name, first=first))
            first += column.size
    return tuple(joined)


def name_column(names: Sequence[str], taken: Collection[str] = ()) -> tuple[Column, ...]:
    """A column of the names of nodes, which tells them apart where there are few; else none."""
    if len(names) > MOST_NAMED:
        return ()
    called = next(one for one in NAME_COLUMNS if one not in taken)
    return (CategoryColumn(name=called, first=0, size=len(names), categories=tuple(names), has_other=False),)


def type_mark(graph: Graph, type_name: str) -> float:
    """What marks the nodes of one type of a graph."""
    block = (graph.nodes.blocks_by_type() or {})[type_name]
    known = graph.nodes.features.take(graph.nodes.of_type(type_name)[:1])
    return float(dense(known)[0, block[0]])


def _mean_length(features: Any) -> float:
    """Root mean square of the lengths of the rows; 1 where there is nothing in them."""
    rows = sp.csr_array(features, dtype=np.float64)
    square = float(rows.multiply(rows).sum()) / max(1, rows.shape[0])
    return math.sqrt(square) or 1.0


def _block(type: str, nodes: NodesOfType, *, named: bool) -> tuple[sp.csr_array, list[str], Sequence[Column] | None]:
    """The features of one type, what they are called, and the columns they were; None: they were no columns.

    Names distinguish the nodes of a type without features, and those that are to be ``named``.
    """
    count, columns, names = len(nodes.names), nodes.columns, list[str]()
    parts = [sp.csr_array((count, 0), dtype=np.float32)]
    if nodes.features is None:
        columns, named = (), True
    else:
        if nodes.features.shape[0] != count:
            raise InputError(f"features of {type} must have one row per node ({count}), got {nodes.features.shape[0]}")
        parts.append(sp.csr_array(nodes.features))
        if columns is not None:
            names = [name for column in columns for name in column.feature_names]
        else:
            names = list(nodes.feature_names or [f"feature {i}" for i in range(nodes.features.shape[1])])
    if named:
        taken = {*nodes.taken, *(one.name for one in nodes.columns or ())}
        for column in name_column(nodes.names, taken):
            parts.append(sp.csr_array(sp.eye_array(count)))
            names += column.feature_names
            columns = None if columns is None else (*columns, column)
    return sp.csr_array(sp.hstack(parts, format="csr")), [type_prefix(type) + name for name in names], columns


def _names(given: Mapping[str, NodesOfType]) -> tuple[str, ...]:
    plain = [str(name) for nodes in given.values() for name in nodes.names]
    if len(set(plain)) == len(plain):
        return tuple(plain)
    return tuple(f"{type} {name}" for type, nodes in given.items() for name in nodes.names)


def place_features(graph: Graph, type_name: str, own: Any) -> sp.csr_array:
    """Features of more nodes of one type of a graph, with the mark of their type, among those of all types.

    Args:
        graph: of several types of nodes, each with a block of features.
        type_name: the type of the nodes.
        own: their attributes, without the mark, [n, F_t].
    """
    block = (graph.nodes.blocks_by_type() or {})[type_name]
    mark = np.full((own.shape[0], 1), type_mark(graph, type_name))
    marked = sp.csr_array(sp.hstack([mark, sp.csr_array(own)], format="csr"))
    parts = (marked.data.astype(np.float32), block[marked.indices], marked.indptr)
    return sp.csr_array(parts, shape=(own.shape[0], graph.num_features))
