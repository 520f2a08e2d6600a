"""Graphs of PyTorch Geometric as ours, and ours as theirs: `Data`, and `HeteroData` for several types of nodes.

Ours carry the graph that they were made of as ``about``. The tensors ``node_id`` and ``edge_id`` say which of its nodes
and edges each row is: PyG cuts and reorders them with the other tensors. On the way back features, labels, masks and
edge values are read from the tensors, and everything else (names, captions, cells, columns) from ``about``.
Shapes: N nodes, P columns of `edge_index`.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Edges, EdgeValues, Graph, Split
from se_gnn.graph.arrays import Features, IntArray, as_integers, dense
from se_gnn.graph.edge_values import ARRAYS, NO_TIME
from se_gnn.graph.rows import features_like
from se_gnn.graph.split import Part
from se_gnn.optional import require
from se_gnn.tables.node_types import SPARSE_BELOW, JoinedTypes, NodesOfType, join_types

MASKS: dict[Part, str] = {
    "train": "train_mask", "validation": "val_mask", "test": "test_mask", "calibration": "calibration_mask",
}  # fmt: skip
FIELDS = {"weight": "edge_weight", "type": "edge_type", "attributes": "edge_attr", "time": "edge_time"}
REVERSED = "rev_"  # what PyG's ToUndirected calls the edges that it adds
NOBODY = np.empty(0, np.int64)
Held = tuple[Any, IntArray, tuple[str, str, str] | None]  # what holds edges, their ends, and their type if it has one


def to_pyg(graph: Graph) -> Any:
    """A ``torch_geometric.data.Data`` that :func:`from_pyg` turns back into the same graph.

    ``x`` is dense, ``edge_index`` has both directions, ``y`` is -1 (NaN for numbers) where it is not known, and each
    part of the split has a mask. If edges have values they are ``edge_weight``, ``edge_type``, ``edge_attr`` and
    ``edge_time``, and an edge with a direction is there in that one only. ``about`` is the graph, and ``node_id`` and
    ``edge_id`` are positions of its nodes and edges.
    """
    edges, values = graph.edges.pairs.whole(), graph.edge_values
    direction = np.zeros(len(edges), np.int8) if values is None or values.direction is None else values.direction
    forward, back = np.flatnonzero(direction >= 0), np.flatnonzero(direction <= 0)
    ids = np.concatenate([forward, back])
    both = np.concatenate([edges[forward], edges[back][:, ::-1]])
    fields = {"x": dense(graph.nodes.features.whole()), "edge_index": np.ascontiguousarray(both.T)}
    fields |= _node_tensors(graph, np.arange(graph.num_nodes), labeled=True)
    if graph.node_types is not None:
        fields["node_type"] = graph.node_types.astype(np.int64)
    if values is not None:
        fields |= {"edge_id": ids, **_edge_tensors(values, ids)}
    return _filled(_pyg().Data(about=graph), fields)


def from_pyg(data: Any, *, name: str = "graph", directed: bool | None = None) -> Graph:
    """Make a graph of ``x``, ``edge_index``, ``y`` and the masks of a ``torch_geometric.data.Data``.

    Edges are symmetrized, duplicates and self-loops merged and counted (``graph.merged``). ``edge_weight``,
    ``edge_type``, ``edge_attr`` and ``edge_time`` (seconds since 1970) become ``graph.edge_values``: then edges with
    the same ends and different values are all kept. Without a ``train_mask`` every node with a label is labeled. What
    :func:`to_pyg` wrote besides comes back, too, for the nodes and edges that are still there.

    Args:
        data: the graph.
        name: name of the graph.
        directed: keep the direction of the edges; None: as :func:`to_pyg` wrote it, else no.
    """
    for field in ("x", "edge_index", "y"):
        if getattr(data, field, None) is None:
            raise InputError(f"a PyG Data needs x, edge_index and y, this {type(data).__name__} has no {field}")
    about: Graph | None = getattr(data, "about", None)
    x, y, pairs = _array(data.x), _array(data.y), _array(data.edge_index).T
    split: dict[str, Any] = {part: None if mask is None else _array(mask) for part, mask in _given_masks(data)}
    if about is None:
        values = _plain_values(data, len(pairs), directed)
        features = _sparse_if_empty(x)
        return Graph.build(name=name, features=features, edges=pairs, edge_values=values, labels=y.reshape(-1), **split)
    nodes = about.nodes.take(_ids(data, "node_id", len(x), about.num_nodes))
    types = None if nodes.types is None else _array(data.node_type).astype(np.int32)
    target = about.target.with_array(y.reshape(-1))
    train = np.flatnonzero(target.known) if split["train"] is None else split["train"]
    if directed and about.edge_values is None:
        edges = Edges.build(pairs, len(x), _plain_values(data, len(pairs), directed))
    else:
        edges = _known_edges([(data, pairs, None)], about, len(x), directed)
    return dataclasses.replace(
        about,
        nodes=dataclasses.replace(nodes, features=features_like(about.nodes.features, x), types=types),
        edges=edges,
        target=target,
        split=Split(**{part: NOBODY if own is None else own for part, own in (split | {"train": train}).items()}),
    )


def to_hetero(graph: Graph) -> Any:
    """A ``torch_geometric.data.HeteroData`` that :func:`from_hetero` turns back into the same graph.

    ``x`` of a node type is the block of its features, dense; the type that is predicted has ``y`` and masks. Each edge
    is there once, in its direction (``torch_geometric.transforms.ToUndirected`` adds the other). ``about`` is the
    graph, and ``node_id`` and ``edge_id`` are positions of its nodes and edges.
    """
    if graph.node_types is None:
        raise InputError(f"{graph.name} has one type of nodes: to_pyg makes a Data of it")
    data, x, types, values = (
        _pyg().HeteroData(),
        dense(graph.nodes.features.whole()),
        graph.node_types,
        graph.edge_values,
    )
    blocks = graph.nodes.blocks_by_type() or {}
    place = np.empty(graph.num_nodes, np.int64)  # of each node within its type
    for number, type_name in enumerate(graph.node_type_names):
        nodes = np.flatnonzero(types == number)
        place[nodes] = np.arange(len(nodes))
        block = blocks.get(type_name, np.arange(graph.num_features))
        tensors = _node_tensors(graph, nodes, labeled=type_name == graph.target.node_type)
        _filled(data[type_name], {"x": x[np.ix_(nodes, block)], **tensors})
    ends = graph.edges.ends
    if values is not None and values.direction is not None:
        ends = np.where(values.direction[:, None] < 0, ends[:, ::-1], ends)
    numbers: IntArray = np.zeros(len(ends), np.int64)
    names: tuple[str, ...] = ("joins",)
    if values is not None and values.type is not None:
        numbers, names = values.type.astype(np.int64), values.type_names
    joined = np.stack([types[ends[:, 0]], numbers, types[ends[:, 1]]], axis=1)
    for source, relation, target in np.unique(joined, axis=0).tolist():
        ids = np.flatnonzero((joined == (source, relation, target)).all(axis=1))
        store = data[graph.node_type_names[source], names[relation], graph.node_type_names[target]]
        fields = {"edge_index": np.ascontiguousarray(place[ends[ids]].T), "edge_id": ids}
        held = {} if values is None else _edge_tensors(values, ids)
        held.pop(FIELDS["type"], None)  # the relation says it
        _filled(store, fields | held)
    data.about = graph
    return data


def from_hetero(data: Any, *, name: str = "graph", directed: bool = False) -> Graph:
    """Make a graph of a ``torch_geometric.data.HeteroData``.

    Every node type has a block of features (:mod:`se_gnn.tables.node_types`); one without ``x`` is distinguished by its
    position. One node type has ``y``, and masks where there is a split: it is the one that is predicted. The middle
    word of an edge type is the type of its edges; edges that ``ToUndirected`` added (``rev_...``) are left out.
    ``edge_weight``, ``edge_time`` and ``edge_attr`` are carried: a type without them has weight 1, no date and zeros.
    What :func:`to_hetero` wrote besides comes back, too, for the nodes and edges that are still there.

    Args:
        data: the graph.
        name: name of the graph.
        directed: keep the direction of the edges; a graph of :func:`to_hetero` keeps what it had.
    """
    about = getattr(data, "about", None)
    if about is not None:
        return _known_hetero(data, about)
    type_names = list(data.node_types)
    joined = join_types({one: _nodes_of(data[one], one) for one in type_names})
    labeled = [one for one in type_names if getattr(data[one], "y", None) is not None]
    if len(labeled) != 1:
        raise InputError(f"one node type must have y, got {', '.join(labeled) or 'none'} of {', '.join(type_names)}")
    store, first = data[labeled[0]], joined.first[labeled[0]]
    labels = np.full(len(joined.names), UNKNOWN, np.int64)
    own = _array(store.y).reshape(-1)
    labels[first : first + len(own)] = own
    split: dict[str, Any] = {
        part: None if mask is None else first + np.flatnonzero(_array(mask)) for part, mask in _given_masks(store)
    }
    pairs, values = _typed_edges(data, joined, directed=directed)
    return Graph.build(
        name=name,
        features=joined.features,
        feature_names=joined.feature_names,
        edges=pairs,
        edge_values=values,
        node_names=joined.names,
        node_types=joined.types,
        node_type_names=joined.type_names,
        target_type=labeled[0],
        labels=labels,
        **split,
    )


def _known_hetero(data: Any, about: Graph) -> Graph:
    """The graph that :func:`to_hetero` wrote, as far as it is there: in the order in which its nodes were."""
    type_names, blocks = about.node_type_names, about.nodes.blocks_by_type() or {}
    stores = {one: data[one] for one in type_names if one in data.node_types and len(data[one].x)}
    ids = {
        one: _ids(store, "node_id", len(store.x), about.num_nodes, of=f"{one} nodes") for one, store in stores.items()
    }
    order = np.sort(np.concatenate([NOBODY, *ids.values()]))
    place = {one: np.searchsorted(order, own) for one, own in ids.items()}
    x, types = np.zeros((len(order), about.num_features), np.float32), np.zeros(len(order), np.int32)
    target = about.target.take(NOBODY).followed_by_unknown(len(order))
    split = Split()
    for one, store in stores.items():
        x[np.ix_(place[one], blocks.get(one, np.arange(x.shape[1])))] = _array(store.x)
        types[place[one]] = type_names.index(one)
        if getattr(store, "y", None) is not None:
            known = target.array.copy()
            known[place[one]] = _array(store.y)
            target = target.with_array(known)
            split = Split(**{part: place[one][_array(mask)] for part, mask in _given_masks(store)})
    edges = []
    for one in data.edge_types:
        index = _array(data[one].edge_index)
        if index.shape[1] and not _is_reverse(one, data.edge_types):
            edges.append((data[one], np.stack([place[one[0]][index[0]], place[one[2]][index[1]]], axis=1), one))
    nodes = about.nodes.take(order)
    return dataclasses.replace(
        about,
        nodes=dataclasses.replace(nodes, features=features_like(about.nodes.features, x), types=types),
        edges=_known_edges(edges, about, len(order), None),
        target=target,
        split=split,
    )


def _node_tensors(graph: Graph, nodes: IntArray, *, labeled: bool) -> dict[str, npt.NDArray[Any]]:
    """Which nodes they are, and what is known of them where they are ``labeled``, by the names that PyG has for it."""
    found: dict[str, npt.NDArray[Any]] = {"node_id": nodes}
    if labeled:
        found |= {"y": graph.target.array[nodes]}
        found |= {MASKS[part]: np.isin(nodes, own) for part, own in graph.split.items()}
    return found


def _given_masks(store: Any) -> list[tuple[Part, Any]]:
    """The mask of each part of the split; None if there is none."""
    found = [(part, getattr(store, mask, None)) for part, mask in MASKS.items()]
    for part, given in found:
        if given is not None and given.dim() != 1:
            shape = tuple(given.shape)
            raise InputError(f"{MASKS[part]} must have one dimension, got shape {shape}: choose one split")
    return found


def _edge_tensors(values: EdgeValues, ids: IntArray) -> dict[str, npt.NDArray[Any]]:
    """The data of some edges, by the names that PyG has for it."""
    return {field: getattr(values, part)[ids] for part, field in FIELDS.items() if part in values.edge_data}


def _ids(store: Any, field: str, count: int, known: int, *, once: bool = True, of: str = "") -> IntArray:
    """Which nodes or edges of ``about`` the rows of a store are."""
    tensor = getattr(store, field, None)
    place = f"{field} of {of}" if of else field
    if tensor is None:
        raise InputError(
            f"{place} is missing, so nothing in about can be matched: keep it, or delete about to read tensors only"
        )
    ids = as_integers(_array(tensor), field)
    if ids.shape != (count,):
        raise InputError(f"{place} must have {count} entries, got shape {ids.shape}: extend it, or delete about")
    if len(ids) and not 0 <= ids.min() <= ids.max() < known:
        raise InputError(f"{place} must be from 0 to {known - 1}, a position in about, got {ids.max()}")
    if once and len(np.unique(ids)) != len(ids):
        twice = np.flatnonzero(np.bincount(ids) > 1)[0]
        raise InputError(f"{place} must name each node once, {twice} comes again: two nodes cannot have one name")
    return ids


def _known_edges(stores: Sequence[Held], about: Graph, num_nodes: int, directed: bool | None) -> Edges:
    """Each edge of ``about`` that is still there once, with its values; ends lead where directed edges lead."""
    ends, values = np.concatenate([np.empty((0, 2), np.int64), *(pairs for _, pairs, _ in stores)]), about.edge_values
    if values is None:
        return Edges.build(ends, num_nodes)
    if directed and values.direction is None:
        raise InputError("directed: the edges of this graph have no direction to keep")
    numbers, fields = [NOBODY], []
    for store, pairs, kind in stores:
        of = "" if kind is None else f"{kind} edges"
        numbers.append(_ids(store, "edge_id", len(pairs), about.num_edges, once=False, of=of))
        fields.append(_edge_fields(store, len(pairs), None if kind is None else kind[1], values))
    ids, columns = np.unique(np.concatenate(numbers), return_index=True)
    held: dict[str, Any] = {}
    for part in fields[0] if fields else ():
        held[part] = np.concatenate([one[part] for one in fields])[columns]
    known = values.take(ids)
    if known.direction is not None:
        held["direction"] = None if directed is False else np.abs(known.direction).astype(np.int8)
        if directed is False and known.edge_data == ("direction",) and known.raw is None:
            return Edges.build(ends[columns], num_nodes)
    return Edges.build(ends[columns], num_nodes, dataclasses.replace(known, **held))


def _plain_values(data: Any, count: int, directed: bool | None) -> EdgeValues | None:
    """What the edges of somebody's own `Data` carry."""
    held = _edge_fields(data, count, None, None)
    if "type" in held:
        held["type_names"] = tuple(str(number) for number in range(int(held["type"].max(initial=0)) + 1))
    if directed:
        held["direction"] = np.ones(count, np.int8)
    return EdgeValues(**held) if held else None


