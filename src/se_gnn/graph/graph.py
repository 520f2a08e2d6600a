"""The attributed graph G = (V, E, X) with what is predicted of its nodes, and their split.

A graph is made of parts that graphs share: another split of the same nodes and edges copies nothing, and checks nothing
but the split. Shapes: N nodes, E undirected edges, F features, C classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features, Float64Array, Int32Array, IntArray, as_features, as_integers
from se_gnn.graph.columns import Column, RawTable
from se_gnn.graph.edge_values import Date, EdgeValues, as_seconds
from se_gnn.graph.edges import Csr, EdgeReport, Edges
from se_gnn.graph.nodes import Nodes
from se_gnn.graph.rows import as_rows
from se_gnn.graph.split import PARTS, Split
from se_gnn.graph.target import UNKNOWN, Classes, Numbers, Target

T = TypeVar("T")


class _Of(Generic[T]):
    """What a part of the graph holds, read from the graph."""

    def __init__(self, part: str, name: str) -> None:
        self.part, self.name = part, name

    def __get__(self, graph: Any, owner: Any = None) -> T:
        found: T = getattr(getattr(graph, self.part), self.name)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MappedFrom:
    """The folder whose files nodes and edges are mapped from, and a digest of all that embeddings depend on."""

    folder: Path
    digest: str
    nodes: Nodes
    edges: Edges


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph:
    """An undirected graph with node features, labels and a split; in memory, or with rows mapped from files.

    Use :meth:`build` to make one from any list of edges. Everything that the parts hold can be read from the graph as
    well: ``graph.labels`` is ``graph.target.labels`` (``graph.values``, if a number is predicted), ``graph.train`` is
    ``graph.split.train``, and so on. Rows of the features and edges of any graph are ``graph.features[nodes]`` and
    ``graph.edges.ends[edges]``. What needs all of them at once is refused, with the reason, where they are mapped;
    ``graph.nodes.features.blocks()`` reads any graph.

    Args:
        nodes: features, names, captions, types, and the rows of a table.
        edges: their ends, and their data.
        target: what is predicted, of which node type.
        split: the nodes that vote (train), choose settings (validation), test, and calibrate.
        name: name of the graph.
        dataset: name under which :func:`se_gnn.load_dataset` knows the graph; None for a graph of one's own, whatever
            its name. Presets `paper` and `authors` have settings for some of these.
    """

    nodes: Nodes
    edges: Edges
    target: Target
    split: Split
    name: str = "graph"
    dataset: str | None = None
    _mapped_from: MappedFrom | None = None

    feature_names = _Of[tuple[str, ...] | None]("nodes", "feature_names")  # what people see for each feature
    columns = _Of[tuple[Column, ...] | None]("nodes", "columns")  # the columns of a table that the features were
    node_names = _Of[Sequence[str]]("nodes", "names")  # what each node is called
    captions = _Of[Sequence[str] | None]("nodes", "captions")  # what people see for each node where names are codes
    raw = _Of[RawTable | None]("nodes", "raw")  # the rows of the node table as it was given
    image_shape = _Of[tuple[int, int] | None]("nodes", "image_shape")  # where features are the pixels of a picture
    roles = _Of[tuple[tuple[str, str], ...]]("nodes", "roles")  # what the tables call their id, caption, source, ...
    node_types = _Of[Int32Array | None]("nodes", "types")  # positions in `node_type_names`; None: all are of one type
    node_type_names = _Of[tuple[str, ...]]("nodes", "type_names")  # what people see for each type of nodes
    edge_values = _Of[EdgeValues | None]("edges", "values")  # the data of each edge besides its ends; None: nothing
    merged = _Of[EdgeReport]("edges", "merged")  # what was merged away when the graph was built
    adjacency = _Of[sp.csr_array]("edges", "adjacency")  # symmetric, [N, N]; the stored values are edge ids
    labels = _Of[IntArray]("classes", "labels")  # class of each node, -1 where unknown, [N]
    class_names = _Of[tuple[str, ...]]("classes", "names")  # what people see for each class
    values = _Of[Float64Array]("numbers", "values")  # number of each node, NaN where unknown, [N]
    train = _Of[IntArray]("split", "train")  # the labeled nodes, the ones that vote; ascending ids
    validation = _Of[IntArray]("split", "validation")  # the nodes that choose the best epoch and settings
    test = _Of[IntArray]("split", "test")  # the nodes that nothing is learned from or chosen by
    calibration = _Of[IntArray]("split", "calibration")  # the nodes that decide only how large prediction sets are

    @classmethod
    def build(
        cls,
        *,
        features: Any,
        edges: Any,
        labels: Any = None,
        values: Any = None,
        value_name: str = "value",
        unit: str = "",
        class_names: Sequence[str] | None = None,
        node_names: Sequence[str] | None = None,
        train: Any = None,
        validation: Any = None,
        test: Any = None,
        calibration: Any = None,
        name: str = "graph",
        feature_names: Sequence[str] | None = None,
        columns: Sequence[Column] | None = None,
        captions: Sequence[str] | None = None,
        raw: RawTable | None = None,
        image_shape: tuple[int, int] | None = None,
        edge_values: EdgeValues | None = None,
        node_types: Any = None,
        node_type_names: Sequence[str] = (),
        target_type: str | None = None,
        roles: Sequence[tuple[str, str]] = (),
        dataset: str | None = None,
    ) -> Graph:
        """Make a graph in memory; edges come in any order and direction, duplicates and self-loops are merged.

        ``train``, ``validation``, ``test`` and ``calibration`` are node ids or boolean masks. Without ``train`` every
        node with a known label is labeled. Without ``class_names`` a class is named by its number; labels that reach
        beyond the number of nodes are codes, not positions: then the classes are the codes that occur. Where nodes are
        of several types, ``target_type`` is the one that is predicted; None: the type of the nodes with a label.

        A number is predicted instead of a class if ``values`` are given in place of ``labels``, NaN where unknown;
        ``value_name`` and ``unit`` are what people see.

        With ``edge_values``, one row per edge as given, direction +1 from its first end to its second, parallel edges
        are all kept; only edges that agree in everything are merged.

        >>> edges = [[1, 0], [0, 1], [2, 2]]
        >>> graph = Graph.build(features=[[0.0], [1.0], [2.0]], edges=edges, labels=[0, 1, -1])
        >>> graph.edges.ends.tolist(), str(graph.merged)
        ([[0, 1]], '3 edges given, 1 kept: 1 reciprocal and 0 duplicate edges merged, 1 self-loops removed')
        """
        matrix = as_features(features)
        count = matrix.shape[0]
        if (labels is None) == (values is None):
            raise InputError("a graph needs labels (classes) or values (numbers) to predict: give one of the two")
        target: Target
        if values is not None:
            target = Numbers.build(values, value_name, unit=unit, node_type=target_type)
        else:
            target = Classes.build(labels, class_names, num_nodes=count, node_type=target_type)
        nodes = Nodes(
            features=as_rows(matrix),
            names=tuple(node_names) if node_names is not None else tuple(map(str, range(count))),
            feature_names=None if feature_names is None else tuple(feature_names),
            columns=None if columns is None else tuple(columns),
            captions=None if captions is None else tuple(captions),
            raw=raw,
            types=None if node_types is None else as_integers(node_types, "node_types").astype(np.int32),
            type_names=tuple(node_type_names),
            image_shape=image_shape,
            roles=tuple(roles),
        )
        train = np.flatnonzero(target.known) if train is None else train
        return cls(
            nodes=nodes,
            edges=Edges.build(edges, count, edge_values),
            target=target,
            split=Split.build(count, train=train, validation=validation, test=test, calibration=calibration),
            name=name,
            dataset=dataset,
        )

    def __post_init__(self) -> None:
        """Check that the parts fit each other; each has checked itself."""
        count = len(self.nodes)
        word = self.target.part  # labels, or values
        if len(self.target) != count:
            raise InputError(
                f"{word} must have one entry per node: features has {count} rows, {word} {len(self.target)} entries"
            )
        if self.edges.num_nodes != count:
            raise InputError(f"edges must be those of a graph of {count} nodes, got edges among {self.edges.num_nodes}")
        known = self.target.known
        for part, nodes in self.split.items():
            if len(nodes) and nodes[-1] >= count:
                raise InputError(f"{part} must hold node ids from 0 to {count - 1}, got {nodes[-1]}")
            unlabeled = nodes[~known[nodes]]
            if len(unlabeled):
                name = self.nodes.names[int(unlabeled[0])]
                raise InputError(
                    f"{part} must hold nodes with a known {word.removesuffix('s')}; node {name!r} has none"
                )
        self._check_type(np.flatnonzero(known))

    def _check_type(self, labeled: IntArray) -> None:
        """Labeled nodes are of one type, the one that is predicted."""
        types, names, wanted = self.nodes.types, self.nodes.type_names, self.target.node_type
        if wanted is not None and wanted not in names:
            allowed = f"one of {', '.join(names)}" if names else "None, because all nodes are of one type"
            raise InputError(f"target_type must be {allowed}, got {wanted!r}")
        if types is None or not len(labeled):
            return
        present = np.unique(types[labeled]).tolist()
        if wanted is None and len(present) == 1:
            object.__setattr__(self, "target", dataclasses.replace(self.target, node_type=names[present[0]]))
            return
        other = next((one for one in present if names[one] != wanted), None)
        if other is not None:
            wanted = wanted or names[present[1]]
            node = self.nodes.names[int(labeled[types[labeled] == other][0])]
            raise InputError(
                f"one type of nodes is predicted, but nodes of {names[other]!r} and of {wanted!r} have a label: node "
                f"{node!r} is of type {names[other]!r}; name the type with target_type, and leave out other labels"
            )

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.nodes)

    @property
    def num_edges(self) -> int:
        """E, each undirected edge counted once, parallel edges with values of their own each."""
        return len(self.edges)

    @property
    def num_features(self) -> int:
        """F."""
        return self.nodes.features.shape[1]

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.classes.names)

    @property
    def features(self) -> Features:
        """Node attributes X, [N, F]; mapped from files they can be indexed by nodes alone."""
        return self.nodes.features.indexed()

    @property
    def predicts_numbers(self) -> bool:
        """Whether a number is predicted, not a class."""
        return isinstance(self.target, Numbers)

    @property
    def classes(self) -> Classes:
        """The classes that are predicted; refused if a number is predicted."""
        if isinstance(self.target, Numbers):
            raise InputError(f"this needs classes, but {self.name} has a number to predict: {self.target.name}")
        return self.target

    @property
    def numbers(self) -> Numbers:
        """The numbers that are predicted; refused if classes are predicted."""
        if isinstance(self.target, Classes):
            raise InputError(f"this needs a number to predict, but {self.name} has {len(self.target.names)} classes")
        return self.target

    @property
    def fits_memory(self) -> bool:
        """Whether features and edges are in memory, not mapped from files."""
        return self.nodes.features.in_memory and self.edges.pairs.in_memory

    @property
    def mapped_from(self) -> MappedFrom | None:
        """Where these very nodes and edges are mapped from; None: they are in memory, or others were added."""
        where = self._mapped_from
        return where if where is not None and where.nodes is self.nodes and where.edges is self.edges else None

    @cached_property
    def candidates(self) -> IntArray:
        """Ids of the nodes that can be predicted and labeled: those of the type that is predicted, ascending."""
        wanted = self.target.node_type
        return np.arange(self.num_nodes) if wanted is None else self.nodes.of_type(wanted)

    @property
    def degrees(self) -> IntArray:
        """Number of edges at each node, [N]."""
        return self.edges.neighbors.degrees

    def neighbors(self) -> Csr:
        """The neighbors of each node, and the edges to them."""
        return self.edges.neighbors

    def node_id(self, node: str | int) -> int:
        """Id (position) of one node: an integer is a position, a string is a name."""
        return self.nodes.id_of(node)

    def node_ids(self, nodes: Any) -> IntArray:
        """Ids of some nodes, in their order: positions, names, or a boolean mask with one entry per node."""
        return self.nodes.ids_of(nodes)

    def caption(self, node: int) -> str:
        """What people see for a node: its caption, or its name where it has none."""
        return self.nodes.caption(node)

    def replace(self, **parts: Any) -> Graph:
        """The same graph with other ``nodes``, ``edges``, ``target``, ``split``, ``name`` or ``dataset``.

        Parts that stay are shared and not checked again; so does one that is None.
        """
        return dataclasses.replace(self, **{name: part for name, part in parts.items() if part is not None})

    def with_split(self, *, train: Any, validation: Any = None, test: Any = None, calibration: Any = None) -> Graph:
        """The same graph with another split: node ids, or masks with one entry per node."""
        given = {"train": train, "validation": validation, "test": test, "calibration": calibration}
        return self.replace(split=Split.build(self.num_nodes, **given))

    def with_edges(self, edges: Any) -> Graph:
        """The same graph with other edges (a perturbed graph, say).

        If edges have values, a pair that was joined before keeps all its edges with their values, and a new pair
        gets one edge of which nothing is known (:meth:`EdgeValues.neutral`).
        """
        given, values = Edges.build(edges, self.num_nodes), self.edge_values
        if values is None:
            return self.replace(edges=given)
        known, wanted = self.edges.keys(), given.keys()
        kept = np.flatnonzero(np.isin(known, wanted))
        new = given.ends[~np.isin(wanted, known)]
        held = values.take(kept).joined(values.neutral(len(new)))
        changed = Edges.build(np.concatenate([self.edges.ends[kept], new]), self.num_nodes, held)
        return self.replace(edges=dataclasses.replace(changed, merged=given.merged))

    def until(self, date: Date) -> Graph:
        """The same graph without the edges after a date, so that nothing is seen that came later.

        Args:
            date: the last day, or the last moment; seconds since 1970 where it is an integer. An edge without a date
                stays.
        """
        if self.edge_values is None or self.edge_values.time is None:
            raise InputError(f"until needs edges with a date, those of {self.name} have none")
        last = as_seconds(date)
        kept = np.zeros(self.num_edges, bool)
        for first, times in as_rows(self.edge_values.time).blocks():
            kept[first : first + len(times)] = times <= last
        return self.replace(edges=self.edges.keep(kept))

    def subgraph(self, nodes: Any) -> Graph:
        """Some nodes, in their order, and the edges among them: a graph in memory, whatever this one is.

        Args:
            nodes: each once: positions, names, or a boolean mask.

        >>> graph = Graph.build(features=[[0.0], [1.0], [2.0]], edges=[[0, 1], [1, 2]], labels=[0, 1, 0])
        >>> part = graph.subgraph([2, 1])
        >>> part.node_names, part.edges.ends.tolist(), part.train.tolist()
        (('2', '1'), [[0, 1]], [0, 1])
        """
        ids = self.node_ids(nodes)
        place = np.full(self.num_nodes, -1, np.int64)
        place[ids] = np.arange(len(ids))
        twice = ids[place[ids] != np.arange(len(ids))]
        if len(twice):
            raise InputError(f"nodes must name each node once, {self.node_names[int(twice[0])]!r} is named twice")
        inside = [np.empty(0, np.int64)]
        for first, ends in self.edges.pairs.blocks():
            inside.append(first + np.flatnonzero((place[ends] >= 0).all(axis=1)))
        kept = np.concatenate(inside)
        values = None if self.edge_values is None else self.edge_values.take(kept)
        parts: dict[str, Any] = {part: place[own[place[own] >= 0]] for part, own in self.split.items()}
        return dataclasses.replace(
            self,
            nodes=self.nodes.take(ids),
            edges=Edges.build(place[self.edges.pairs.take(kept)].reshape(-1, 2), len(ids), values),
            target=self.target.take(ids),
            split=Split(**parts),
        )

    def check_trainable(self) -> None:
        """Refuse a graph that nothing can be learned from, before any work is done."""
        if not self.fits_memory:
            raise InputError(
                f"{self.name} is mapped from files, and training reads the whole graph in every epoch: train on a part "
                "of it that fits in memory (Graph.subgraph, or se-gnn import), then predict all of it"
            )
        if not len(self.train):
            raise InputError(f"{self.name} has no labeled node: train must name at least one node with a known label")
        if isinstance(self.target, Numbers):
            if len(self.train) < 2 or np.ptp(self.values[self.train]) == 0:
                raise InputError(f"labeled nodes must have at least two different values of {self.target.name!r}")
            return
        present = np.unique(self.labels[self.train])
        if len(present) < 2:
            only = self.class_names[present[0]]
            raise InputError(f"labeled nodes must come from at least two classes, all {len(self.train)} are {only!r}")

    def __repr__(self) -> str:
        features = self.nodes.features
        kind = "mapped" if not features.in_memory else "sparse" if sp.issparse(features.whole()) else "dense"
        sizes = "/".join(str(len(nodes)) for part, nodes in self.split.items() if part != PARTS[-1])
        predicts = self.target.name if isinstance(self.target, Numbers) else f"{self.num_classes} classes"
        return (
            f"Graph({self.name!r}: {self.num_nodes} nodes, {self.num_edges} edges, "
            f"{self.num_features} {kind} features, {predicts}, {sizes} train/validation/test)"
        )


def homophily(graph: Graph, labels: IntArray) -> tuple[float, float, int] | tuple[None, None, int]:
    """Share of the edges between labeled nodes that join one class, that share by chance, and how many edges these are.

    By chance means that the same ends are joined at random. ``labels`` has the class of each node, [N], or ``UNKNOWN``.

    >>> labels, edges = np.array([0, 0, 1, UNKNOWN]), [(0, 1), (1, 2), (2, 3)]
    >>> homophily(Graph.build(features=[[0.0]] * 4, edges=edges, labels=labels, train=[0, 2]), labels)
    (0.5, 0.625, 2)
    """
    counts, alike, known = np.zeros(int(labels.max(initial=0)) + 1, np.int64), 0, 0
    for _, ends in graph.edges.pairs.blocks():
        joined = labels[ends]  # [E, 2]
        joined = joined[(joined != UNKNOWN).all(axis=1)]
        counts += np.bincount(joined.ravel(), minlength=len(counts))
        alike, known = alike + int((joined[:, 0] == joined[:, 1]).sum()), known + len(joined)
    if not known:
        return None, None, 0
    shares = counts / (2 * known)
    return alike / known, float((shares**2).sum()), known
