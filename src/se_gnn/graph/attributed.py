"""The attributed graph G = (V, E, X) with its labels and its split.

Shapes: N nodes, E undirected edges, F features, C classes.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.columns import Column, check_columns
from se_gnn.graph.labels import UNKNOWN
from se_gnn.graph.node_ids import position_of, positions_of

IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]
Features: TypeAlias = FloatArray | sp.csr_array


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """What was merged away when edges were brought to "every undirected edge once"."""

    given: int = 0
    self_loops: int = 0
    reciprocal: int = 0  # (v, u) given beside (u, v)
    duplicates: int = 0  # the same pair given again in the same order

    def __str__(self) -> str:
        kept = self.given - self.self_loops - self.reciprocal - self.duplicates
        return (
            f"{self.given:,} edges given, {kept:,} kept: {self.reciprocal:,} reciprocal and {self.duplicates:,} "
            f"duplicate edges merged, {self.self_loops:,} self-loops removed"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class AttributedGraph:
    """An undirected graph with node features, labels and a split; checked on construction and read-only after.

    Use :meth:`build` to make one from any list of edges.

    Args:
        features: node attributes X, dense or sparse (CSR), float32.
        edges: every undirected edge once, as ``u < v``, sorted.
        labels: class of each node, -1 where unknown.
        class_names: what people see for each class.
        node_names: what people see for each node.
        train: labeled nodes V_L, the ones that vote.
        val: nodes that choose the best epoch.
        test: nodes that are looked at once.
        name: name of the data set.
        feature_names: what people see for each feature.
        columns: the columns of a table that the features were, each with its encoding.
        image_shape: rows and columns, where the features of a node are the pixels of a picture.
        motif_edges: ground truth of an explanation: edges that belong to a planted motif.
        node_roles: ground truth of the nearest labeled nodes: copies of one node of a motif have the same number above
            0; 0 for nodes outside all motifs.
        edge_roles: ground truth of edge matching, numbered in the same way.
        merged: what :meth:`build` merged away.
        dataset: name under which :func:`se_gnn.load_dataset` knows the graph; None for a graph of one's own, whatever
            its name. Presets `paper` and `authors` have settings for some of these.

    Shapes:
        - **features:** :math:`(N, F)`
        - **edges:** :math:`(E, 2)`
        - **labels:** :math:`(N,)`
        - **motif_edges:** :math:`(E,)`
        - **node_roles:** :math:`(N,)`
        - **edge_roles:** :math:`(E,)`
    """

    features: Features
    edges: IntArray
    labels: IntArray
    class_names: tuple[str, ...]
    node_names: tuple[str, ...]
    train: IntArray
    val: IntArray
    test: IntArray
    name: str = "graph"
    feature_names: tuple[str, ...] | None = None
    columns: tuple[Column, ...] | None = None
    image_shape: tuple[int, int] | None = None
    motif_edges: BoolArray | None = None
    node_roles: IntArray | None = None
    edge_roles: IntArray | None = None
    merged: EdgeReport = EdgeReport()
    dataset: str | None = None

    @classmethod
    def build(
        cls,
        *,
        features: Any,
        edges: Any,
        labels: Any,
        class_names: Sequence[str] | None = None,
        node_names: Sequence[str] | None = None,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        **details: Any,
    ) -> AttributedGraph:
        """Make a graph from edges in any order and direction; duplicates and self-loops are merged and counted.

        ``train``, ``val`` and ``test`` are node ids or boolean masks. Without ``train`` every node with a known
        label is labeled. ``motif_edges`` and ``edge_roles`` refer to the edges as given; of an edge given more than
        once the first counts.

        >>> edges = [[1, 0], [0, 1], [2, 2]]
        >>> graph = AttributedGraph.build(features=[[0.0], [1.0], [2.0]], edges=edges, labels=[0, 1, -1])
        >>> graph.edges.tolist(), str(graph.merged)
        ([[0, 1]], '3 edges given, 1 kept: 1 reciprocal and 0 duplicate edges merged, 1 self-loops removed')
        """
        matrix = _as_features(features)
        num_nodes = matrix.shape[0]
        label_array = _as_integers(labels, "labels")
        pairs = _as_pairs(edges)
        _check_edge_ends(pairs, num_nodes)
        canonical, first, report = _canonical_edges(pairs, num_nodes)
        motif, node_roles, edge_roles = (
            details.pop(name, None) for name in ("motif_edges", "node_roles", "edge_roles")
        )
        if motif is not None:
            motif = np.asarray(motif, dtype=bool)
            _check_length("motif_edges", motif, "edge", len(pairs))
            motif = motif[first]
        if edge_roles is not None:
            edge_roles = _as_integers(edge_roles, "edge_roles")
            _check_length("edge_roles", edge_roles, "edge", len(pairs))
            edge_roles = edge_roles[first]
        num_classes = int(label_array.max(initial=UNKNOWN)) + 1
        if class_names is None and num_classes > num_nodes:
            raise InputError(
                f"labels must be classes from 0 on, got {num_classes - 1} in a graph of {num_nodes} nodes: "
                "number the classes, or give class_names"
            )
        return cls(
            features=matrix,
            edges=canonical,
            labels=label_array,
            class_names=tuple(class_names) if class_names is not None else tuple(str(c) for c in range(num_classes)),
            node_names=tuple(node_names) if node_names is not None else tuple(str(i) for i in range(num_nodes)),
            train=np.flatnonzero(label_array != UNKNOWN) if train is None else _as_nodes(train, "train", num_nodes),
            val=_as_nodes(val, "val", num_nodes),
            test=_as_nodes(test, "test", num_nodes),
            motif_edges=motif,
            node_roles=None if node_roles is None else _as_integers(node_roles, "node_roles"),
            edge_roles=edge_roles,
            merged=report,
            **details,
        )

    def __post_init__(self) -> None:
        _check_features(self.features)
        n = self.num_nodes
        if len(self.labels) != n:
            raise InputError(
                f"labels must have one entry a node: features has {n} rows, labels {len(self.labels)} entries"
            )
        _check_labels(self.labels, self.class_names)
        _check_edge_ends(self.edges, n)
        if not _is_canonical(self.edges, n):
            raise InputError("edges must be sorted pairs u < v, each once; AttributedGraph.build makes them so")
        if len(self.node_names) != n:
            raise InputError(f"node_names must have one entry a node ({n}), got {len(self.node_names)}")
        if len(set(self.node_names)) != n:
            raise InputError(f"node_names must be unique, got {_first_duplicate(self.node_names)!r} twice")
        if self.feature_names is not None and len(self.feature_names) != self.num_features:
            raise InputError(f"feature_names must have {self.num_features} entries, got {len(self.feature_names)}")
        if self.columns is not None:
            check_columns(self.columns, self.num_features)
        if self.image_shape is not None and self.image_shape[0] * self.image_shape[1] != self.num_features:
            raise InputError(f"image_shape must have {self.num_features} pixels, got {self.image_shape}")
        _check_length("motif_edges", self.motif_edges, "edge", self.num_edges)
        _check_length("edge_roles", self.edge_roles, "edge", self.num_edges)
        _check_length("node_roles", self.node_roles, "node", n)
        for name, roles in (("node_roles", self.node_roles), ("edge_roles", self.edge_roles)):
            if roles is not None and roles.min(initial=0) < 0:
                raise InputError(f"{name} must be 0 (not in a motif) or above, got {roles.min()}")
        self._check_split()
        truth = (self.motif_edges, self.node_roles, self.edge_roles)
        for array in (self.edges, self.labels, self.train, self.val, self.test, *truth):
            if array is not None:
                array.setflags(write=False)
        stored = self.features if isinstance(self.features, np.ndarray) else self.features.data
        stored.setflags(write=False)

    def _check_split(self) -> None:
        for part in ("train", "val", "test"):
            nodes = getattr(self, part)
            missing = nodes[(nodes < 0) | (nodes >= self.num_nodes)]
            if len(missing):
                raise InputError(f"{part} must hold node ids from 0 to {self.num_nodes - 1}, got {missing[0]}")
            if (np.diff(nodes) <= 0).any():  # the position of a labeled node is found by bisection
                raise InputError(f"{part} must hold node ids in ascending order, each once; build and with_split sort")
            unlabeled = nodes[self.labels[nodes] == UNKNOWN]
            if len(unlabeled):
                raise InputError(
                    f"{part} must hold nodes with a known label; node {self.node_names[unlabeled[0]]!r} has none"
                )
        for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
            common = np.intersect1d(getattr(self, one), getattr(self, other))
            if len(common):
                raise InputError(f"{one} and {other} must not share nodes, both hold {self.node_names[common[0]]!r}")

    @property
    def num_nodes(self) -> int:
        """N."""
        return int(self.features.shape[0])

    @property
    def num_edges(self) -> int:
        """E, each undirected edge counted once."""
        return len(self.edges)

    @property
    def num_features(self) -> int:
        """F."""
        return int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.class_names)

    @cached_property
    def degrees(self) -> IntArray:
        """Number of edges at each node, [N]."""
        return np.bincount(self.edges.ravel(), minlength=self.num_nodes).astype(np.int64)

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Symmetric CSR matrix [N, N] whose stored values are edge ids, columns sorted."""
        u, v = self.edges[:, 0], self.edges[:, 1]
        ids = np.arange(self.num_edges, dtype=np.int64)
        both = (np.concatenate([ids, ids]), (np.concatenate([u, v]), np.concatenate([v, u])))
        matrix = sp.coo_array(both, shape=(self.num_nodes, self.num_nodes)).tocsr()
        matrix.sort_indices()
        return matrix

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.node_names)}

    def node_id(self, node: str | int) -> int:
        """Id (position) of one node: an integer is a position, a string is a name."""
        return position_of(node, self.node_names, self._ids)

    def node_ids(self, nodes: Any) -> IntArray:
        """Ids of some nodes, in their order: positions, names, or a boolean mask with one entry per node."""
        return positions_of(nodes, self.node_names, self._ids)

    def attributes(self, node: int) -> dict[str, str]:
        """The values of a node as its table has them, by column; features by name where it came from no table."""
        stored: Any = self.features[[node]]
        row: FloatArray = (stored if isinstance(stored, np.ndarray) else stored.toarray())[0]
        if self.columns is not None:
            return {column.name: column.show(row[column.first : column.first + column.size]) for column in self.columns}
        names = self.feature_names or [f"feature {i}" for i in range(self.num_features)]
        return {name: f"{value:g}" for name, value in zip(names, row.tolist())}

    def with_split(self, *, train: Any, val: Any = None, test: Any = None) -> AttributedGraph:
        """A copy with another split."""
        n = self.num_nodes
        return dataclasses.replace(
            self, train=_as_nodes(train, "train", n), val=_as_nodes(val, "val", n), test=_as_nodes(test, "test", n)
        )

    def with_edges(self, edges: Any) -> AttributedGraph:
        """A copy with other edges (a perturbed graph, say); ground truth on edges does not survive."""
        pairs = _as_pairs(edges)
        _check_edge_ends(pairs, self.num_nodes)
        canonical, _, report = _canonical_edges(pairs, self.num_nodes)
        return dataclasses.replace(self, edges=canonical, motif_edges=None, edge_roles=None, merged=report)

    def check_trainable(self) -> None:
        """Refuse a graph that nothing can be learned from, before any work is done."""
        if not len(self.train):
            raise InputError(f"{self.name} has no labeled node: train must name at least one node with a known label")
        present = np.unique(self.labels[self.train])
        if len(present) < 2:
            only = self.class_names[present[0]]
            raise InputError(f"labeled nodes must come from at least two classes, all {len(self.train)} are {only!r}")

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.features) else "dense"
        return (
            f"AttributedGraph({self.name!r}: {self.num_nodes} nodes, {self.num_edges} edges, "
            f"{self.num_features} {kind} features, {self.num_classes} classes, "
            f"{len(self.train)}/{len(self.val)}/{len(self.test)} train/val/test)"
        )


