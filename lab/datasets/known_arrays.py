"""Files that everybody packs for themselves: their bytes differ, so that the values of their arrays are checked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.tables.arrays import read_arrays


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
