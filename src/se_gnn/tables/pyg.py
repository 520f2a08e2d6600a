"""Graphs of PyTorch Geometric as ours, and ours as theirs: `Data`, and `HeteroData` for several types of nodes.

What belongs to a node and is no tensor (name, caption, cells of its row) is in tables in the dictionary ``about``, and
the tensor ``node_id`` says which row of them is whose: PyG cuts and reorders it with the other tensors. ``edge_id``
does the same for edges. Shapes: N nodes, P columns of `edge_index`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.datasets.kinds import SPARSE_BELOW, JoinedKinds, NodesOfKind, join_kinds
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, EdgeValues, Graph
from se_gnn.graph.arrays import FloatArray, IntArray, as_integers
from se_gnn.graph.edge_values import ARRAYS, NO_TIME
from se_gnn.optional import require

MASKS = {"train": "train_mask", "validation": "val_mask", "test": "test_mask", "calibration": "calibration_mask"}
FIELDS = {"weight": "edge_weight", "type": "edge_type", "attributes": "edge_attr", "time": "edge_time"}
REVERSED = "rev_"  # what PyG's ToUndirected calls the edges that it adds
_OF_GRAPH = ("name", "dataset", "class_names", "feature_names", "columns", "image_shape", "node_type_names")
_OF_EDGES = ("type_names", "type_verbs", "attribute_names", "columns", "names")


def to_pyg(graph: Graph) -> Any:
    """A ``torch_geometric.data.Data`` that :func:`from_pyg` turns back into the same graph.

    ``x`` is dense, ``edge_index`` has both directions, ``y`` is -1 where the class is not known, and each part of the
    split has a mask. Where edges carry values they are ``edge_weight``, ``edge_type``, ``edge_attr`` and
    ``edge_time``, and an edge with a direction is there in that one only. ``node_id`` and ``edge_id`` point into the
    tables of the dictionary ``about``, which holds names and the like.
    """
    import torch

    edges, values = graph.edges.ends, graph.edge_values
    direction = np.zeros(len(edges), np.int8) if values is None or values.direction is None else values.direction
    forward, back = np.flatnonzero(direction >= 0), np.flatnonzero(direction <= 0)
    ids = np.concatenate([forward, back])
    both = np.concatenate([edges[forward], edges[back][:, ::-1]])
    fields: dict[str, npt.NDArray[Any]] = {"node_id": np.arange(graph.num_nodes), "y": graph.labels}
    fields |= {mask: _mask(graph.num_nodes, getattr(graph, part)) for part, mask in MASKS.items()}
    if graph.node_types is not None:
        fields["node_type"] = graph.node_types.astype(np.int64)
    if values is not None:
        fields["edge_id"] = ids
        fields |= {field: getattr(values, part)[ids] for part, field in FIELDS.items() if part in values.carried}
    return _pyg().Data(
        x=torch.from_numpy(_dense(graph).copy()),
        edge_index=torch.from_numpy(np.ascontiguousarray(both.T)),
        **{name: torch.from_numpy(array.copy()) for name, array in fields.items()},
        about=_about(graph),
    )


def from_pyg(data: Any, *, name: str = "graph", directed: bool | None = None) -> Graph:
    """Take over ``x``, ``edge_index``, ``y`` and the masks of a ``torch_geometric.data.Data``.

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
    about = getattr(data, "about", None)
    dense = _array(data.x)
    for mask in MASKS.values():
        given = getattr(data, mask, None)
        if given is not None and given.dim() != 1:
            raise InputError(f"{mask} must have one dimension, got shape {tuple(given.shape)}: choose one split")
    details: dict[str, Any] = {"name": name}
    sparse = np.count_nonzero(dense) < SPARSE_BELOW * max(1, dense.size)
    if about is not None:
        details, sparse = _of_graph(about), about["sparse_features"]
        details |= _of_nodes(about, _ids(data, "node_id", len(dense), len(about["nodes"]["names"])))
        if details["node_type_names"]:
            details["node_types"] = _array(data.node_type)
    masks = {part: getattr(data, mask, None) for part, mask in MASKS.items()}
    split: dict[str, Any] = {part: None if mask is None else _array(mask) for part, mask in masks.items()}
    pairs, values = _plain_edges(data, directed) if about is None else _known_edges(data, about["edges"], directed)
    return Graph.build(
        features=sp.csr_array(dense) if sparse else dense,
        edges=pairs,
        edge_values=values,
        labels=_array(data.y).reshape(-1),
        **details,
        **split,
    )