def _as_features(features: Any) -> Features:
    if sp.issparse(features):
        matrix = sp.csr_array(features, dtype=np.float32, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix
    try:
        dense = np.array(features, dtype=np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"features must be numbers: {error}") from error
    if dense.ndim != 2:
        raise InputError(f"features must have two dimensions (nodes, features), got shape {dense.shape}")
    return dense


def _check_features(features: Features) -> None:
    if features.shape[0] == 0 or features.shape[1] == 0:
        raise InputError(f"features must have at least one row and one column, got shape {tuple(features.shape)}")
    values = features if isinstance(features, np.ndarray) else features.data
    bad = ~np.isfinite(values)
    if bad.any():
        where = np.argwhere(bad)[0]
        if isinstance(features, np.ndarray):
            row, column = where
        else:
            row = np.searchsorted(features.indptr, where[0], side="right") - 1
            column = features.indices[where[0]]
        value = values[tuple(where)]
        raise InputError(
            f"features must be finite: {int(bad.sum())} values are not, "
            f"the first is {value} at node {row}, column {column}"
        )


def _check_labels(labels: IntArray, class_names: tuple[str, ...]) -> None:
    if len(labels) and (labels.min() < UNKNOWN or labels.max() >= len(class_names)):
        wrong = labels[(labels < UNKNOWN) | (labels >= len(class_names))][0]
        raise InputError(f"labels must be -1 (unknown) or a class below {len(class_names)}, got {wrong}")
    if len(set(class_names)) != len(class_names):
        raise InputError(f"class_names must be unique, got {_first_duplicate(class_names)!r} twice")


def _check_edge_ends(edges: IntArray, num_nodes: int) -> None:
    if not len(edges):
        return
    bad = np.flatnonzero((edges < 0).any(axis=1) | (edges >= num_nodes).any(axis=1))
    if len(bad):
        u, v = edges[bad[0]]
        raise InputError(
            f"edges must join nodes 0 to {num_nodes - 1}: edge {bad[0]} = ({u}, {v}) names a missing node"
            f" ({len(bad)} such edges)"
        )


def _check_length(name: str, values: Any, noun: str, count: int) -> None:
    if values is not None and values.shape != (count,):
        shown = len(values) if values.ndim == 1 else f"shape {values.shape}"
        raise InputError(f"{name} must have one entry {'an' if noun == 'edge' else 'a'} {noun} ({count}), got {shown}")


def _canonical_edges(pairs: IntArray, num_nodes: int) -> tuple[IntArray, IntArray, EdgeReport]:
    """Sorted unique pairs u < v, the first given edge of each, and what was merged."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    proper = np.flatnonzero(low != high)
    keys = low[proper] * num_nodes + high[proper]
    unique, first = np.unique(keys, return_index=True)
    # sorted, not np.unique: its hash table takes ten times as long on millions of edges
    ordered = np.sort(pairs[proper, 0] * num_nodes + pairs[proper, 1])
    num_ordered = int(np.count_nonzero(np.diff(ordered))) + bool(len(ordered))
    report = EdgeReport(
        given=len(pairs),
        self_loops=len(pairs) - len(proper),
        reciprocal=num_ordered - len(unique),
        duplicates=len(proper) - num_ordered,
    )
    edges = np.stack([unique // num_nodes, unique % num_nodes], axis=1).astype(np.int64)
    return edges, proper[first], report


def _is_canonical(edges: IntArray, num_nodes: int) -> bool:
    keys = edges[:, 0] * num_nodes + edges[:, 1]
    return bool((edges[:, 0] < edges[:, 1]).all() and (np.diff(keys) > 0).all())


def _as_integers(values: Any, name: str) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind == "f" and (array == np.round(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers, got values of type {array.dtype}")
    return array.astype(np.int64)


def _as_pairs(edges: Any) -> IntArray:
    if np.size(edges) == 0:
        return np.empty((0, 2), np.int64)
    pairs = _as_integers(edges, "edges")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        # a [2, E] array reshaped to pairs would be another graph without a word
        raise InputError(f"edges must be pairs of nodes, shape (E, 2), got shape {pairs.shape}")
    return pairs


def _as_nodes(nodes: Any, name: str, num_nodes: int) -> IntArray:
    if nodes is None:
        return np.empty(0, np.int64)
    array = np.asarray(nodes)
    if array.dtype == bool:
        if array.shape != (num_nodes,):
            raise InputError(f"{name} mask must have one entry a node ({num_nodes}), got shape {array.shape}")
        return np.flatnonzero(array)
    return np.unique(_as_integers(array, name))


def _first_duplicate(names: Sequence[str]) -> str:
    counts = Counter(names)
    return next(name for name in names if counts[name] > 1)