def _edge_fields(store: Any, count: int, relation: str | None, about: EdgeValues | None) -> dict[str, Any]:
    """What the edges of a store carry in tensors; the ``relation`` of a store is the type of its edges."""
    found: dict[str, Any] = {}
    expected = () if about is None else about.edge_data
    for part, field in FIELDS.items():
        tensor = getattr(store, field, None)
        if part == "type" and relation is not None:
            if about is not None and part in expected:
                found[part] = np.full(count, about.type_names.index(relation), np.int32)
            continue
        if tensor is None and part in expected:
            raise InputError(f"{field} is missing, which the edges of this graph carry: keep it, or delete about")
        if tensor is None or (about is not None and part not in expected):
            continue
        array = _array(tensor)
        if len(array) != count:
            raise InputError(f"{field} must have one entry per column of edge_index ({count}), got {len(array)}")
        array = array.reshape((count, array.shape[1] if array.ndim > 1 else 1) if part == "attributes" else count)
        found[part] = (as_integers(array, field) if part in ("type", "time") else array).astype(ARRAYS[part])
    return found


def _nodes_of(store: Any, type_name: str) -> NodesOfType:
    x = getattr(store, "x", None)
    names = [f"{type_name} {i}" for i in range(int(store.num_nodes) if x is None else len(x))]
    features = None if x is None else _sparse_if_empty(np.asarray(_array(x), np.float32))
    return NodesOfType(names=names, features=features)