def to_hetero(graph: Graph) -> Any:
    """A ``torch_geometric.data.HeteroData`` that :func:`from_hetero` turns back into the same graph.

    ``x`` of a node type is the block of its features, dense; the type that is predicted has ``y`` and masks. Each edge
    is there once, in its direction (``torch_geometric.transforms.ToUndirected`` adds the other). ``node_id`` and
    ``edge_id`` point into the tables of the dictionary ``about``, which holds names and the like.
    """
    import torch

    if graph.node_types is None:
        raise InputError(f"{graph.name} has one type of nodes: to_pyg makes a Data of it")
    data, dense, types, values = _pyg().HeteroData(), _dense(graph), graph.node_types, graph.edge_values
    blocks = graph.nodes.blocks_by_type() or {}
    place = np.empty(graph.num_nodes, np.int64)  # of each node within its type
    for number, type_name in enumerate(graph.node_type_names):
        nodes = np.flatnonzero(types == number)
        place[nodes] = np.arange(len(nodes))
        own = blocks.get(type_name, np.arange(graph.num_features))
        fields: dict[str, npt.NDArray[Any]] = {"x": dense[np.ix_(nodes, own)], "node_id": nodes}
        if type_name == graph.target.node_type:
            fields["y"] = graph.labels[nodes]
            fields |= {mask: np.isin(nodes, getattr(graph, part)) for part, mask in MASKS.items()}
        for name, array in fields.items():
            data[type_name][name] = torch.from_numpy(array.copy())
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
        store.edge_index = torch.from_numpy(np.ascontiguousarray(place[ends[ids]].T))
        store.edge_id = torch.from_numpy(ids)
        for part in ("weight", "attributes", "time"):
            if values is not None and part in values.carried:
                store[FIELDS[part]] = torch.from_numpy(getattr(values, part)[ids])
    data.about = _about(graph)
    return data


