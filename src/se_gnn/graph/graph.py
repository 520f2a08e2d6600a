"""The attributed graph G = (V, E, X) with its labels and its split.

Shapes: N nodes, E undirected edges, F features, C classes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import (
    BoolArray,
    Features,
    Float64Array,
    FloatArray,
    Int32Array,
    IntArray,
    as_features,
    as_integers,
    as_nodes,
    check_features,
    check_length,
)
from se_gnn.graph.columns import Column, check_columns
from se_gnn.graph.edge_list import EdgeReport, as_pairs, canonical_edges, check_edge_ends, is_canonical
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.labels import UNKNOWN
from se_gnn.graph.node_ids import position_of, positions_of
from se_gnn.graph.parallel_edges import canonical_valued_edges, is_sorted
from se_gnn.graph.raw import RawTable
from se_gnn.graph.split import PARTS
from se_gnn.graph.times import Date, as_seconds

__all__ = [
    "UNKNOWN",
    "BoolArray",
    "EdgeReport",
    "EdgeValues",
    "Features",
    "Float64Array",
    "FloatArray",
    "Graph",
    "Int32Array",
    "IntArray",
]  # fmt: skip

MOST_UNUSED_CLASSES = 1000  # that any graph may have


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph:
    """An undirected graph with node features, labels and a split; checked on construction and read-only after.

    Use :meth:`build` to make one from any list of edges.

    Args:
        features: node attributes X, dense or sparse (CSR), float32.
        edges: every undirected edge once, as ``u < v``, sorted; with ``edge_values`` the same ends may come again.
        labels: class of each node, -1 where unknown.
        class_names: what people see for each class.
        node_names: what each node is called, once each; people find a node by it.
        train: labeled nodes V_L, the ones that vote; given in any order, kept sorted, each once.
        validation: nodes that choose the best epoch.
        test: nodes that are looked at once.
        calibration: nodes whose labels nothing is learned from or chosen by, kept for the size of prediction sets.
        name: name of the data set.
        feature_names: what people see for each feature.
        columns: the columns of a table that the features were, each with its encoding.
        captions: what people see for each node where names are codes: any text, several nodes may share one.
        raw: the rows of the table as it was given, kept to be shown.
        image_shape: rows and columns, where the features of a node are the pixels of a picture.
        edge_values: what each edge carries besides its ends: direction, weight, type, attributes, time; None: nothing.
        node_types: what each node is where there are several kinds, a position in ``node_type_names``; None: one kind.
        node_type_names: what people see for each kind of nodes.
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
    validation: IntArray
    test: IntArray
    name: str = "graph"
    feature_names: tuple[str, ...] | None = None
    columns: tuple[Column, ...] | None = None
    captions: tuple[str, ...] | None = None
    raw: RawTable | None = None
    image_shape: tuple[int, int] | None = None
    edge_values: EdgeValues | None = None
    node_types: Int32Array | None = None
    node_type_names: tuple[str, ...] = ()
    motif_edges: BoolArray | None = None
    node_roles: IntArray | None = None
    edge_roles: IntArray | None = None
    merged: EdgeReport = EdgeReport()  # noqa: RUF009 - frozen
    dataset: str | None = None
    calibration: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

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
        validation: Any = None,
        test: Any = None,
        name: str = "graph",
        feature_names: Sequence[str] | None = None,
        columns: Sequence[Column] | None = None,
        captions: Sequence[str] | None = None,
        raw: RawTable | None = None,
        image_shape: tuple[int, int] | None = None,
        edge_values: EdgeValues | None = None,
        node_types: Any = None,
        node_type_names: Sequence[str] = (),
        motif_edges: Any = None,
        node_roles: Any = None,
        edge_roles: Any = None,
        dataset: str | None = None,
        calibration: Any = None,
    ) -> Graph:
        """Make a graph from edges in any order and direction; duplicates and self-loops are merged and counted.

        ``train``, ``validation``, ``test`` and ``calibration`` are node ids or boolean masks. Without ``train`` every
        node with a known label is labeled. ``motif_edges`` and ``edge_roles`` refer to the edges as given; of an edge
        given more than once the first counts. Without ``class_names`` a class is named by its number; labels that
        reach beyond the number of nodes are codes, not positions: then the classes are the codes that occur.

        With ``edge_values``, one row per edge as given, direction +1 from its first end to its second, parallel edges
        are all kept; only edges that agree in everything are merged.

        >>> edges = [[1, 0], [0, 1], [2, 2]]
        >>> graph = Graph.build(features=[[0.0], [1.0], [2.0]], edges=edges, labels=[0, 1, -1])
        >>> graph.edges.tolist(), str(graph.merged)
        ([[0, 1]], '3 edges given, 1 kept: 1 reciprocal and 0 duplicate edges merged, 1 self-loops removed')
        """
        matrix = as_features(features)
        num_nodes = matrix.shape[0]
        label_array = as_integers(labels, "labels")
        if class_names is None:
            label_array, class_names = _numbered_classes(label_array, num_nodes)
        pairs = as_pairs(edges)
        check_edge_ends(pairs, num_nodes)
        if edge_values is None:
            canonical, first, report = canonical_edges(pairs, num_nodes)
        else:
            check_edge_values(edge_values, len(pairs))
            canonical, first, edge_values, report = canonical_valued_edges(pairs, edge_values, num_nodes)
        if motif_edges is not None:
            motif_edges = np.asarray(motif_edges, dtype=bool)
            check_length("motif_edges", motif_edges, "edge", len(pairs))
            motif_edges = motif_edges[first]
        if edge_roles is not None:
            edge_roles = as_integers(edge_roles, "edge_roles")
            check_length("edge_roles", edge_roles, "edge", len(pairs))
            edge_roles = edge_roles[first]
        return cls(
            features=matrix,
            edges=canonical,
            labels=label_array,
            class_names=tuple(class_names),
            node_names=tuple(node_names) if node_names is not None else tuple(str(i) for i in range(num_nodes)),
            train=np.flatnonzero(label_array != UNKNOWN) if train is None else as_nodes(train, "train", num_nodes),
            validation=as_nodes(validation, "validation", num_nodes),
            test=as_nodes(test, "test", num_nodes),
            name=name,
            feature_names=None if feature_names is None else tuple(feature_names),
            columns=None if columns is None else tuple(columns),
            captions=None if captions is None else tuple(captions),
            raw=raw,
            image_shape=image_shape,
            edge_values=edge_values,
            node_types=None if node_types is None else as_integers(node_types, "node_types").astype(np.int32),
            node_type_names=tuple(node_type_names),
            motif_edges=motif_edges,
            node_roles=None if node_roles is None else as_integers(node_roles, "node_roles"),
            edge_roles=edge_roles,
            merged=report,
            dataset=dataset,
            calibration=as_nodes(calibration, "calibration", num_nodes),
        )

    def __post_init__(self) -> None:
        check_features(self.features)
        n = self.num_nodes
        if len(self.labels) != n:
            raise InputError(
                f"labels must have one entry per node: features has {n} rows, labels {len(self.labels)} entries"
            )
        _check_labels(self.labels, self.class_names)
        check_edge_ends(self.edges, n)
        if self.edge_values is not None:
            check_edge_values(self.edge_values, self.num_edges)
            if not is_sorted(self.edges, n):
                raise InputError("edges must be sorted pairs u < v; Graph.build makes them so")
        elif not is_canonical(self.edges, n):
            raise InputError("edges must be sorted pairs u < v, each once; Graph.build makes them so")
        if len(self.node_names) != n:
            raise InputError(f"node_names must have one entry per node ({n}), got {len(self.node_names)}")
        if len(set(self.node_names)) != n:
            raise InputError(f"node_names must be unique, got {_first_duplicate(self.node_names)!r} twice")
        if self.feature_names is not None and len(self.feature_names) != self.num_features:
            raise InputError(f"feature_names must have {self.num_features} entries, got {len(self.feature_names)}")
        if self.captions is not None and len(self.captions) != n:
            raise InputError(f"captions must have one entry per node ({n}), got {len(self.captions)}")
        if self.captions is not None and not all(isinstance(caption, str) for caption in self.captions):
            raise InputError("captions must be texts, the empty one where a node has none")
        if self.raw is not None and len(self.raw) != n:
            raise InputError(f"raw must have one row per node ({n}), got {len(self.raw)}")
        if self.columns is not None:
            check_columns(self.columns, self.num_features)
        if self.image_shape is not None and self.image_shape[0] * self.image_shape[1] != self.num_features:
            raise InputError(f"image_shape must have {self.num_features} pixels, got {self.image_shape}")
        check_length("motif_edges", self.motif_edges, "edge", self.num_edges)
        check_length("edge_roles", self.edge_roles, "edge", self.num_edges)
        check_length("node_roles", self.node_roles, "node", n)
        for name, roles in (("node_roles", self.node_roles), ("edge_roles", self.edge_roles)):
            if roles is not None and roles.min(initial=0) < 0:
                raise InputError(f"{name} must be 0 (not in a motif) or above, got {roles.min()}")
        self._check_node_kinds()
        self._check_split()
        truth = (self.motif_edges, self.node_roles, self.edge_roles, self.node_types)
        for array in (self.edges, self.labels, *(getattr(self, part) for part in PARTS), *truth):
            if array is not None:
                array.setflags(write=False)
        stored = self.features if isinstance(self.features, np.ndarray) else self.features.data
        stored.setflags(write=False)

    def _check_node_kinds(self) -> None:
        kinds, names = self.node_types, self.node_type_names
        if (kinds is None) != (not names):
            raise InputError("node_types and node_type_names must be given together")
        check_length("node_types", kinds, "node", self.num_nodes)
        if len(set(names)) != len(names):
            raise InputError(f"node_type_names must be unique, got {_first_duplicate(names)!r} twice")
        if kinds is not None and (kinds.dtype != np.int32 or kinds.min() < 0 or kinds.max() >= len(names)):
            raise InputError(
                f"node_types must be int32 from 0 to {len(names) - 1}, a position in node_type_names, got {kinds.dtype}"
                f" from {kinds.min()} to {kinds.max()}"
            )

    def _check_split(self) -> None:
        for part in PARTS:
            nodes = as_nodes(getattr(self, part), part, self.num_nodes)
            object.__setattr__(self, part, nodes)  # frozen: everything else reads sorted ids, each once
            missing = nodes[(nodes < 0) | (nodes >= self.num_nodes)]
            if len(missing):
                raise InputError(f"{part} must hold node ids from 0 to {self.num_nodes - 1}, got {missing[0]}")
            unlabeled = nodes[self.labels[nodes] == UNKNOWN]
            if len(unlabeled):
                raise InputError(
                    f"{part} must hold nodes with a known label; node {self.node_names[unlabeled[0]]!r} has none"
                )
        for one, other in itertools.combinations(PARTS, 2):
            common = np.intersect1d(getattr(self, one), getattr(self, other))
            if len(common):
                raise InputError(f"{one} and {other} must not share nodes, both hold {self.node_names[common[0]]!r}")

    @property
    def num_nodes(self) -> int:
        """N."""
        return int(self.features.shape[0])

    @property
    def num_edges(self) -> int:
        """E, each undirected edge counted once, parallel edges with values of their own each."""
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
        """Symmetric CSR matrix [N, N] whose stored values are edge ids, columns sorted; parallel edges side by side."""
        u, v = self.edges[:, 0], self.edges[:, 1]
        ids = np.arange(self.num_edges, dtype=np.int64)
        if self.edge_values is not None:  # no sum of the ids of parallel edges
            rows, others, both_ids = np.concatenate([u, v]), np.concatenate([v, u]), np.concatenate([ids, ids])
            order = np.lexsort((both_ids, others, rows))
            indptr = np.concatenate([[0], np.cumsum(self.degrees)])
            return sp.csr_array((both_ids[order], others[order], indptr), shape=(self.num_nodes, self.num_nodes))
        both = (np.concatenate([ids, ids]), (np.concatenate([u, v]), np.concatenate([v, u])))
        matrix = sp.coo_array(both, shape=(self.num_nodes, self.num_nodes)).tocsr()
        matrix.sort_indices()
        return matrix

    @property
    def neighbor_arrays(self) -> tuple[Any, Any, Any]:
        """Neighbors and edges of each node as arrays in CSR form: where a row begins, neighbors, ids of the edges."""
        adjacency = self.adjacency
        return adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int32, copy=False), adjacency.data

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.node_names)}

    def node_id(self, node: str | int) -> int:
        """Id (position) of one node: an integer is a position, a string is a name."""
        return position_of(node, self.node_names, self._ids)

    def node_ids(self, nodes: Any) -> IntArray:
        """Ids of some nodes, in their order: positions, names, or a boolean mask with one entry per node."""
        return positions_of(nodes, self.node_names, self._ids)

    def caption(self, node: int) -> str:
        """What people see for a node: its caption, or its name where it has none."""
        return (self.captions[node] if self.captions is not None else "") or self.node_names[node]

    def with_split(self, *, train: Any, validation: Any = None, test: Any = None, calibration: Any = None) -> Graph:
        """A copy with another split."""
        given = {"train": train, "validation": validation, "test": test, "calibration": calibration}
        parts: dict[str, Any] = {part: as_nodes(nodes, part, self.num_nodes) for part, nodes in given.items()}
        return dataclasses.replace(self, **parts)

    def with_edges(self, edges: Any) -> Graph:
        """A copy with other edges (a perturbed graph, say); ground truth on edges does not survive.

        Where edges carry values, a pair that was joined before keeps all its edges with their values, and a new pair
        gets one edge of which nothing is known (:meth:`EdgeValues.neutral`).
        """
        pairs = as_pairs(edges)
        check_edge_ends(pairs, self.num_nodes)
        canonical, _, report = canonical_edges(pairs, self.num_nodes)
        changed: dict[str, Any] = {"edges": canonical, "motif_edges": None, "edge_roles": None, "merged": report}
        if self.edge_values is not None:
            changed |= dict(zip(("edges", "edge_values"), self._valued(canonical, self.edge_values)))
        return dataclasses.replace(self, **changed)

    def _valued(self, pairs: IntArray, values: EdgeValues) -> tuple[IntArray, EdgeValues]:
        """All edges that join some pairs, and their values; a pair without an edge gets one."""
        known = self.edges[:, 0] * self.num_nodes + self.edges[:, 1]
        wanted = pairs[:, 0] * self.num_nodes + pairs[:, 1]
        kept = np.flatnonzero(np.isin(known, wanted))
        new = pairs[~np.isin(wanted, known)]
        ends = np.concatenate([self.edges[kept], new])
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        return ends[order], values.take(kept).joined(values.neutral(len(new))).take(order)

    def until(self, date: Date) -> Graph:
        """A copy without the edges after a date, so that nothing is seen that came later.

        Args:
            date: the last day, or the last moment; seconds since 1970 where it is an integer. An edge without a date
                stays.
        """
        if self.edge_values is None or self.edge_values.time is None:
            raise InputError(f"until needs edges with a date, those of {self.name} have none")
        kept = np.flatnonzero(self.edge_values.time <= as_seconds(date))
        return dataclasses.replace(
            self,
            edges=self.edges[kept],
            edge_values=self.edge_values.take(kept),
            motif_edges=None if self.motif_edges is None else self.motif_edges[kept],
            edge_roles=None if self.edge_roles is None else self.edge_roles[kept],
        )

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
            f"Graph({self.name!r}: {self.num_nodes} nodes, {self.num_edges} edges, "
            f"{self.num_features} {kind} features, {self.num_classes} classes, "
            f"{len(self.train)}/{len(self.validation)}/{len(self.test)} train/validation/test)"
        )


