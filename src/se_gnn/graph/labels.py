"""Labels as people give them, one per node: class indices, or names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError, did_you_mean, shortened

UNKNOWN = -1  # label of a node whose class is not known


def class_indices(y: Any, class_names: Sequence[str], *, count: int) -> npt.NDArray[np.int64]:
    """Class indices of ``count`` nodes, -1 where unknown, from indices or names (None or empty: unknown).

    >>> class_indices(["red", "blue", None], ["blue", "red"], count=3).tolist()
    [1, 0, -1]
    >>> class_indices([1, -1], ["blue", "red"], count=2).tolist()
    [1, -1]
    """
    array = np.asarray(y)
    if array.shape != (count,):
        raise InputError(f"y must have one entry per node ({count:,}), got shape {array.shape}")
    codes = integer_classes(class_names)
    if array.dtype.kind in "iu" and not np.array_equal(codes, np.arange(len(class_names))):
        array = np.array([None if value == UNKNOWN else str(value) for value in array.tolist()], dtype=object)
    if array.dtype.kind in "iu":
        wrong = array[(array < UNKNOWN) | (array >= len(class_names))]
        if len(wrong):
            highest = len(class_names) - 1
            raise InputError(
                f"y must hold class names, or class indices from 0 to {highest} (-1: unknown), got {wrong[0]}"
            )
        return array.astype(np.int64)
    if array.dtype.kind not in "OUT":
        raise InputError(f"y must hold class names or class indices (whole numbers), got values of type {array.dtype}")
    known = {name: i for i, name in enumerate(class_names)}
    return np.array([_index(value, known) for value in array.tolist()], dtype=np.int64)


def integer_classes(class_names: Sequence[str]) -> npt.NDArray[np.int64]:
    """The classes as integers: the codes that are their names where all names are whole numbers, else 0, 1, 2, ...

    >>> [integer_classes(names).tolist() for names in (["0", "1"], ["12", "40"], ["a", "b"])]
    [[0, 1], [12, 40], [0, 1]]
    """
    if all(name.isascii() and name.isdigit() and len(name) < 19 for name in class_names):
        return np.array([int(name) for name in class_names], dtype=np.int64)
    return np.arange(len(class_names), dtype=np.int64)


def _index(value: Any, known: dict[str, int]) -> int:
    if value is None or value == "" or value != value:  # missing in a table: None, empty or NaN
        return UNKNOWN
    if not isinstance(value, str):
        raise InputError(f"y must hold class names alone, or class indices alone, got {shortened(value)}")
    if value not in known:
        shown = ", ".join(map(repr, list(known)[:5]))
        raise InputError(f"y holds an unknown class {shortened(value)}{did_you_mean(value, known)}; known: {shown}")
    return known[value]