def from_hetero(data: Any, *, name: str = "graph", directed: bool = False) -> Graph:
    """Take over a ``torch_geometric.data.HeteroData``.

    Every node type has a block of features (:mod:`se_gnn.datasets.kinds`); one without ``x`` is told apart by its
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
    joined = join_kinds({one: _nodes_of(data[one], one) for one in type_names})
    labeled = [one for one in type_names if getattr(data[one], "y", None) is not None]
    if len(labeled) != 1:
        raise InputError(f"one node type must have y, got {', '.join(labeled) or 'none'} of {', '.join(type_names)}")
    labels = np.full(len(joined.names), UNKNOWN, np.int64)
    own = _array(data[labeled[0]].y).reshape(-1)
    labels[joined.nodes(labeled[0], np.arange(len(own)))] = own
    split: dict[str, Any] = {}
    for part, mask in MASKS.items():
        given = getattr(data[labeled[0]], mask, None)
        split[part] = None if given is None else joined.nodes(labeled[0], np.flatnonzero(_array(given)))
    pairs, values = _typed_edges(data, joined, directed=directed)
    return Graph.build(
        name=name,
        features=joined.features,
        feature_names=joined.feature_names,
        edges=pairs,
        edge_values=values,
        node_names=joined.names,
        node_types=joined.kinds,
        node_type_names=joined.type_names,
        target_type=labeled[0],
        labels=labels,
        **split,
    )


def _known_hetero(data: Any, about: Mapping[str, Any]) -> Graph:
    """The graph that :func:`to_hetero` wrote, as far as it is there: in the order in which its nodes were."""
    details = _of_graph(about)
    type_names, size, known = details["node_type_names"], about["num_features"], len(about["nodes"]["names"])
    stores = {one: data[one] for one in type_names if one in data.node_types and len(data[one].x)}
    ids = {one: _ids(store, "node_id", len(store.x), known, of=f"{one} nodes") for one, store in stores.items()}
    order = np.sort(np.concatenate([np.empty(0, np.int64), *ids.values()]))
    place = {one: np.searchsorted(order, own) for one, own in ids.items()}
    features, types = np.zeros((len(order), size), np.float32), np.zeros(len(order), np.int32)
    labels = np.full(len(order), UNKNOWN, np.int64)
    split: dict[str, Any] = dict.fromkeys(MASKS, np.empty(0, np.int64))
    for one, store in stores.items():
        block = about["blocks"].get(one, np.arange(size))
        features[np.ix_(place[one], block)] = _array(store.x)
        types[place[one]] = type_names.index(one)
        if getattr(store, "y", None) is not None:
            labels[place[one]] = _array(store.y)
            split = {part: place[one][_array(store[mask])] for part, mask in MASKS.items()}
    pairs, numbers, fields = [np.empty((0, 2), np.int64)], [np.empty(0, np.int64)], []
    for edge_type in data.edge_types:
        store = data[edge_type]
        if _is_reverse(edge_type, data.edge_types) or not store.edge_index.shape[1]:
            continue
        index = _array(store.edge_index)
        pairs.append(np.stack([place[edge_type[0]][index[0]], place[edge_type[2]][index[1]]], axis=1))
        numbers.append(_ids(store, "edge_id", index.shape[1], about["num_edges"], once=False, of=f"{edge_type} edges"))
        fields.append(_edge_fields(store, index.shape[1], edge_type[1], about["edges"]))
    none = {} if about["edges"] is None else _no_edges(about["edges"])
    whole = {part: np.concatenate([empty, *(one[part] for one in fields)]) for part, empty in none.items()}
    edges, values = _values(np.concatenate(pairs), np.concatenate(numbers), whole, about["edges"], directed=None)
    return Graph.build(
        features=sp.csr_array(features) if about["sparse_features"] else features,
        edges=edges,
        edge_values=values,
        labels=labels,
        node_types=types,
        **details,
        **_of_nodes(about, order),
        **split,
    )


def _about(graph: Graph) -> dict[str, Any]:
    """Everything that is no tensor: of the graph, and tables with a row for each node and edge."""
    nodes, values = graph.nodes, graph.edge_values
    edges = None
    if values is not None:
        edges = {name: getattr(values, name) for name in (*_OF_EDGES, "carried", "direction", "raw", "num_attributes")}
    return {
        **{name: getattr(graph, name) for name in _OF_GRAPH},
        "target_type": graph.target.node_type,
        "sparse_features": bool(sp.issparse(graph.features)),
        "num_features": graph.num_features,
        "num_edges": graph.num_edges,
        "blocks": nodes.blocks_by_type() or {},
        "nodes": {"names": nodes.names, "captions": nodes.captions, "raw": nodes.raw},
        "edges": edges,
    }


def _of_graph(about: Mapping[str, Any]) -> dict[str, Any]:
    return {name: about[name] for name in (*_OF_GRAPH, "target_type")}


def _of_nodes(about: Mapping[str, Any], ids: IntArray) -> dict[str, Any]:
    """What the tables know of some nodes, as :meth:`Graph.build` takes it."""
    names, captions, raw = (about["nodes"][part] for part in ("names", "captions", "raw"))
    return {
        "node_names": [names[i] for i in ids],
        "captions": None if captions is None else [captions[i] for i in ids],
        "raw": None if raw is None else raw.take(ids),
    }


def _ids(store: Any, field: str, count: int, known: int, *, once: bool = True, of: str = "") -> IntArray:
    """Which rows of the tables in ``about`` belong to the nodes or edges that are there."""
    tensor = getattr(store, field, None)
    told = f"{field} of {of}" if of else field
    if tensor is None:
        raise InputError(
            f"{told} is missing, so that nothing in about can be matched: keep it, or delete about to read tensors only"
        )
    ids = as_integers(_array(tensor), field)
    if ids.shape != (count,):
        raise InputError(f"{told} must have {count} entries, got shape {ids.shape}: extend it, or delete about")
    if len(ids) and not 0 <= ids.min() <= ids.max() < known:
        raise InputError(f"{told} must be from 0 to {known - 1}, a row of the tables in about, got {ids.max()}")
    if once and len(np.unique(ids)) != len(ids):
        twice = np.flatnonzero(np.bincount(ids) > 1)[0]
        raise InputError(f"{told} must name each node once, {twice} comes again: two nodes cannot have one name")
    return ids


def _known_edges(
    data: Any, about: Mapping[str, Any] | None, directed: bool | None
) -> tuple[IntArray, EdgeValues | None]:
    """The edges that :func:`to_pyg` wrote, as far as they are there."""
    pairs = _array(data.edge_index).T
    if about is None:
        return _plain_edges(data, directed)
    ids = _ids(data, "edge_id", len(pairs), data.about["num_edges"], once=False)
    return _values(pairs, ids, _edge_fields(data, len(pairs), None, about), about, directed=directed)


def _values(
    pairs: IntArray,
    ids: IntArray,
    fields: Mapping[str, npt.NDArray[Any]],
    about: Mapping[str, Any] | None,
    *,
    directed: bool | None,
) -> tuple[IntArray, EdgeValues | None]:
    """Each edge once, in the order of the ids, with its values; ``pairs`` lead where directed edges lead."""
    _, columns = np.unique(ids, return_index=True)
    if about is None:
        return pairs[columns], None
    ids, direction = ids[columns], about["direction"]
    held: dict[str, Any] = {part: array[columns] for part, array in fields.items()}
    if direction is not None and directed is not False:
        held["direction"] = np.abs(direction[ids]).astype(np.int8)
    elif directed:
        raise InputError("directed: the edges of this graph have no direction to keep")
    if about["raw"] is not None:
        held["raw"] = about["raw"].take(ids)
    if not held:
        return pairs[columns], None
    known: dict[str, Any] = {name: about[name] for name in _OF_EDGES}
    return pairs[columns], EdgeValues(**held, **known)


def _plain_edges(data: Any, directed: bool | None) -> tuple[IntArray, EdgeValues | None]:
    """The edges of somebody's own `Data`."""
    pairs = _array(data.edge_index).T
    held: dict[str, Any] = _edge_fields(data, len(pairs), None, None)
    if "type" in held:
        held["type_names"] = tuple(str(number) for number in range(int(held["type"].max(initial=0)) + 1))
    if directed:
        held["direction"] = np.ones(len(pairs), np.int8)
    return pairs, EdgeValues(**held) if held else None


