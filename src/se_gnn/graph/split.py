"""The split of the labeled nodes, and how one is drawn: at random, by class, or by time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray, as_nodes

Part = Literal["train", "validation", "test", "calibration"]
PARTS: tuple[Part, ...] = get_args(Part)
PART_WORDS: dict[str, Part] = {  # what people write in a table
    "train": "train", "training": "train",
    "val": "validation", "valid": "validation", "validation": "validation", "dev": "validation",
    "test": "test", "testing": "test",
    "calibration": "calibration",
}  # fmt: skip
MOST_VALIDATION = 1000  # if the training nodes of a class are limited
FEWEST = 20  # validation nodes of a class that are kept in any case


def _nobody() -> IntArray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Node ids of each part: given in any order, kept sorted, each once. No node is in two parts."""

    train: IntArray = field(default_factory=_nobody)  # the labeled nodes V_L, the ones that vote
    # nodes that choose the best epoch and the settings of the vote
    validation: IntArray = field(default_factory=_nobody)
    test: IntArray = field(default_factory=_nobody)  # nodes that nothing is learned from or chosen by
    calibration: IntArray = field(default_factory=_nobody)  # nodes that decide only how large prediction sets are

    @classmethod
    def build(cls, num_nodes: int, **parts: Any) -> Split:
        """From node ids, or masks with one entry per node; None: no node."""
        return cls(**{part: as_nodes(nodes, part, num_nodes) for part, nodes in parts.items()})

    def __post_init__(self) -> None:
        for part in PARTS:
            nodes = as_nodes(getattr(self, part), part)
            if len(nodes) and nodes[0] < 0:
                raise InputError(f"{part} must hold node ids of at least 0, got {nodes[0]}")
            nodes.setflags(write=False)
            object.__setattr__(self, part, nodes)  # frozen: everything else reads sorted ids, each once
        for (one, ours), (other, theirs) in itertools.combinations(self.items(), 2):
            common = np.intersect1d(ours, theirs, assume_unique=True)
            if len(common):
                raise InputError(f"{one} and {other} must not share nodes, both hold node {common[0]}")

    def items(self) -> Iterator[tuple[Part, IntArray]]:
        """Each part with its nodes."""
        return ((part, getattr(self, part)) for part in PARTS)

    @property
    def nodes(self) -> IntArray:
        """The nodes of all parts, ascending."""
        return np.sort(np.concatenate([nodes for _, nodes in self.items()]))

    def part_of(self, node: int) -> Part | None:
        """The part that a node is in; None: in none."""
        return next((part for part, nodes in self.items() if node in nodes), None)


def split_by_class(labels: IntArray, *, train: int, validation: int, generator: np.random.Generator) -> Split:
    """``train`` and ``validation`` nodes of each class; all others test.

    >>> split = split_by_class(np.array([0, 0, 0, 1, 1, 1]), train=1, validation=1, generator=np.random.default_rng(0))
    >>> len(split.train), len(split.validation), len(split.test)
    (2, 2, 2)
    """
    parts = _drawn(labels, lambda count: [train, train + validation], generator)
    return Split(*(np.concatenate(part) for part in parts))


def _drawn(labels: IntArray, ends: Callable[[int], list[int]], generator: np.random.Generator) -> list[list[IntArray]]:
    """The nodes of each class in random order, cut where ``ends`` says of their number: by part, then by class."""
    known = [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
    cut = [np.split(generator.permutation(nodes), ends(len(nodes))) for nodes in known]
    return [[parts[i] for parts in cut] for i in range(3)]


def split_by_share(num_nodes: int, *, train: float, validation: float, generator: np.random.Generator) -> Split:
    """A share ``train`` and a share ``validation`` of all nodes, whatever their class; all others test.

    >>> split = split_by_share(10, train=0.8, validation=0.1, generator=np.random.default_rng(0))
    >>> len(split.train), len(split.validation), len(split.test)
    (8, 1, 1)
    """
    nodes = generator.permutation(num_nodes)
    ends = [round(train * num_nodes), round((train + validation) * num_nodes)]
    return Split(*np.split(nodes, ends))


def split_stratified(
    labels: IntArray, *, train: float, validation: float, most: int | None = None, generator: np.random.Generator
) -> Split:
    """A share ``train`` and a share ``validation`` of the nodes of each class; the rest of each class tests.

    At most ``most`` nodes of a class train. Validation nodes keep the shares of the classes, because probabilities are
    calibrated on them: they are thinned out evenly if there are many (:func:`_evenly`). Those beyond are in no part, so
    that the classes of the test nodes keep their shares, too. A class has at least one labeled node.

    >>> labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1])
    >>> split = split_stratified(labels, train=0.6, validation=0.2, generator=np.random.default_rng(0))
    >>> labels[split.train].tolist(), labels[split.validation].tolist(), labels[split.test].tolist()
    ([0, 0, 0, 1, 1, 1], [0, 1], [0, 1])
    """
    shares = (train, train + validation)
    parts = _drawn(labels, lambda count: [max(1, round(share * count)) for share in shares], generator)
    parts[0] = [nodes[:most] for nodes in parts[0]]
    parts[1] = [nodes[:size] for nodes, size in zip(parts[1], _evenly(list(map(len, parts[1])), most))]
    return Split(*(np.concatenate([_nobody(), *part]) for part in parts))


def _evenly(sizes: Sequence[int], most: int | None) -> list[int]:
    """How many validation nodes of each class are kept: the same share of all, but a few of each.

    >>> _evenly([3000, 1000, 30], most=200), _evenly([300, 20], most=200)
    ([744, 248, 20], [300, 20])
    """
    total = sum(sizes)
    if most is None or total <= MOST_VALIDATION:
        return list(sizes)
    return [max(size * MOST_VALIDATION // total, min(size, FEWEST)) for size in sizes]


def split_by_time(
    labels: IntArray, times: IntArray, *, train: float, validation: float, most: int | None = None, unknown: int
) -> Split:
    """The earliest share ``train`` of the labeled nodes trains, the next share ``validation`` validates, the rest test.

    Nodes of one time are in one part, the earlier. Of each class the latest ``most`` of the training nodes are kept;
    of validation nodes the latest, by :func:`_evenly`. Nodes whose time is ``unknown`` are in no part.

    >>> labels, times = np.array([0, 1, 0, 1, 0, -1]), np.array([50, 10, 20, 20, 40, 5])
    >>> split = split_by_time(labels, times, train=0.4, validation=0.2, unknown=-1)
    >>> split.train.tolist(), split.validation.tolist(), split.test.tolist()
    ([1, 2, 3], [], [0, 4])
    """
    nodes = np.flatnonzero((labels >= 0) & (times != unknown))
    nodes = nodes[np.argsort(times[nodes], kind="stable")]
    if not len(nodes):
        raise InputError("a split by time needs labeled nodes with a date, there is none")
    ordered = times[nodes]
    ends = []
    for share in (train, train + validation):
        last = ordered[min(len(nodes), max(1, round(share * len(nodes)))) - 1]
        ends.append(int(np.searchsorted(ordered, last, side="right")))
    parts = list(np.split(nodes, ends))
    for i in (0, 1):
        classes = [parts[i][labels[parts[i]] == label] for label in np.unique(labels[parts[i]])]
        sizes = list(map(len, classes))
        limits = _evenly(sizes, most) if i else [size if most is None else min(size, most) for size in sizes]
        parts[i] = np.concatenate([_nobody(), *(some[len(some) - limit :] for some, limit in zip(classes, limits))])
    return Split(*parts)
