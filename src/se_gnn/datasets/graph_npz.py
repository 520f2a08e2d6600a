"""Graphs in one `.npz` file: ours, and those that others publish. No pickle is read."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from safetensors.numpy import load, save

from se_gnn.datasets.details import GraphDetails
from se_gnn.datasets.npz import csr
from se_gnn.datasets.scipy_sparse import from_scipy
from se_gnn.errors import InputError
from se_gnn.files import replace_file, writing_to
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.split import PART_WORDS
from se_gnn.graph.store import ARRAYS, NAMES, graph_files, graph_from_files

ABOUT = "about"
_EDGES, _FEATURES, _LABELS = ("edges", "edge_index"), ("features", "x"), ("labels", "y")


def save_npz(graph: Graph, path: str | Path) -> None:
    """Write a graph as plain arrays by name, and its names as JSON in the array ``about``."""
    files = graph_files(graph)
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {ABOUT: np.frombuffer(files[NAMES], np.uint8), **load(files[ARRAYS])}
    np.savez_compressed(buffer, **arrays)
    with writing_to(Path(path).parent):
        replace_file(Path(path), buffer.getvalue())


def load_npz(path: str | Path, **details: Unpack[GraphDetails]) -> Graph:
    """Read a graph from an `.npz` file.

    Besides those of :func:`save_npz`: files with ``edges`` [E, 2] or ``edge_index`` [2, E], ``features`` or ``x``,
    and ``labels`` or ``y`` (-1: unknown), masks or ids ``train``, ``val``, ``test``; and files with CSR pieces
    ``adj_data``, ``adj_indices``, ... and ``attr_data``, ... as published for graph benchmarks. ``details`` go to
    :meth:`Graph.build`.
    """
    file = Path(path)
    arrays = _read(file)
    if ABOUT in arrays:
        files: dict[str, bytes] = {NAMES: arrays.pop(ABOUT).tobytes(), ARRAYS: save(arrays)}
        return graph_from_files(files, where=file)
    parts: dict[str, Any] = {part: arrays[word] for word, part in PART_WORDS.items() if word in arrays}
    given: dict[str, Any] = {"name": file.stem, **parts, **details}
    labels = _first(arrays, _LABELS)
    if "adj_data" in arrays:
        sparse = "attr_data" in arrays
        features = csr(arrays, "attr", str(file)) if sparse else _first(arrays, (*_FEATURES, "attr_matrix"))
        _check_there(features, file, _FEATURES)
        return from_scipy(csr(arrays, "adj", str(file)), features, labels, **given)
    edges, features = _first(arrays, _EDGES), _first(arrays, _FEATURES)
    _check_there(edges, file, _EDGES)
    _check_there(features, file, _FEATURES)
    assert edges is not None
    return Graph.build(
        features=features,
        edges=edges.T if "edges" not in arrays else edges,
        labels=np.full(len(np.asarray(features)), UNKNOWN) if labels is None else labels,
        **given,
    )


def _read(file: Path) -> dict[str, np.ndarray]:
    try:
        stored = np.load(file, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            raise InputError(f"{file} holds one array, not a graph: an .npz file is needed")
        with stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise InputError(f"{file} does not exist") from error
    except InputError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} cannot be read as an .npz file: {error}") from error


def _first(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _check_there(found: Any, file: Path, names: tuple[str, ...]) -> None:
    if found is None:
        raise InputError(f"{file} must hold an array named {' or '.join(map(repr, names))}")
