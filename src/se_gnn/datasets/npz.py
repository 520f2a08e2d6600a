"""Arrays out of the bytes of an `.npz` file, without pickles; graphs in the layout of Nettack and gnn-benchmark.

Such a graph is a few arrays: the pieces of a CSR matrix for the adjacency (`adj_data`, `adj_indices`, `adj_indptr`,
`adj_shape`), those of the attributes (`attr_...`), and `labels`.
"""

from __future__ import annotations

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
