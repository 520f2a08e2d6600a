"""Graphs of PyTorch Geometric as ours, and ours as theirs: `Data`, and `HeteroData` for several types of nodes.

Ours carry the graph that they were made of as ``about``. The tensors ``node_id`` and ``edge_id`` say which of its nodes
and edges each row is: PyG cuts and reorders them with the other tensors. On the way back features, labels, masks and
edge values are read from the tensors, and everything else (names, captions, cells, columns) from ``about``.
Shapes: N nodes, P columns of `edge_index`.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
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
from se_gnn.tables.node_types import SPARSE_BELOW, NodesOfType, join_types

MASKS: dict[Part, str] = {
    "train": "train_mask", "validation": "val_mask", "test": "test_mask", "calibration": "calibration_mask",
}  # fmt: skip
FIELDS = {"weight": "edge_weight", "type": "edge_type", "attributes": "edge_attr", "time": "edge_time"}
REVERSED = "rev_"  # what PyG's ToUndirected calls the edges that it adds
NOBODY = np.empty(0, np.int64)
EdgeType = tuple[str, str, str]


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


def to_hetero(graph: Graph) -> Any:
    """A ``torch_geometric.data.HeteroData`` that :func:`from_pyg` turns back into the same graph.

    ``x`` of a node type is the block of its features, dense; the type that is predicted has ``y`` and masks. Each edge
    is there once, in its direction (``torch_geometric.transforms.ToUndirected`` adds the other). ``about`` is the
    graph, and ``node_id`` and ``edge_id`` are positions of its nodes and edges.
    """
    if graph.node_types is None:
        raise InputError(f"{graph.name} has one type of nodes: to_pyg makes a Data of it")
    data, x = _pyg().HeteroData(), dense(graph.nodes.features.whole())
    types, values = graph.node_types, graph.edge_values
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


def from_pyg(data: Any, *, name: str = "graph", directed: bool = False) -> Graph:
    """Make a graph of a ``torch_geometric.data.Data`` or a ``HeteroData``: ``x``, ``edge_index``, ``y`` and the masks.

    Edges are symmetrized, duplicates and self-loops merged and counted (``graph.merged``). ``edge_weight``,
    ``edge_type``, ``edge_attr`` and ``edge_time`` (seconds since 1970) become ``graph.edge_values``: then edges with
    the same ends and different values are all kept. Without a ``train_mask`` every node with a label is labeled. What
    :func:`to_pyg` or :func:`to_hetero` wrote besides comes back, too, for the nodes and edges that are still there.

    In a `HeteroData`, one node type has ``y``: it is the one that is predicted. Every node type has a block of features
    (:mod:`se_gnn.tables.node_types`); one without ``x`` is distinguished by its position. The middle word of an edge
    type is the type of its edges; edges that ``ToUndirected`` added (``rev_...``) are left out. An edge type without
    ``edge_weight``, ``edge_time`` or ``edge_attr`` that others have has weight 1, no date and zeros.

    Args:
        data: the graph.
        name: name of the graph.
        directed: keep the direction of the edges; our own graphs come back as they were.
    """
    hetero = hasattr(data, "x_dict")
    if not hetero:
        missing = [field for field in ("x", "edge_index", "y") if getattr(data, field, None) is None]
        if missing:
            raise InputError(f"a PyG Data needs x, edge_index and y, this {type(data).__name__} has no {missing[0]}")
    stores = {one: data[one] for one in data.node_types} if hetero else {"": data}
    edges: list[tuple[Any, EdgeType | None]] = [(data, None)]
    if hetero:
        edges = [(data[one], one) for one in data.edge_types if not _is_reverse(one, data.edge_types)]
    about: Graph | None = getattr(data, "about", None)
    if about is not None:
        return _known_graph(about, stores, edges)
    labeled = [one for one, store in stores.items() if getattr(store, "y", None) is not None]
    if len(labeled) != 1:
        raise InputError(f"one node type must have y, got {', '.join(labeled) or 'none'} of {', '.join(stores)}")
    if not edges:
        raise InputError("the HeteroData has no edge types")
    if hetero:
        nodes = join_types({one: _nodes_of(store, one) for one, store in stores.items()})
        place = {one: nodes.of_type(one) for one in stores}
        given: dict[str, Any] = {"features": nodes.features.whole(), "feature_names": nodes.feature_names}
        given |= {"node_names": nodes.names, "node_types": nodes.types, "node_type_names": nodes.type_names}
        given["target_type"] = labeled[0]
    else:
        place = {"": np.arange(len(data.x))}
        given = {"features": _sparse_if_empty(_array(data.x))}
    labels = np.full(sum(map(len, place.values())), UNKNOWN, np.int64)
    labels[place[labeled[0]]] = as_integers(_array(stores[labeled[0]].y).reshape(-1), "y")
    pairs, values = _plain_edges(edges, place, directed=directed)
    given |= {part: place[labeled[0]][_array(mask)] for part, mask in _masks(stores[labeled[0]])}
    return Graph.build(name=name, labels=labels, edges=pairs, edge_values=values, **given)


def _known_graph(about: Graph, nodes: dict[str, Any], edges: Sequence[tuple[Any, EdgeType | None]]) -> Graph:
    """The graph that :func:`to_pyg` or :func:`to_hetero` wrote, as far as it is there.

    Nodes of a `Data`, whose type has no name, stay in its order; those of several types are in that of ``about``.
    """
    stores = {one: store for one, store in nodes.items() if len(getattr(store, "x", ()))}
    ids = {one: _ids(store, "node_id", len(store.x), about.num_nodes, of=one) for one, store in stores.items()}
    order = ids[""] if "" in ids else np.sort(np.concatenate([NOBODY, *ids.values()]))
    place = {one: np.arange(len(own)) if one == "" else np.searchsorted(order, own) for one, own in ids.items()}
    known, blocks = about.nodes.take(order), about.nodes.blocks_by_type() or {}
    x = np.zeros((len(order), about.num_features), np.float32)
    target, split = about.target.take(NOBODY).followed_by_unknown(len(order)), Split()
    types = None if known.types is None else np.zeros(len(order), np.int32)
    for one, store in stores.items():
        x[np.ix_(place[one], blocks.get(one, np.arange(x.shape[1])))] = _array(store.x)
        if types is not None:
            types[place[one]] = about.node_type_names.index(one) if one else _array(store.node_type)
        if getattr(store, "y", None) is not None:
            array = target.array.copy()
            array[place[one]] = _array(store.y).reshape(-1)
            target = target.with_array(array)
            parts: dict[str, Any] = {part: place[one][_array(mask)] for part, mask in _masks(store)}
            split = Split(**{"train": np.flatnonzero(target.known), **parts})
    return dataclasses.replace(
        about,
        nodes=dataclasses.replace(known, features=features_like(about.nodes.features, x), types=types),
        edges=_known_edges(edges, place, about, len(order)),
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


def _masks(store: Any) -> Iterator[tuple[Part, Any]]:
    """The mask of each part of the split that has one."""
    for part, name in MASKS.items():
        mask = getattr(store, name, None)
        if mask is None:
            continue
        if mask.dim() != 1:
            raise InputError(f"{name} must have one dimension, got shape {tuple(mask.shape)}: choose one split")
        yield part, mask


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


def _ends(store: Any, kind: EdgeType | None, place: Mapping[str, IntArray]) -> IntArray:
    """The ends of the edges of a store, [P, 2]; ``place`` has the position of each node of a type in the graph."""
    ends = zip((kind[0], kind[2]) if kind else ("", ""), _array(store.edge_index))
    found = [place[one][own] for one, own in ends if len(own)]
    return np.stack(found, axis=1) if found else np.empty((0, 2), np.int64)


def _known_edges(
    stores: Sequence[tuple[Any, EdgeType | None]], place: Mapping[str, IntArray], about: Graph, num_nodes: int
) -> Edges:
    """Each edge of ``about`` that is still there once, with its values; ends lead where directed edges lead."""
    values, found = about.edge_values, [_ends(store, kind, place) for store, kind in stores]
    ends = np.concatenate([np.empty((0, 2), np.int64), *found])
    if values is None:
        return Edges.build(ends, num_nodes)
    numbers, fields = [NOBODY], []
    for (store, kind), pairs in zip(stores, found):
        of = f"{kind} edges" if kind else ""
        if len(pairs):
            numbers.append(_ids(store, "edge_id", len(pairs), about.num_edges, once=False, of=of))
            fields.append(_edge_fields(store, len(pairs), kind[1] if kind else None, values))
    ids, columns = np.unique(np.concatenate(numbers), return_index=True)
    held: dict[str, Any] = {}
    for part in fields[0] if fields else ():
        held[part] = np.concatenate([one[part] for one in fields])[columns]
    known = values.take(ids)
    if known.direction is not None:
        held["direction"] = np.abs(known.direction).astype(np.int8)
    return Edges.build(ends[columns], num_nodes, dataclasses.replace(known, **held))


def _plain_edges(
    stores: Sequence[tuple[Any, EdgeType | None]], place: Mapping[str, IntArray], *, directed: bool
) -> tuple[IntArray, EdgeValues | None]:
    """Edges of somebody's own graph, and what they carry; ``place`` as in :func:`_ends`."""
    pairs = [_ends(store, kind, place) for store, kind in stores]
    sizes = [len(own) for own in pairs]
    kinds = [kind for _, kind in stores if kind is not None]
    held = [_edge_fields(store, n, kind[1] if kind else None, None) for (store, kind), n in zip(stores, sizes)]
    parts: dict[str, Any] = {"direction": np.ones(sum(sizes), np.int8)} if directed else {}
    names = [relation for _, relation, _ in kinds]
    names = names if len(set(names)) == len(names) else ["-".join(kind) for kind in kinds]
    if kinds:
        parts |= {"type": np.repeat(np.arange(len(kinds)), sizes).astype(np.int32), "type_names": tuple(names)}
    elif "type" in held[0]:
        parts |= {"type": held[0]["type"], "type_names": tuple(map(str, range(held[0]["type"].max(initial=0) + 1)))}
    for part, missing in (("weight", 1), ("time", NO_TIME)):
        if any(part in one for one in held):
            filled = [one.get(part, np.full(size, missing, ARRAYS[part])) for one, size in zip(held, sizes)]
            parts[part] = np.concatenate(filled)
    blocks = [one.get("attributes", np.zeros((size, 0), np.float32)) for one, size in zip(held, sizes)]
    if any(block.shape[1] for block in blocks):
        parts["attributes"] = np.asarray(sp.block_diag(blocks).toarray(), np.float32)
        if kinds:
            parts["attribute_names"] = tuple(
                f"{name}: attribute {i}" for name, block in zip(names, blocks) for i in range(block.shape[1])
            )
    return np.concatenate(pairs), EdgeValues(**parts) if parts else None


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


def _is_reverse(edge_type: EdgeType, every: Sequence[EdgeType]) -> bool:
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
