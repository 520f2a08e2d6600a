"""A graph in two files: `graph.safetensors` holds the arrays, `graph.json` the names and the digest of the arrays.

No pickle. Every file is written under a temporary name and moved in place, so that a reader finds all of it or none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from safetensors import SafetensorError
from safetensors.numpy import load, save

from se_gnn.errors import InputError
from se_gnn.graph.attributed import AttributedGraph, EdgeReport, Features
from se_gnn.graph.columns import column_from_dict

ARRAYS = "graph.safetensors"
NAMES = "graph.json"
FORMAT = "se-gnn-graph"
VERSION = 1

_PLAIN_ARRAYS = ("edges", "labels", "train", "val", "test")
_GROUND_TRUTH = ("motif_edges", "node_roles", "edge_roles")  # each may be missing


def save_graph(graph: AttributedGraph, folder: str | Path) -> None:
    """Write a graph into a folder, which is made where it is missing."""
    with writing_to(folder) as target:
        for name, content in graph_files(graph).items():
            replace_file(target / name, content)


def load_graph(folder: str | Path) -> AttributedGraph:
    """Read a graph back; a missing, damaged or newer file is an error that names it."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError(f"graph folder {path} does not exist")
    return graph_from_files({name: read_file(path / name) for name in (ARRAYS, NAMES)}, where=path)


def holds_graph(folder: str | Path) -> bool:
    """Whether there is a graph to load."""
    return (Path(folder) / NAMES).is_file()


def graph_files(graph: AttributedGraph) -> dict[str, bytes]:
    """Name and content of the files of a graph; the same graph gives the same bytes."""
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(graph, name) for name in _PLAIN_ARRAYS}
    arrays |= {name: getattr(graph, name) for name in _GROUND_TRUTH if getattr(graph, name) is not None}
    if isinstance(graph.features, np.ndarray):
        arrays["features"] = graph.features
    else:
        for part in ("data", "indices", "indptr"):
            arrays[f"features.{part}"] = getattr(graph.features, part)
    # the format knows no strides: other memory layouts would be read back scrambled
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "dataset": graph.dataset,
        "shape": list(graph.features.shape),
        "image_shape": graph.image_shape,
        "merged": dataclasses.asdict(graph.merged),
        "class_names": graph.class_names,
        "feature_names": graph.feature_names,
        "columns": None if graph.columns is None else [column.to_dict() for column in graph.columns],
        "node_names": graph.node_names,
        "arrays_sha256": sha256(content),
    }
    return {ARRAYS: content, NAMES: json.dumps(about, indent=1).encode()}


def graph_from_files(files: dict[str, bytes], *, where: Path) -> AttributedGraph:
    """The graph that :func:`graph_files` wrote; ``where`` is the folder that errors name."""
    about = parse_json(files[NAMES], where / NAMES)
    check_format(about, where / NAMES, expected=FORMAT, newest=VERSION)
    if about.get("arrays_sha256") != sha256(files[ARRAYS]):
        raise InputError(f"{where / ARRAYS} is truncated or was changed: it does not have the digest in {NAMES}")
    try:
        arrays = load(files[ARRAYS])
        names, columns = about["feature_names"], about.get("columns")
        return AttributedGraph(
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
            image_shape=None if about["image_shape"] is None else tuple(about["image_shape"]),
            merged=EdgeReport(**about["merged"]),
        )
    except InputError as error:
        raise InputError(f"the graph in {where} is not valid: {error}") from error
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"the graph in {where} cannot be read: {error}") from error


def _features(arrays: dict[str, npt.NDArray[Any]], shape: list[int]) -> Features:
    if "features" in arrays:
        return arrays["features"]
    parts = tuple(arrays[f"features.{part}"] for part in ("data", "indices", "indptr"))
    matrix = sp.csr_array(parts, shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


@contextlib.contextmanager
def writing_to(folder: str | Path) -> Iterator[Path]:
    """Make a folder and write into it; a full disk, a read-only folder and the like become one clear error."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror or error}") from error
    except SafetensorError as error:  # the way safetensors reports a full disk
        raise InputError(f"cannot write to {path}: {error}") from error


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: a kill at any moment leaves the old one or the new one, whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to report
            partial.unlink(missing_ok=True)
        raise


def read_file(path: Path) -> bytes:
    """The content of a file that has to be there."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def parse_json(content: bytes, path: Path) -> dict[str, Any]:
    """A JSON object; ``path`` is where it came from."""
    try:
        value = json.loads(content)
    except ValueError as error:
        raise InputError(f"{path} is truncated or damaged: it is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} must hold a JSON object, got {type(value).__name__}")
    return value


def check_format(about: dict[str, Any], path: Path, *, expected: str, newest: int) -> None:
    """Refuse what is not ours, and what a later version of us wrote."""
    if about.get("format") != expected:
        raise InputError(f"{path} was not written by se-gnn: format must be {expected!r}, got {about.get('format')!r}")
    version = about.get("version")
    if not isinstance(version, int) or version < 1:
        raise InputError(f"{path} has no version that can be read, got {version!r}")
    if version > newest:
        raise InputError(f"{path} was written by a newer version ({version}), this one reads up to {newest}")


def sha256(content: bytes) -> str:
    """Digest of a content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
