"""Edge values as the edge fields of a PyG `Data`, and back. Shapes: E edges of ours, P columns of `edge_index`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.arrays import IntArray, as_integers

FIELDS = {"weight": "edge_weight", "type": "edge_type", "attributes": "edge_attr", "time": "edge_time"}
ID = "edge_id"


def edge_tensors(graph: Graph) -> tuple[IntArray, dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Pairs as `edge_index` has them, [P, 2], one array of P entries per field, and what is no array.

    An edge with a direction is there once, in that direction; any other is there both ways.
    """
    values, edges = graph.edge_values, graph.edges
    if values is None:
        return np.concatenate([edges, edges[:, ::-1]]), {}, {}
    direction = np.zeros(len(edges), np.int8) if values.direction is None else values.direction
    forward, back = np.flatnonzero(direction >= 0), np.flatnonzero(direction <= 0)
    ids = np.concatenate([forward, back])
    arrays = {field: getattr(values, part)[ids] for part, field in FIELDS.items() if part in values.carried}
    about = {
        "directed": values.direction is not None,
        "type_names": values.type_names,
        "type_verbs": values.type_verbs,
        "attribute_names": values.attribute_names,
        "columns": values.columns,
        "raw": values.raw,
        "names": values.names,
    }
    return np.concatenate([edges[forward], edges[back][:, ::-1]]), {ID: ids, **arrays}, {"edge_values": about}


def edges_of(
    data: Any, about: dict[str, Any] | None, *, directed: bool | None
) -> tuple[IntArray, EdgeValues | None, IntArray]:
    """Pairs, their values, and which column of `edge_index` each is; ``about`` is what :func:`edge_tensors` wrote."""
    pairs = _array(data.edge_index).T
    columns = np.arange(len(pairs))
    known = dict(about or {})
    was_directed = bool(known.pop("directed", False))
    keep_direction = was_directed if directed is None else directed
    parts: dict[str, Any] = {part: _field(data, part, len(pairs)) for part in FIELDS}
    direction = np.ones(len(pairs), np.int8) if keep_direction else None
    if about is not None and getattr(data, ID, None) is not None:
        ids = _array(getattr(data, ID))
        _, columns, counts = np.unique(ids, return_index=True, return_counts=True)
        pairs, parts = pairs[columns], {part: None if a is None else a[columns] for part, a in parts.items()}
        direction = np.where(counts == 1, 1, 0).astype(np.int8) if keep_direction else None
        raw = known.pop("raw", None)
        known["raw"] = None if raw is None else raw.take(ids[columns])
    if parts["type"] is not None and not known.get("type_names"):
        known["type_names"] = tuple(str(kind) for kind in range(int(parts["type"].max(initial=0)) + 1))
    known = {name: value for name, value in known.items() if value is not None}
    held = {part: array for part, array in parts.items() if array is not None}
    if not held and direction is None and "raw" not in known:
        return pairs, None, columns
    return pairs, EdgeValues(direction=direction, **held, **known), columns


def _field(data: Any, part: str, count: int) -> npt.NDArray[Any] | None:
    field = FIELDS[part]
    tensor = getattr(data, field, None)
    if tensor is None:
        return None
    array = _array(tensor)
    if len(array) != count:
        raise InputError(f"{field} must have one entry per column of edge_index ({count}), got {len(array)}")
    if part == "attributes":
        return array.reshape(count, array.shape[1] if array.ndim > 1 else 1).astype(np.float32)
    array = array.reshape(count)
    if part == "weight":
        return array.astype(np.float32)
    return as_integers(array, field).astype(np.int32 if part == "type" else np.int64)


def _array(tensor: Any) -> npt.NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())
