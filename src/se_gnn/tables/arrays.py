"""Graphs as plain arrays: SciPy's sparse matrices, and `.npz` files, ours and those that others publish.

No pickle is read. Graphs in the layout of Nettack and gnn-benchmark are a few arrays: the pieces of a CSR matrix for
the adjacency (`adj_data`, `adj_indices`, `adj_indptr`, `adj_shape`), the attributes (`attr_...`), and `labels`.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.files import replace_file, writing_to
from se_gnn.graph import UNKNOWN, Graph, Numbers
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.split import PART_WORDS, PARTS
from se_gnn.graph.storage import HEADER, graph_files, is_graph_file, load_graph

PIECES = ("data", "indices", "indptr", "shape")
_EDGES, _FEATURES, _LABELS = ("edges", "edge_index"), ("features", "x"), ("labels", "y")
_DETAILS = (
    "features", "node_names", "feature_names", "columns", "captions", "raw", "image_shape", "roles", "edge_values",
    "node_types", "node_type_names", "name", "dataset", *PARTS,
)  # fmt: skip


def to_scipy(graph: Graph) -> dict[str, Any]:
    """The arguments of :func:`from_scipy` that give the same graph: a symmetric CSR ``adjacency`` of ones first.

    If edges have values, an entry is the number of parallel edges.
    """
    adjacency = graph.adjacency.copy()
    adjacency.data = np.ones(len(adjacency.data), np.float32)
    adjacency.sum_duplicates()
    own = {name: getattr(graph, name) for name in _DETAILS} | {"target_type": graph.target.node_type}
    if isinstance(graph.target, Numbers):
        own |= {"values": graph.values, "value_name": graph.target.name, "unit": graph.target.unit}
    else:
        own |= {"labels": graph.labels, "class_names": graph.class_names}
    return {"adjacency": adjacency, **own}


def from_scipy(adjacency: Any, features: Any, labels: Any = None, **details: Any) -> Graph:
    """A graph from its adjacency matrix and its features.

    Args:
        adjacency: [N, N], sparse or dense; whatever is not 0 is an edge, its value is not looked at. A matrix that is
            not symmetric is taken as undirected.
        features: [N, F], sparse or dense.
        labels: class of each node, -1 where unknown; None: all unknown, or ``details`` have ``values``.
        details: what :meth:`Graph.build` takes besides: names, split and so on. What belongs to edges comes
            in the order of the upper triangle, row by row. With ``edge_values``, an entry is the number of edges
            between two nodes; direction +1 is from the lower node to the higher.
    """
    matrix = sp.csr_array(adjacency)
    num_nodes = np.shape(features)[0]
    if matrix.shape != (num_nodes, num_nodes):
        raise InputError(f"adjacency must be {num_nodes} x {num_nodes}, as features has rows, got shape {matrix.shape}")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if (matrix != matrix.T).nnz == 0:
        matrix = sp.csr_array(sp.triu(matrix))
    matrix.sort_indices()
    entries = matrix.tocoo()
    edges = np.stack([entries.row, entries.col], axis=1)
    if details.get("edge_values") is not None:
        edges = np.repeat(edges, entries.data.astype(np.int64), axis=0)
    if labels is None and "values" not in details:
        labels = np.full(num_nodes, UNKNOWN)
    return Graph.build(features=features, edges=edges, labels=labels, **details)


def save_npz(graph: Graph, path: str | Path) -> None:
    """Write a graph as one file: an archive of the files that its folder would hold."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in graph_files(graph, mapped=False).items():
            archive.writestr(name, content if isinstance(content, bytes) else b"".join(content))
    with writing_to(Path(path).parent):
        replace_file(Path(path), buffer.getvalue())


def load_npz(path: str | Path, **details: Any) -> Graph:
    """Read a graph from an `.npz` file.

    Besides those of :func:`save_npz`: files with ``edges`` [E, 2] or ``edge_index`` [2, E], ``features`` or ``x``,
    and ``labels`` or ``y`` (-1: unknown), masks or ids ``train``, ``val``, ``test``; and files with CSR pieces
    ``adj_data``, ``adj_indices``, ... and ``attr_data``, ... as published for graph benchmarks. ``details`` go to
    :meth:`Graph.build`.
    """
    file = Path(path)
    with (
        contextlib.suppress(OSError, zipfile.BadZipFile),
        zipfile.ZipFile(file) as archive,
    ):  # reading says what is wrong
        if HEADER in archive.namelist():
            return _read_archive(archive, file)
    arrays = read_arrays(file, where=str(file))
    parts: dict[str, Any] = {part: arrays[word] for word, part in PART_WORDS.items() if word in arrays}
    given: dict[str, Any] = {"name": file.stem, **parts, **details}
    labels = next((arrays[name] for name in _LABELS if name in arrays), None)
    if "adj_data" in arrays:
        sparse = "attr_data" in arrays
        features = csr(arrays, "attr", str(file)) if sparse else _first(arrays, (*_FEATURES, "attr_matrix"), file)
        return from_scipy(csr(arrays, "adj", str(file)), features, labels, **given)
    edges, features = _first(arrays, _EDGES, file), _first(arrays, _FEATURES, file)
    return Graph.build(
        features=features,
        edges=edges if "edges" in arrays else edges.T,
        labels=np.full(len(features), UNKNOWN) if labels is None else labels,
        **given,
    )


def _read_archive(archive: zipfile.ZipFile, file: Path) -> Graph:
    with tempfile.TemporaryDirectory(prefix="se-gnn-") as folder:
        try:
            archive.extractall(folder, [name for name in archive.namelist() if is_graph_file(name)])
            return load_graph(folder)
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(str(error).replace(folder, str(file))) from error


def read_arrays(source: Path | bytes, names: Iterable[str] | None = None, *, where: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an `.npz` file or its bytes, or those of these names; errors call the file ``where``."""
    try:
        stored = np.load(source if isinstance(source, Path) else io.BytesIO(source), allow_pickle=False)
        if isinstance(stored, np.ndarray):
            raise InputError(f"{where} holds one array, not a graph: an .npz file is needed")
        with stored:
            return {name: stored[name] for name in (stored.files if names is None else names)}
    except FileNotFoundError as error:
        raise InputError(f"{where} does not exist") from error
    except InputError:
        raise
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{where} cannot be read as an .npz file: {error}") from error


def _first(arrays: dict[str, np.ndarray], names: tuple[str, ...], file: Path) -> np.ndarray:
    found = next((arrays[name] for name in names if name in arrays), None)
    if found is None:
        raise InputError(f"{file} must hold an array named {' or '.join(map(repr, names))}")
    return found


def entries(matrix: sp.csr_array) -> IntArray:
    """Row and column of every stored entry, [nnz, 2]."""
    coordinates = matrix.tocoo()
    return np.stack([coordinates.row, coordinates.col], axis=1).astype(np.int64)


def csr(arrays: dict[str, npt.NDArray[Any]], matrix: str, where: str) -> sp.csr_array:
    """The matrix whose pieces are named ``adj_data``, ``adj_indices``, ... for ``adj``."""
    names = [f"{matrix}_{piece}" for piece in PIECES]
    try:
        *pieces, shape = (arrays[name] for name in names)
        result = sp.csr_array(tuple(pieces), shape=tuple(shape))
        result.check_format(full_check=True)
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{where}: {', '.join(names)} must be the pieces of a CSR matrix: {error}") from error
    return result
