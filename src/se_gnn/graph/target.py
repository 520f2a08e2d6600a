"""What is predicted of the nodes: one of some classes, or a number; and of which type these nodes are.

Both kinds of target have the same parts: a value for each node, which of them are known, and the type of the nodes.
Shapes: N nodes, C classes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.graph.arrays import BoolArray, Float64Array, IntArray, as_integers, check_unique
from se_gnn.number_format import number_text

UNKNOWN = -1  # label of a node whose class is not known
MOST_UNUSED_CLASSES = 1000  # that any graph may have


class _PerNode:
    """What is known of each node, one entry each."""

    part: ClassVar[str]  # the field that holds it
    unknown: ClassVar[float]  # of a node of which nothing is known

    @property
    def array(self) -> Any:
        """What is known of each node: its label, or its number, [N]."""
        return getattr(self, self.part)

    def __len__(self) -> int:
        return len(self.array)

    def with_array(self, array: Any) -> Self:
        """The same classes with other labels, or other values of the same number."""
        given = as_integers(array, "labels") if self.part == "labels" else np.array(array, np.float64)
        return dataclasses.replace(self, **{self.part: given})  # type: ignore[type-var]

    def take(self, ids: IntArray) -> Self:
        """The same of some nodes, in their order."""
        return self.with_array(self.array[ids])

    def followed_by_unknown(self, count: int) -> Self:
        """The same with more nodes, of which nothing is known."""
        return self.with_array(np.concatenate([self.array, np.full(count, self.unknown, self.array.dtype)]))


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes(_PerNode):
    """The class of each node; checked on construction, read-only after."""

    part, unknown = "labels", UNKNOWN

    labels: IntArray  # class of each node, -1 where unknown, [N]
    names: tuple[str, ...]  # what people see for each class
    # the type of the nodes that have a class; None: all nodes are of one type, or no type is singled out
    node_type: str | None = None

    def __post_init__(self) -> None:
        labels, names = self.labels, self.names
        if len(labels) and (labels.min() < UNKNOWN or labels.max() >= len(names)):
            wrong = labels[(labels < UNKNOWN) | (labels >= len(names))][0]
            raise InputError(f"labels must be -1 (unknown) or a class below {len(names)}, got {wrong}")
        check_unique("class_names", names)
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

    @property
    def known(self) -> BoolArray:
        """Whether the class of each node is known, [N]."""
        found: BoolArray = self.labels != UNKNOWN
        return found

    with_labels = _PerNode.with_array


LARGEST = 1e15  # of a number to predict: sums of squares stay exact enough
DIGITS = 3  # that are shown of the spread of all numbers: counties' incomes in hundreds, rates in hundredths


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers(_PerNode):
    """The number of each node, in the unit of its column; checked on construction, read-only after."""

    part, unknown = "values", math.nan

    values: Float64Array  # number of each node, NaN where unknown, [N]
    name: str = "value"  # what people call the number: the column of a table
    unit: str = ""  # what is written behind a number, such as `USD`; empty: nothing
    # the type of the nodes that have a number; None: all nodes are of one type, or no type is singled out
    node_type: str | None = None
    # nodes that vote, but whose number no encoder may read: it would leak into their own prediction; not stored
    hidden: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        wrong = self.values[np.isinf(self.values) | (np.abs(np.nan_to_num(self.values)) > LARGEST)]
        if len(wrong):
            raise InputError(f"values must be numbers between -{LARGEST:g} and {LARGEST:g}, NaN if unknown: {wrong[0]}")
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"value_name must be a text that names the numbers, got {shortened(self.name)}")
        self.values.setflags(write=False)

    @classmethod
    def build(cls, values: Any, name: str = "value", *, unit: str = "", node_type: str | None = None) -> Numbers:
        """From numbers of any type; None and NaN stand for an unknown one.

        >>> Numbers.build([3, None, 5.5]).known.tolist()
        [True, False, True]
        """
        try:
            given = np.array(values, dtype=np.float64, copy=True)
        except (TypeError, ValueError) as error:
            raise InputError(f"values must be one number per node, None or NaN if unknown: {error}") from error
        if given.ndim != 1:
            raise InputError(f"values must be one number per node, got shape {given.shape}")
        return cls(values=given, name=name, unit=unit, node_type=node_type)

    @property
    def known(self) -> BoolArray:
        """Whether the number of each node is known, [N]."""
        found: BoolArray = ~np.isnan(self.values)
        return found

    with_values = _PerNode.with_array

    def take(self, ids: IntArray) -> Numbers:
        """The same of some nodes, in their order; none is hidden."""
        return dataclasses.replace(self, values=self.values[ids], hidden=np.empty(0, np.int64))

    def hiding(self, nodes: IntArray) -> Numbers:
        """The same with the numbers of some nodes hidden from encoders."""
        return dataclasses.replace(self, hidden=nodes)

    @cached_property
    def decimals(self) -> int:
        """Digits after the point that are shown, so that the spread of all numbers has three; below 0: tens, hundreds.

        >>> [Numbers.build(values).decimals for values in ([41_000.0, 65_000], [5.1, 9.3], [0.2, 0.9])]
        [-2, 2, 3]
        """
        spread = float(np.nanstd(self.values)) if self.known.any() else 0.0
        return DIGITS - 1 - math.floor(math.log10(spread)) if spread > 0 else DIGITS - 1

    def text(self, value: float, *, signed: bool = False) -> str:
        """A number as people read it, with its unit; ``signed``: as a difference.

        >>> incomes = Numbers.build([41_000.0, 65_000], unit="USD")
        >>> incomes.text(51_283.2), incomes.text(-212.0, signed=True)
        ('51,300 USD', '-200 USD')
        """
        return number_text(value, self.decimals, self.unit, signed=signed)


Target: TypeAlias = Classes | Numbers


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
