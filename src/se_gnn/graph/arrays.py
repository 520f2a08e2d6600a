"""The arrays a graph is made of: their types, and whatever is given brought to them or refused.

Shapes: N nodes, F features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError

IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Features: TypeAlias = FloatArray | sp.csr_array

LARGEST_WHOLE = 2**53  # from here on a float no longer tells neighboring whole numbers apart


def as_features(features: Any) -> Features:
    """Node attributes as float32, [N, F]; sparse ones as CSR without stored zeros."""
    if sp.issparse(features):
        with np.errstate(over="ignore"):  # check_features refuses what float32 cannot hold
            matrix = sp.csr_array(features, dtype=np.float32, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix
    try:
        with np.errstate(over="ignore"):
            dense = np.array(features, dtype=np.float32, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"features must be numbers: {error}") from error
    if dense.ndim != 2:
        raise InputError(f"features must have two dimensions (nodes, features), got shape {dense.shape}")
    return dense


def dense(features: Features) -> FloatArray:
    """The same features as a dense array."""
    return features if isinstance(features, np.ndarray) else np.asarray(features.toarray(), np.float32)


def check_features(features: Features) -> None:
    """Refuse features that are empty, not a number, or beyond float32."""
    if features.shape[0] == 0 or features.shape[1] == 0:
        raise InputError(f"features must have at least one row and one column, got shape {tuple(features.shape)}")
    if not np.isfinite(features if isinstance(features, np.ndarray) else features.data).all():
        stored: Any = sp.coo_array(features)
        bad = np.flatnonzero(~np.isfinite(stored.data))
        row, column, value = (of_stored[bad[0]] for of_stored in (stored.row, stored.col, stored.data))
        raise InputError(
            f"features must be finite: {len(bad)} values are not, the first is {value} at node {row}, column {column}"
        )


def as_integers(values: Any, name: str) -> IntArray:
    """Whole numbers as int64, of any shape; fractions, NaN, infinities and what int64 cannot hold are refused."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different length
        raise InputError(f"{name} must be whole numbers: {error}") from error
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind == "f":
        wrong = array[~(np.isfinite(array) & (array == np.round(array)) & (np.abs(array) < LARGEST_WHOLE))]
        if wrong.size:
            raise InputError(f"{name} must be whole numbers, got {wrong.flat[0]} ({wrong.size} such values)")
    elif array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers, got values of type {array.dtype}")
    elif array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{name} must be whole numbers below 2^63, got {array.max()}")
    return array.astype(np.int64)


def as_nodes(nodes: Any, name: str, num_nodes: int | None = None) -> IntArray:
    """A set of nodes, given as ids or as a mask: sorted ids, each once; None is the empty set."""
    if nodes is None:
        return np.empty(0, np.int64)
    array = np.asarray(nodes)
    if array.dtype == bool:
        if num_nodes is not None and array.shape != (num_nodes,):
            raise InputError(f"{name} mask must have one entry per node ({num_nodes}), got shape {array.shape}")
        return np.flatnonzero(array)
    return np.unique(as_integers(array, name))


def check_length(name: str, values: Any, what: str, count: int) -> None:
    """Refuse values of another length than ``count``; None passes. ``what`` is, for example, "entry per node"."""
    if values is not None and len(values) != count:
        raise InputError(f"{name} must have one {what} ({count}), got {len(values)}")


def check_unique(name: str, texts: Sequence[str]) -> None:
    """Refuse texts of which one comes twice."""
    if len(set(texts)) != len(texts):
        twice = next(text for text, times in Counter(texts).items() if times > 1)
        raise InputError(f"{name} must be unique, got {twice!r} twice")


def row_starts(sizes: Any) -> IntArray:
    """Where each row of a CSR matrix begins, and where the last one ends, from the sizes of the rows.

    >>> row_starts([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def row_entries(indptr: IntArray, rows: IntArray | Int32Array) -> tuple[IntArray, IntArray]:
    """Some rows of a CSR matrix, one after the other: where each begins, and the places of their stored values.

    >>> [places.tolist() for places in row_entries(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[0, 3, 5], [2, 3, 4, 0, 1]]
    """
    first = np.asarray(indptr[rows])
    sizes = indptr[rows + 1] - first
    ptr = row_starts(sizes)
    return ptr, np.repeat(first - ptr[:-1], sizes) + np.arange(ptr[-1])
