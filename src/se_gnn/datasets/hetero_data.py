"""A PyG `HeteroData` as our graph of several kinds of nodes, and ours as a `HeteroData`.

Shapes: N_t nodes of a kind, E_r edges of a type.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.datasets.details import graph_details
from se_gnn.datasets.kinds import SPARSE_BELOW, JoinedKinds, NodesOfKind, join_kinds
from se_gnn.datasets.pyg import MASKS
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, EdgeValues, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.edge_values import ARRAYS, NO_TIME
from se_gnn.optional import require

REVERSED = "rev_"  # what PyG's ToUndirected calls the edges that it adds
FIELDS = {"weight": "edge_weight", "time": "edge_time", "attributes": "edge_attr"}


def from_hetero(data: Any, *, name: str = "graph", directed: bool = False) -> Graph:
    """Take over a ``torch_geometric.data.HeteroData``.

    Every node type is a kind with a block of features (:mod:`se_gnn.datasets.kinds`); one without ``x`` is told apart
    by its position. One node type has ``y``, and masks where there is a split. The middle word of an edge type is the
    type of its edges; edges that ``ToUndirected`` added (``rev_...``) are left out. ``edge_weight``, ``edge_time`` and
    ``edge_attr`` are carried: a type without them has weight 1, no date and zeros. What :func:`to_hetero` wrote
    besides comes back, too.

    Args:
        data: the graph.
        name: of the graph.
        directed: keep the direction of the edges.
    """
    about = dict(getattr(data, "about", None) or {})
    if about:
        return _as_written(data, about)
    kinds = list(data.node_types)
    joined = join_kinds({kind: _nodes_of(data[kind], kind) for kind in kinds})
    labeled = [kind for kind in kinds if getattr(data[kind], "y", None) is not None]
    if len(labeled) != 1:
        raise InputError(f"one node type must have y, got {', '.join(labeled) or 'none'} of {', '.join(kinds)}")
    labels = np.full(len(joined.names), UNKNOWN, np.int64)
    own = _array(data[labeled[0]].y).reshape(-1)
    labels[joined.nodes(labeled[0], np.arange(len(own)))] = own
    masks = {part: getattr(data[labeled[0]], name, None) for part, name in MASKS.items()}
    split: dict[str, Any] = {
        part: None if mask is None else joined.nodes(labeled[0], np.flatnonzero(_array(mask)))
        for part, mask in masks.items()
    }
    pairs, values = _edges(data, joined, directed=directed)
    return Graph.build(
        name=name,
        features=joined.features,
        feature_names=joined.feature_names,
        edges=pairs,
        edge_values=values,
        node_names=joined.names,
        node_types=joined.kinds,
        node_type_names=joined.type_names,
        labels=labels,
        **split,
    )


def to_hetero(graph: Graph) -> Any:
    """A ``torch_geometric.data.HeteroData`` that :func:`from_hetero` turns back into the same graph.

    ``x`` of a node type is the block of its kind, dense; the kind with labels has ``y`` and masks. Each edge is there
    once, in its direction (``torch_geometric.transforms.ToUndirected`` adds the other), and ``edge_id`` tells which of
    ours it is; names and the like are in the dictionary ``about``.
    """
    import torch

    if graph.node_types is None:
        raise InputError(f"{graph.name} has one kind of nodes: to_pyg makes a Data of it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch Geometric uses names that PyTorch deprecated
        pyg: Any = require("torch_geometric.data", extra="data", feature="PyG graphs")
    data = pyg.HeteroData()
    dense = graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()
    kinds, values = graph.node_types, graph.edge_values
    position = np.empty(graph.num_nodes, np.int64)  # of each node within its kind
    for number, kind in enumerate(graph.node_type_names):
        nodes = np.flatnonzero(kinds == number)
        position[nodes] = np.arange(len(nodes))
        data[kind].x = torch.from_numpy(dense[np.ix_(nodes, _block(graph, kind))].copy())
        data[kind].node_id = torch.from_numpy(nodes)
        if (graph.labels[nodes] != UNKNOWN).any():
            data[kind].y = torch.from_numpy(graph.labels[nodes].copy())
            for part, name in MASKS.items():
                data[kind][name] = torch.from_numpy(np.isin(nodes, getattr(graph, part)))
    back = np.zeros(graph.num_edges, bool) if values is None or values.direction is None else values.direction < 0
    ends = np.where(back[:, None], graph.edges[:, ::-1], graph.edges)
    types = np.zeros(graph.num_edges, np.int64) if values is None or values.type is None else values.type
    names = ("joins",) if values is None or values.type is None else values.type_names
    for source, relation, target in sorted(
        {*zip(kinds[ends[:, 0]].tolist(), types.tolist(), kinds[ends[:, 1]].tolist())}
    ):
        ids = np.flatnonzero((kinds[ends[:, 0]] == source) & (types == relation) & (kinds[ends[:, 1]] == target))
        store = data[graph.node_type_names[source], names[relation], graph.node_type_names[target]]
        store.edge_index = torch.from_numpy(np.ascontiguousarray(position[ends[ids]].T))
        store.edge_id = torch.from_numpy(ids)
        for part, field in FIELDS.items():
            array = None if values is None else getattr(values, part)
            if array is not None:
                store[field] = torch.from_numpy(array[ids].copy())
    details = graph_details(graph)
    for known in ("node_types", "motif_edges", "edge_roles", "node_roles", "edge_values"):
        details.pop(known, None)
    data.about = {
        **details,
        "node_names": graph.node_names,
        "sparse_features": bool(sp.issparse(graph.features)),
        "edge_values": None if values is None else _about_edges(values),
        "truth": (graph.motif_edges, graph.edge_roles, graph.node_roles),
        "num_features": graph.num_features,
    }
    return data


def _about_edges(values: EdgeValues) -> dict[str, Any]:
    names = ("type_names", "type_verbs", "attribute_names", "columns", "raw", "names", "direction")
    shapes = {part: getattr(values, part).shape[1:] for part in values.carried if part != "direction"}
    return {"shapes": shapes, **{name: getattr(values, name) for name in names}}


def _as_written(data: Any, about: dict[str, Any]) -> Graph:
    """The graph that :func:`to_hetero` wrote."""
    type_names = tuple(about.pop("node_type_names"))
    count, size = len(about["node_names"]), about.pop("num_features")
    features = np.zeros((count, size), np.float32)
    kinds = np.empty(count, np.int32)
    labels = np.full(count, UNKNOWN, np.int64)
    split: dict[str, list[IntArray]] = {part: [np.empty(0, np.int64)] for part in MASKS}
    for number, kind in enumerate(type_names):
        nodes = _array(data[kind].node_id)
        kinds[nodes] = number
        features[np.ix_(nodes, _block_of(about.get("feature_names"), kind, type_names, size))] = _array(data[kind].x)
        if getattr(data[kind], "y", None) is not None:
            labels[nodes] = _array(data[kind].y)
            for part, name in MASKS.items():
                split[part].append(nodes[_array(data[kind][name])])
    of_edges, (motif_edges, edge_roles, node_roles) = about.pop("edge_values"), about.pop("truth")
    total = sum(data[edge_type].edge_index.shape[1] for edge_type in data.edge_types)
    pairs = np.empty((total, 2), np.int64)
    held = {} if of_edges is None else of_edges.pop("shapes")
    parts: dict[str, Any] = {part: np.empty((total, *shape), ARRAYS[part]) for part, shape in held.items()}
    for edge_type in data.edge_types:
        store, ids = data[edge_type], _array(data[edge_type].edge_id)
        for end, kind in enumerate((edge_type[0], edge_type[2])):
            pairs[ids, end] = _array(data[kind].node_id)[_array(store.edge_index)[end]]
        for part, field in FIELDS.items():
            if part in held:
                parts[part][ids] = _array(store[field])
        if "type" in held:
            parts["type"][ids] = of_edges["type_names"].index(edge_type[1])
    values = None
    if of_edges is not None:
        # the pairs lead where the edges do; build turns the direction of those that it swaps
        direction = of_edges.pop("direction")
        turned = None if direction is None else np.where(direction < 0, 1, direction).astype(np.int8)
        values = EdgeValues(**parts, **of_edges, direction=turned)
    sparse = about.pop("sparse_features")
    parts_of_split: dict[str, Any] = {part: np.concatenate(nodes) for part, nodes in split.items()}
    return Graph.build(
        **about,
        features=sp.csr_array(features) if sparse else features,
        edges=pairs,
        edge_values=values,
        labels=labels,
        node_types=kinds,
        node_type_names=type_names,
        motif_edges=motif_edges,
        edge_roles=edge_roles,
        node_roles=node_roles,
        **parts_of_split,
    )


def _block(graph: Graph, kind: str) -> IntArray:
    return _block_of(graph.feature_names, kind, graph.node_type_names, graph.num_features)


def _block_of(names: Sequence[str] | None, kind: str, kinds: Sequence[str], size: int) -> IntArray:
    """The features of a kind, by their names; all of them where the features are no blocks."""
    own = {
        name: [i for i, one in enumerate(names or ()) if one == name or one.startswith(f"{name}: ")] for name in kinds
    }
    if sum(map(len, own.values())) != size:
        return np.arange(size)
    return np.array(own[kind], np.int64)


def _nodes_of(store: Any, kind: str) -> NodesOfKind:
    x = getattr(store, "x", None)
    count = int(store.num_nodes) if x is None else len(x)
    names = [f"{kind} {i}" for i in range(count)]
    if x is None:
        return NodesOfKind(names=names)
    dense = np.asarray(_array(x), np.float32)
    filled = np.count_nonzero(dense) / max(1, dense.size)
    return NodesOfKind(names=names, features=sp.csr_array(dense) if filled < SPARSE_BELOW else dense)


def _edges(data: Any, joined: JoinedKinds, *, directed: bool) -> tuple[IntArray, EdgeValues]:
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
        held.append({part: getattr(store, field, None) for part, field in FIELDS.items()})
    parts: dict[str, Any] = {
        "type": np.repeat(np.arange(len(relations)), sizes).astype(np.int32),
        "type_names": tuple(called),
        "direction": np.ones(sum(sizes), np.int8) if directed else None,
    }
    for part, missing in (("weight", np.float32(1)), ("time", np.int64(NO_TIME))):
        arrays = [None if one[part] is None else _array(one[part]).reshape(-1) for one in held]
        if any(array is not None for array in arrays):
            filled = [np.full(size, missing) if array is None else array for array, size in zip(arrays, sizes)]
            parts[part] = np.concatenate(filled).astype(missing.dtype)
    blocks = [
        np.zeros((size, 0)) if one["attributes"] is None else _table(one["attributes"])
        for one, size in zip(held, sizes)
    ]
    if any(block.shape[1] for block in blocks):
        parts["attributes"] = np.asarray(sp.block_diag(blocks).toarray(), np.float32)
        parts["attribute_names"] = tuple(
            f"{name}: attribute {i}" for name, block in zip(called, blocks) for i in range(block.shape[1])
        )
    return np.concatenate(pairs), EdgeValues(**parts)


def _is_reverse(edge_type: tuple[str, str, str], every: Sequence[tuple[str, str, str]]) -> bool:
    source, relation, target = edge_type
    return relation.startswith(REVERSED) and (target, relation.removeprefix(REVERSED), source) in every


def _table(tensor: Any) -> npt.NDArray[Any]:
    array = _array(tensor)
    return array.reshape(len(array), -1) if array.ndim != 2 else array


def _array(tensor: Any) -> npt.NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())
