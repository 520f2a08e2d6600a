"""A graph in two files: `graph.safetensors` holds the arrays, `graph.json` the names and the digest of the arrays.

No pickle. Both files are replaced in one step (`se_gnn.files.commit`): a reader finds the old graph or the new one.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from safetensors.numpy import save

from se_gnn.errors import InputError
from se_gnn.files import (
    check_format,
    commit_files,
    current_path,
    parse_json,
    pending_note,
    read_current,
    sha256,
    writing_to,
)
from se_gnn.files.reading import LARGE
from se_gnn.files.tensors import TensorInfo, load_arrays, read_header
from se_gnn.graph.arrays import Features
from se_gnn.graph.columns import column_from_dict
from se_gnn.graph.edge_list import EdgeReport
from se_gnn.graph.graph import Graph
from se_gnn.graph.mapped import holds_mapped, mapped_digest, open_mapped
from se_gnn.graph.raw import RawTable
from se_gnn.graph.split import PARTS
from se_gnn.graph.stored_values import KINDS as EDGE_KINDS
from se_gnn.graph.stored_values import about_values, value_arrays, values_from

ARRAYS = "graph.safetensors"
NAMES = "graph.json"
FORMAT = "se-gnn-graph"
VERSION = 2  # of a graph with edge values or several kinds of nodes; others are version 1, as they always were
MOST_NAMES = 1 << 30  # bytes of `graph.json`

_PLAIN_ARRAYS = ("edges", "labels", *PARTS)
_GROUND_TRUTH = ("motif_edges", "node_roles", "edge_roles")  # each may be missing
_RAW = ("codes", "offsets", "text")
_IDS = ("I64",)
_KINDS: dict[str, tuple[tuple[str, ...], int]] = {  # types and dimensions that each array may have
    "features": (("F32",), 2),
    "features.data": (("F32",), 1),
    "features.indices": (("I32", "I64"), 1),
    "features.indptr": (("I32", "I64"), 1),
    "edges": (_IDS, 2),
    **dict.fromkeys(("labels", *PARTS, "node_roles", "edge_roles"), (_IDS, 1)),
    "motif_edges": (("BOOL",), 1),
    "node_types": (("I32",), 1),
    **EDGE_KINDS,
}


def save_graph(graph: Graph, folder: str | Path) -> None:
    """Write a graph into a folder, which is made where it is missing."""
    files = graph_files(graph)
    with writing_to(folder) as target:
        commit_files(target, files)


def load_graph(folder: str | Path) -> Graph:
    """Read a graph back; a missing, damaged or newer file is an error that names it."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError(f"graph folder {path} does not exist")
    if holds_mapped(path):
        return open_mapped(path)
    pending_note(path)
    limits = {ARRAYS: LARGE, NAMES: MOST_NAMES}
    return graph_from_files({name: read_current(path, name, limit=limits[name]) for name in limits}, where=path)


def holds_graph(folder: str | Path) -> bool:
    """Whether there is a graph to load."""
    return holds_mapped(Path(folder)) or current_path(Path(folder), NAMES).is_file()


def graph_digest(folder: str | Path) -> str:
    """A digest of a stored graph: of its names, which hold the digest of its arrays."""
    if holds_mapped(Path(folder)):
        return mapped_digest(Path(folder))
    return sha256(read_current(Path(folder), NAMES, limit=MOST_NAMES))


