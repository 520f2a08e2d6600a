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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import Graph, Nodes
from se_gnn.graph.arrays import Features, as_features, dense
from se_gnn.graph.columns import BooleanColumn, CategoryColumn, Column, type_prefix
from se_gnn.graph.rows import as_rows

MOST_NAMED = 10_000  # nodes of a type that are also distinguished by their names
NAME_COLUMNS = ("name", "id", "(id)")
SPARSE_BELOW = 0.1  # share of features that are not 0, below which they are kept sparse


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodesOfType:
    """The nodes of one type.

    Without features, they are distinguished by their names if there are at most 10,000, otherwise only by their edges.
    """

    names: Sequence[str]  # unique within the type
    features: Features | None = None  # [N_t, F_t]
    feature_names: Sequence[str] | None = None


def join_types(given: Mapping[str, NodesOfType]) -> Nodes:
    """Nodes of several types, one type after the other; a node is called by its type where names repeat.

    >>> papers = NodesOfType(names=["p"], features=np.array([[0.5, 2.0]], np.float32), feature_names=["year", "pages"])
    >>> nodes = join_types({"paper": papers, "author": NodesOfType(names=["a", "b"])})
    >>> nodes.feature_names
    ('paper', 'paper: year', 'paper: pages', 'author', 'author: name = a', 'author: name = b')
    >>> nodes.features[1].tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    """
    if not given:
        raise InputError("several types of nodes: at least one must be given")
    found = {type_name: _block(type_name, nodes) for type_name, nodes in given.items()}
    firsts = np.cumsum([0, *(1 + own.shape[1] for own, _ in found.values())]).tolist()
    rows = [typed_rows(own, mean_length([own]), low, firsts[-1]) for low, (own, _) in zip(firsts, found.values())]
    plain = [str(name) for nodes in given.values() for name in nodes.names]
    if len(set(plain)) < len(plain):
        plain = [f"{type_name} {name}" for type_name, nodes in given.items() for name in nodes.names]
    sizes = [len(nodes.names) for nodes in given.values()]
    return Nodes(
        features=as_rows(dense_if_filled(rows)),
        names=tuple(plain),
        feature_names=tuple(name for one, (_, own) in found.items() for name in (one, *(f"{one}: {n}" for n in own))),
        types=np.repeat(np.arange(len(sizes)), sizes).astype(np.int32),
        type_names=tuple(given),
    )


def typed_rows(own: Features, mark: float, first: int, width: int) -> sp.csr_array:
    """Nodes of one type among the ``width`` features of all: from ``first`` on the mark of the type and its attributes.

    Shapes:
        - **own:** :math:`(n, F_t)`, the result :math:`(n, F)`
    """
    count = own.shape[0]
    marked = sp.csr_array(sp.hstack([np.full((count, 1), mark, np.float32), sp.csr_array(own)], format="csr"))
    return sp.csr_array((marked.data.astype(np.float32), marked.indices + first, marked.indptr), shape=(count, width))


def mean_length(blocks: Iterable[Features]) -> float:
    """Root mean square of the lengths of rows, which come in blocks; 1 where there is nothing in them."""
    square, count = 0.0, 0
    for block in blocks:
        rows = sp.csr_array(block, dtype=np.float64)
        square, count = square + float(rows.multiply(rows).sum()), count + rows.shape[0]
    return math.sqrt(square / max(1, count)) or 1.0


def dense_if_filled(blocks: Sequence[sp.csr_array]) -> Features:
    """Blocks of rows as one matrix, sparse where few of its features are not 0."""
    matrix = sp.csr_array(sp.vstack(blocks, format="csr"), dtype=np.float32)
    matrix.sort_indices()
    filled = matrix.nnz >= SPARSE_BELOW * matrix.shape[0] * matrix.shape[1]
    return matrix.toarray() if filled else as_features(matrix)


def joined_columns(given: Mapping[str, Sequence[Column]], *, marked: bool) -> tuple[Column, ...]:
    """The columns of all types of nodes or edges, called by their type; ``marked``: after a column that marks it."""
    joined: list[Column] = []
    first = 0
    for type_name, own in given.items():
        mark = BooleanColumn(name=type_name, first=0, size=1, words=("no", "yes"), fill=0.0)
        named = [dataclasses.replace(column, name=type_prefix(type_name) + column.name) for column in own]
        for column in (mark, *named) if marked else named:
            joined.append(dataclasses.replace(column, first=first))
            first += column.size
    return tuple(joined)


def own_columns(columns: Sequence[Column], type_name: str) -> tuple[Column, ...]:
    """The columns of one type of nodes or edges, called as in its table, and their features counted from 0."""
    prefix, first, found = type_prefix(type_name), 0, []
    for column in columns:
        if column.name.startswith(prefix):
            found.append(dataclasses.replace(column, name=column.name.removeprefix(prefix), first=first))
            first += column.size
    return tuple(found)


def name_column(names: Sequence[str], taken: Collection[str] = ()) -> tuple[Column, ...]:
    """A column of the names of nodes, which tells them apart where there are few; else none."""
    if len(names) > MOST_NAMED:
        return ()
    called = next(one for one in NAME_COLUMNS if one not in taken)
    return (CategoryColumn(name=called, first=0, size=len(names), categories=tuple(names), has_other=False),)


def type_mark(graph: Graph, type_name: str) -> tuple[float, int]:
    """What marks the nodes of one type of a graph, and the feature that does."""
    place = int((graph.nodes.blocks_by_type() or {})[type_name][0])
    known = graph.nodes.features.take(graph.nodes.of_type(type_name)[:1])
    return float(dense(known)[0, place]), place


def _block(type_name: str, nodes: NodesOfType) -> tuple[Features, Sequence[str]]:
    """The features of one type, and what they are called."""
    count, features = len(nodes.names), nodes.features
    if features is None:
        names = [name for column in name_column(nodes.names) for name in column.feature_names]
        return sp.csr_array(sp.eye_array(count, len(names)), dtype=np.float32), names
    if features.shape[0] != count:
        raise InputError(f"features of {type_name} must have one row per node ({count}), got {features.shape[0]}")
    return features, nodes.feature_names or [f"feature {i}" for i in range(features.shape[1])]
