"""Arrays out of the bytes of an `.npz` file, without pickles; graphs in the layout of Nettack and gnn-benchmark.

Such a graph is a few arrays: the pieces of a CSR matrix for the adjacency (`adj_data`, `adj_indices`, `adj_indptr`,
`adj_shape`), those of the attributes (`attr_...`), and `labels`.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray

_PIECES = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True, slots=True, eq=False)
class RawGraph:
    """A graph as a file holds it, edges in one or both directions.

    Shapes:
        - **edges:** :math:`(E, 2)`
        - **features:** :math:`(N, F)`, CSR
        - **labels:** :math:`(N,)`
    """

    edges: IntArray
    features: sp.csr_array
    labels: IntArray


def read_arrays(content: bytes, names: Iterable[str], *, where: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of these names; ``where`` is what an error calls the file."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{where} is not the file it should be: {error}") from error


def read_known_arrays(content: bytes, names: Iterable[str], *, sha256: str, where: str) -> dict[str, npt.NDArray[Any]]:
    """Arrays that must have the values whose :func:`values_digest` is ``sha256``, however the file was packed."""
    arrays = read_arrays(content, names, where=where)
    found = values_digest(arrays)
    if found != sha256:
        raise InputError(f"{where} does not hold the published values: their SHA-256 must be {sha256}, got {found}")
    return arrays


def values_digest(arrays: dict[str, npt.NDArray[Any]]) -> str:
    """SHA-256 of names, shapes and values; how numbers are stored does not count.

    >>> one, two = {"a": np.array([1, 0, 1])}, {"a": np.array([True, False, True])}
    >>> values_digest(one) == values_digest(two), values_digest(one) == values_digest({"a": np.array([1, 1, 0])})
    (True, False)
    """
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.shape}".encode() + np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def read_graph(content: bytes, *, where: str) -> RawGraph:
    """Adjacency, attributes and labels of one `.npz` file."""
    pieces = [f"{matrix}_{piece}" for matrix in ("adj", "attr") for piece in _PIECES]
    arrays = read_arrays(content, [*pieces, "labels"], where=where)
    return RawGraph(
        edges=entries(csr(arrays, "adj", where)),
        features=csr(arrays, "attr", where),
        labels=arrays["labels"].astype(np.int64),
    )


def entries(matrix: sp.csr_array) -> IntArray:
    """Row and column of every stored entry, [nnz, 2]."""
    coordinates = matrix.tocoo()
    return np.stack([coordinates.row, coordinates.col], axis=1).astype(np.int64)


def csr(arrays: dict[str, npt.NDArray[Any]], matrix: str, where: str) -> sp.csr_array:
    """The matrix whose pieces are named ``adj_data``, ``adj_indices``, ... for ``adj``."""
    names = [f"{matrix}_{piece}" for piece in _PIECES]
    try:
        *pieces, shape = (arrays[name] for name in names)
        result = sp.csr_array(tuple(pieces), shape=tuple(shape))
        result.check_format(full_check=True)
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{where}: {', '.join(names)} must be the pieces of a CSR matrix: {error}") from error
    return result
