"""What is predicted of the nodes: which of some classes each belongs to, and of which type the nodes are.

Another kind of target, numbers, has the same three: a value for each node, which of them are known, and the type of the
nodes. Shapes: N nodes, C classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.graph.arrays import BoolArray, IntArray, as_integers
from se_gnn.graph.nodes import first_duplicate

UNKNOWN = -1  # label of a node whose class is not known
MOST_UNUSED_CLASSES = 1000  # that any graph may have


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """The class of each node; checked on construction, read-only after.

    Args:
        labels: class of each node, -1 where unknown.
        names: what people see for each class.
        node_type: the type of the nodes that have a class; None: all nodes are of one type, or no type is singled out.

    Shapes:
        - **labels:** :math:`(N,)`
    """

    labels: IntArray
    names: tuple[str, ...]
    node_type: str | None = None

    def __post_init__(self) -> None:
        labels, names = self.labels, self.names
        if len(labels) and (labels.min() < UNKNOWN or labels.max() >= len(names)):
            wrong = labels[(labels < UNKNOWN) | (labels >= len(names))][0]
            raise InputError(f"labels must be -1 (unknown) or a class below {len(names)}, got {wrong}")
        if len(set(names)) != len(names):
            raise InputError(f"class_names must be unique, got {first_duplicate(names)!r} twice")
        labels.setflags(write=False)

    @classmethod
    def build(
        cls, labels: Any, names: Sequence[str] | None = None, *, num_nodes: int, node_type: str | None = None
    ) -> Classes:
        """From labels of any integer type; without names a class is named by its number.

        Labels that reach beyond the number of nodes are codes, not positions: the classes are then the codes that
        occur.
        """
        given = as_integers(labels, "labels")
        if names is None:
            given, names = _numbered(given, num_nodes)
        return cls(labels=given, names=tuple(names), node_type=node_type)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def known(self) -> BoolArray:
        """Whether the class of each node is known, [N]."""
        found: BoolArray = self.labels != UNKNOWN
        return found

    def with_labels(self, labels: IntArray) -> Classes:
        """The same classes with other labels."""
        return dataclasses.replace(self, labels=labels)


Target: TypeAlias = Classes


def _numbered(labels: IntArray, num_nodes: int) -> tuple[IntArray, list[str]]:
    """Labels and the names of their classes; codes beyond the number of nodes become positions among those present."""
    num_classes = int(labels.max(initial=UNKNOWN)) + 1
    if num_classes <= max(num_nodes, MOST_UNUSED_CLASSES):
        return labels, [str(c) for c in range(num_classes)]
    codes, positions = np.unique(labels[labels >= 0], return_inverse=True)
    result = labels.copy()
    result[labels >= 0] = positions
    return result, [str(code) for code in codes.tolist()]


def class_indices(y: Any, class_names: Sequence[str], *, count: int) -> IntArray:
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


def integer_classes(class_names: Sequence[str]) -> IntArray:
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
