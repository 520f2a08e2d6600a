"""Edge values as arrays and plain values of a stored graph (`se_gnn.graph.store`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from se_gnn.graph.columns import column_from_dict
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.raw import RawTable

_RAW = ("codes", "offsets", "text")
_PARTS = {"direction": "I8", "weight": "F32", "type": "I32", "attributes": "F32", "time": "I64"}
KINDS: dict[str, tuple[tuple[str, ...], int]] = {  # types and dimensions of the arrays
    f"edge.{part}": ((kind,), 2 if part == "attributes" else 1) for part, kind in _PARTS.items()
}


def value_arrays(values: EdgeValues) -> dict[str, npt.NDArray[Any]]:
    """The arrays of edge values by the names of a stored graph."""
    arrays = {f"edge.{part}": getattr(values, part) for part in values.carried}
    if values.raw is not None:
        arrays |= {f"edge.raw.{part}": getattr(values.raw, part) for part in _RAW}
    return arrays


def about_values(values: EdgeValues) -> dict[str, Any]:
    """Everything that is no array, as plain values; :func:`values_from` reads both back."""
    return {
        "parts": values.carried,
        "type_names": values.type_names,
        "type_verbs": values.type_verbs,
        "attribute_names": values.attribute_names,
        "columns": None if values.columns is None else [column.to_dict() for column in values.columns],
        "raw_columns": None if values.raw is None else values.raw.columns,
        "names": values.names,
    }


def values_from(arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any] | None) -> EdgeValues | None:
    """The edge values of a stored graph; None where it has none."""
    if about is None:
        return None
    parts: dict[str, Any] = {part: arrays[f"edge.{part}"] for part in about["parts"] if part in _PARTS}
    if about["raw_columns"] is not None:
        cells: dict[str, Any] = {part: arrays[f"edge.raw.{part}"] for part in _RAW}
        parts["raw"] = RawTable(columns=tuple(about["raw_columns"]), **cells)
    if about["columns"] is not None:
        parts["columns"] = tuple(column_from_dict(column) for column in about["columns"])
    for name in ("type_verbs", "attribute_names"):
        parts[name] = None if about[name] is None else tuple(about[name])
    names = tuple((part, column) for part, column in about["names"])
    return EdgeValues(**parts, type_names=tuple(about["type_names"]), names=names)