def graph_files(graph: Graph) -> dict[str, bytes]:
    """Name and content of the files of a graph; the same graph gives the same bytes."""
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(graph, name) for name in _PLAIN_ARRAYS}
    arrays |= {name: getattr(graph, name) for name in _GROUND_TRUTH if getattr(graph, name) is not None}
    if graph.raw is not None:
        arrays |= {f"raw.{part}": getattr(graph.raw, part) for part in _RAW}
    if graph.node_types is not None:
        arrays["node_types"] = graph.node_types
    if graph.edge_values is not None:
        arrays |= value_arrays(graph.edge_values)
    if isinstance(graph.features, np.ndarray):
        arrays["features"] = graph.features
    else:
        for part in ("data", "indices", "indptr"):
            arrays[f"features.{part}"] = getattr(graph.features, part)
    # the format knows no strides: other memory layouts would be read back scrambled
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    about = {
        "format": FORMAT,
        "version": 1,
        "name": graph.name,
        "dataset": graph.dataset,
        "shape": list(graph.features.shape),
        "image_shape": graph.image_shape,
        "merged": dataclasses.asdict(graph.merged),
        "class_names": graph.class_names,
        "feature_names": graph.feature_names,
        "columns": None if graph.columns is None else [column.to_dict() for column in graph.columns],
        "node_names": graph.node_names,
        "captions": graph.captions,
        "raw_columns": None if graph.raw is None else graph.raw.columns,
        "arrays_sha256": sha256(content),
    }
    if graph.edge_values is not None or graph.node_types is not None:
        about |= {
            "version": VERSION,
            "node_type_names": graph.node_type_names,
            "edge_values": None if graph.edge_values is None else about_values(graph.edge_values),
        }
    return {ARRAYS: content, NAMES: json.dumps(about, indent=1).encode()}


def graph_from_files(files: dict[str, bytes], *, where: Path) -> Graph:
    """The graph that :func:`graph_files` wrote; ``where`` is the folder that errors name."""
    about = parse_json(files[NAMES], where / NAMES)
    check_format(about, where / NAMES, expected=FORMAT, newest=VERSION)
    if about.get("arrays_sha256") != sha256(files[ARRAYS]):
        raise InputError(f"{where / ARRAYS} is truncated or was changed: it does not have the digest in {NAMES}")
    try:
        _check_kinds(read_header(files[ARRAYS], where / ARRAYS).tensors)
        arrays: dict[str, Any] = load_arrays(files[ARRAYS], where / ARRAYS)
        names, columns, captions = about["feature_names"], about.get("columns"), about.get("captions")
        return Graph(
            features=_features(arrays, about["shape"]),
            **{name: arrays[name] for name in _PLAIN_ARRAYS},
            motif_edges=arrays.get("motif_edges"),
            node_roles=arrays.get("node_roles"),
            edge_roles=arrays.get("edge_roles"),
            name=about["name"],
            dataset=about.get("dataset"),
            class_names=tuple(about["class_names"]),
            node_names=tuple(about["node_names"]),
            feature_names=None if names is None else tuple(names),
            columns=None if columns is None else tuple(column_from_dict(column) for column in columns),
            captions=None if captions is None else tuple(captions),
            raw=_raw(arrays, about.get("raw_columns")),
            image_shape=None if about["image_shape"] is None else tuple(about["image_shape"]),
            node_types=arrays.get("node_types"),
            node_type_names=tuple(about.get("node_type_names", ())),
            edge_values=values_from(arrays, about.get("edge_values")),
            merged=EdgeReport(**about["merged"]),
        )
    except InputError as error:
        raise InputError(f"the graph in {where} is not valid: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"the graph in {where} cannot be read: {error}") from error


def _check_kinds(found: dict[str, TensorInfo]) -> None:
    """The arrays have the types that all code here counts on; the raw table looks after its own."""
    for name, (types, dimensions) in _KINDS.items():
        info = found.get(name)
        if info is not None and (info.dtype not in types or len(info.shape) != dimensions):
            raise InputError(
                f"{name} must be {' or '.join(types)} with {dimensions} dimensions, got {info.dtype} of shape "
                f"{info.shape}"
            )


def _features(arrays: dict[str, npt.NDArray[Any]], shape: list[int]) -> Features:
    if "features" in arrays:
        return arrays["features"]
    parts = tuple(arrays[f"features.{part}"] for part in ("data", "indices", "indptr"))
    matrix = sp.csr_array(parts, shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _raw(arrays: dict[str, npt.NDArray[Any]], columns: list[str] | None) -> RawTable | None:
    if columns is None:  # not from tables, or written before rows were kept
        return None
    return RawTable(columns=tuple(columns), **{part: arrays[f"raw.{part}"] for part in _RAW})