def check_edge_values(values: EdgeValues, num_edges: int) -> None:
    """Refuse values that are not one row per edge."""
    if len(values) != num_edges:
        raise InputError(f"edge_values must have one row per edge ({num_edges}), got {len(values)}")


def _check_labels(labels: IntArray, class_names: tuple[str, ...]) -> None:
    if len(labels) and (labels.min() < UNKNOWN or labels.max() >= len(class_names)):
        wrong = labels[(labels < UNKNOWN) | (labels >= len(class_names))][0]
        raise InputError(f"labels must be -1 (unknown) or a class below {len(class_names)}, got {wrong}")
    if len(set(class_names)) != len(class_names):
        raise InputError(f"class_names must be unique, got {_first_duplicate(class_names)!r} twice")


def _numbered_classes(labels: IntArray, num_nodes: int) -> tuple[IntArray, list[str]]:
    """Labels and the names of their classes; codes beyond the number of nodes become positions among those present."""
    num_classes = int(labels.max(initial=UNKNOWN)) + 1
    if num_classes <= max(num_nodes, MOST_UNUSED_CLASSES):
        return labels, [str(c) for c in range(num_classes)]
    codes, positions = np.unique(labels[labels >= 0], return_inverse=True)
    result = labels.copy()
    result[labels >= 0] = positions
    return result, [str(code) for code in codes.tolist()]


def _first_duplicate(names: Sequence[str]) -> str:
    counts = Counter(names)
    return next(name for name in names if counts[name] > 1)