def _edge_fields(store: Any, count: int, relation: str | None, about: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the edges of a store carry in tensors; the ``relation`` of a store is the type of its edges."""
    found: dict[str, Any] = {}
    for part, field in FIELDS.items():
        tensor = getattr(store, field, None)
        if part == "type" and relation is not None:
            if about is not None and "type" in about["carried"]:
                found[part] = np.full(count, about["type_names"].index(relation), np.int32)
            continue
        if tensor is None and about is not None and part in about["carried"]:
            raise InputError(f"{field} is missing, which the edges of this graph carry: keep it, or delete about")
        if tensor is None:
            continue
        array = _array(tensor)
        if len(array) != count:
            raise InputError(f"{field} must have one entry per column of edge_index ({count}), got {len(array)}")
        if part == "attributes":
            array = array.reshape(count, array.shape[1] if array.ndim > 1 else 1)
        else:
            array = array.reshape(count)
        whole = part in ("type", "time")
        found[part] = (as_integers(array, field) if whole else array).astype(ARRAYS[part])
    return found


def _no_edges(about: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """What no edge at all carries in tensors: arrays without rows."""
    shapes = {part: (0, about["num_attributes"]) if part == "attributes" else (0,) for part in about["carried"]}
    return {part: np.empty(shape, ARRAYS[part]) for part, shape in shapes.items() if part in FIELDS}


def _nodes_of(store: Any, type_name: str) -> NodesOfKind:
    x = getattr(store, "x", None)
    names = [f"{type_name} {i}" for i in range(int(store.num_nodes) if x is None else len(x))]
    if x is None:
        return NodesOfKind(names=names)
    dense = np.asarray(_array(x), np.float32)
    sparse = np.count_nonzero(dense) < SPARSE_BELOW * max(1, dense.size)
    return NodesOfKind(names=names, features=sp.csr_array(dense) if sparse else dense)


def _typed_edges(data: Any, joined: JoinedKinds, *, directed: bool) -> tuple[IntArray, EdgeValues]:
    relations = [one for one in data.edge_types if not _is_reverse(one, data.edge_types)]
    if not relations:
        raise InputError("the HeteroData has no edge types")
    names = [relation for _, relation, _ in relations]
    called = names if len(set(names)) == len(names) else ["-".join(one) for one in relations]
    pairs, sizes, held = [], [], []
    for source, relation, target in relations:
        store = data[source, relation, target]
        index = _array(store.edge_index)
        pairs.append(np.stack([joined.nodes(source, index[0]), joined.nodes(target, index[1])], axis=1))
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


def _dense(graph: Graph) -> FloatArray:
    features = graph.features
    return features if isinstance(features, np.ndarray) else np.asarray(features.toarray(), np.float32)


def _mask(count: int, nodes: IntArray) -> npt.NDArray[np.bool_]:
    mask = np.zeros(count, bool)
    mask[nodes] = True
    return mask


def _array(tensor: Any) -> npt.NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())