def _typed_edges(data: Any, joined: JoinedTypes, *, directed: bool) -> tuple[IntArray, EdgeValues]:
    relations = [one for one in data.edge_types if not _is_reverse(one, data.edge_types)]
    if not relations:
        raise InputError("the HeteroData has no edge types")
    names = [relation for _, relation, _ in relations]
    called = names if len(set(names)) == len(names) else ["-".join(one) for one in relations]
    pairs, sizes, held = [], [], []
    for source, relation, target in relations:
        store = data[source, relation, target]
        index = _array(store.edge_index)
        pairs.append(np.stack([joined.first[source] + index[0], joined.first[target] + index[1]], axis=1))
        sizes.append(index.shape[1])
        held.append(_edge_fields(store, sizes[-1], relation, None))
    parts: dict[str, Any] = {
        "type": np.repeat(np.arange(len(relations)), sizes).astype(np.int32),
        "type_names": tuple(called),
        "direction": np.ones(sum(sizes), np.int8) if directed else None,
    }
    for part, missing in (("weight", np.float32(1)), ("time", np.int64(NO_TIME))):
        if any(part in one for one in held):
            filled = [one.get(part, np.full(size, missing)) for one, size in zip(held, sizes)]
            parts[part] = np.concatenate(filled).astype(missing.dtype)
    blocks = [one.get("attributes", np.zeros((size, 0))) for one, size in zip(held, sizes)]
    if any(block.shape[1] for block in blocks):
        parts["attributes"] = np.asarray(sp.block_diag(blocks).toarray(), np.float32)
        parts["attribute_names"] = tuple(
            f"{name}: attribute {i}" for name, block in zip(called, blocks) for i in range(block.shape[1])
        )
    return np.concatenate(pairs), EdgeValues(**parts)


def _is_reverse(edge_type: tuple[str, str, str], every: Sequence[tuple[str, str, str]]) -> bool:
    source, relation, target = edge_type
    return relation.startswith(REVERSED) and (target, relation.removeprefix(REVERSED), source) in every


def _pyg() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch Geometric uses names that PyTorch deprecated
        return require("torch_geometric.data", extra="data", feature="PyG graphs")


def _filled(store: Any, arrays: dict[str, Any]) -> Any:
    """Arrays as tensors of their own, as fields of a `Data` or of one type of a `HeteroData`."""
    import torch

    for name, array in arrays.items():
        store[name] = torch.from_numpy(array.copy())
    return store


def _sparse_if_empty(x: npt.NDArray[Any]) -> Features:
    """Features, sparse where most of them are 0."""
    return sp.csr_array(x) if np.count_nonzero(x) < SPARSE_BELOW * max(1, x.size) else x


def _array(tensor: Any) -> npt.NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())
