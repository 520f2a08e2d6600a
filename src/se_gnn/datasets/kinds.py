"""Several kinds of nodes in one graph: the columns of each kind side by side, zeros elsewhere.

A node of kind t with attributes x has the features :math:`(0, ..., 0, x, 0, ..., 0)` and a mark in the column of its
kind. A linear layer over these blocks is one linear layer per kind, with a bias of its own:

.. math:: W [0; x; 0; m_t] = W_t x + m_t b_t

The mark :math:`m_t` is as large as the attributes of its kind are long (root mean square; 1 where there are none): it
neither drowns them nor is drowned by them. The output is one space for all kinds. Features are sparse, so that a block
of zeros costs nothing. Shapes: N nodes of all kinds, F features of all blocks.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features, Int32Array, IntArray, as_features
from se_gnn.graph.columns import BooleanColumn, CategoryColumn, Column

MOST_NAMED = 1000  # nodes of a kind without attributes that are told apart by their names
SPARSE_BELOW = 0.1  # share of features that are not 0, below which they are kept sparse


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodesOfKind:
    """The nodes of one kind.

    Args:
        names: what each is called, unique within the kind.
        features: their attributes; None: they are told apart by their names where they are at most 1,000, and else
            only by their edges.
        feature_names: what people see for each attribute.
        columns: the columns of a table that the attributes were.

    Shapes:
        - **features:** :math:`(N_t, F_t)`
    """

    names: Sequence[str]
    features: Features | None = None
    feature_names: Sequence[str] | None = None
    columns: Sequence[Column] | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JoinedKinds:
    """All nodes, one kind after the other.

    Shapes:
        - **features:** :math:`(N, F)`, **kinds:** :math:`(N,)`
    """

    features: Features
    feature_names: tuple[str, ...]
    columns: tuple[Column, ...] | None  # None: some kind has attributes that were no columns
    kinds: Int32Array
    type_names: tuple[str, ...]
    names: tuple[str, ...]
    first: Mapping[str, int]  # the first node of each kind

    def nodes(self, kind: str, positions: IntArray) -> IntArray:
        """Nodes of the graph at some positions within a kind."""
        return np.asarray(positions, np.int64) + self.first[kind]


def join_kinds(given: Mapping[str, NodesOfKind]) -> JoinedKinds:
    """Nodes of several kinds in one table of features; a node is called by its kind where names repeat.

    >>> papers = NodesOfKind(names=["p"], features=np.array([[0.5, 2.0]], np.float32), feature_names=["year", "pages"])
    >>> joined = join_kinds({"paper": papers, "author": NodesOfKind(names=["a", "b"])})
    >>> joined.feature_names
    ('paper', 'paper: year', 'paper: pages', 'author', 'author: name = a', 'author: name = b')
    >>> joined.features[1].tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    """
    if not given:
        raise InputError("several kinds of nodes: at least one must be given")
    blocks: list[sp.csr_array] = []
    columns: list[Column] = []
    feature_names: list[str] = []
    all_columns = True
    for kind, nodes in given.items():
        block = _own_features(kind, nodes)
        first = sum(size.shape[1] for size in blocks)
        mark = np.full((len(nodes.names), 1), _mean_length(block.features), np.float32)
        blocks.append(sp.csr_array(sp.hstack([sp.csr_array(mark), sp.csr_array(block.features)], format="csr")))
        feature_names += [kind, *block.feature_names]
        columns.append(BooleanColumn(name=kind, first=first, size=1, words=("no", "yes"), fill=0.0))
        if block.columns is None:
            all_columns = False
            continue
        moved = first + 1
        for column in block.columns:
            columns.append(dataclasses.replace(column, name=column_name(kind, column.name), first=moved))
            moved += column.size
    matrix = sp.csr_array(sp.block_diag(blocks, format="csr"), dtype=np.float32)
    matrix.sort_indices()
    dense = matrix.nnz >= SPARSE_BELOW * matrix.shape[0] * matrix.shape[1]
    sizes = [len(nodes.names) for nodes in given.values()]
    return JoinedKinds(
        features=matrix.toarray() if dense else as_features(matrix),
        feature_names=tuple(feature_names),
        columns=tuple(columns) if all_columns else None,
        kinds=np.repeat(np.arange(len(sizes)), sizes).astype(np.int32),
        type_names=tuple(given),
        names=_names(given),
        first=dict(zip(given, np.cumsum([0, *sizes]).tolist())),
    )


def column_name(kind: str, name: str) -> str:
    """What people see for a column of one kind."""
    return f"{kind}: {name}"


def _mean_length(features: Any) -> float:
    """Root mean square of the lengths of the rows; 1 where there is nothing in them."""
    rows = sp.csr_array(features, dtype=np.float64)
    square = float(rows.multiply(rows).sum()) / max(1, rows.shape[0])
    return math.sqrt(square) or 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    features: Any
    feature_names: list[str]
    columns: Sequence[Column] | None


def _own_features(kind: str, nodes: NodesOfKind) -> _Block:
    if nodes.features is None:
        if len(nodes.names) > MOST_NAMED:
            return _Block(np.empty((len(nodes.names), 0), np.float32), [], ())
        column = CategoryColumn(
            name="name", first=0, size=len(nodes.names), categories=tuple(nodes.names), has_other=False
        )
        return _Block(sp.eye_array(len(nodes.names)), [f"{kind}: {name}" for name in column.feature_names], (column,))
    count, size = nodes.features.shape
    if count != len(nodes.names):
        raise InputError(f"features of {kind} must have one row per node ({len(nodes.names)}), got {count}")
    if nodes.columns is not None:
        names = [name for column in nodes.columns for name in column.feature_names]
    else:
        names = list(nodes.feature_names or [f"feature {i}" for i in range(size)])
    return _Block(nodes.features, [column_name(kind, name) for name in names], nodes.columns)


def _names(given: Mapping[str, NodesOfKind]) -> tuple[str, ...]:
    plain = [str(name) for nodes in given.values() for name in nodes.names]
    if len(set(plain)) == len(plain):
        return tuple(plain)
    return tuple(f"{kind} {name}" for kind, nodes in given.items() for name in nodes.names)
