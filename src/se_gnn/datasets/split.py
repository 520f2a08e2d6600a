"""Splits into labeled, validation and test nodes: random ones, and by time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.attributed import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Node ids of the three parts, ascending."""

    train: IntArray
    val: IntArray
    test: IntArray


def split_by_class(labels: IntArray, *, train: int, val: int, generator: np.random.Generator) -> Split:
    """``train`` and ``val`` nodes of each class; all others test.

    >>> split = split_by_class(np.array([0, 0, 0, 1, 1, 1]), train=1, val=1, generator=np.random.default_rng(0))
    >>> len(split.train), len(split.val), len(split.test)
    (2, 2, 2)
    """
    parts: list[list[IntArray]] = [[], [], []]
    for label in np.unique(labels):
        nodes = generator.permutation(np.flatnonzero(labels == label))
        for part, chosen in zip(parts, np.split(nodes, [train, train + val])):
            part.append(chosen)
    return Split(*(np.sort(np.concatenate(part)) for part in parts))


def split_by_count(labels: IntArray, *, train: int, val: int, test: int, generator: np.random.Generator) -> Split:
    """``train`` nodes in all, of each class by its share but at least one; of the others ``val`` and ``test``.

    >>> labels = np.array([0] * 16 + [1] * 4)
    >>> split = split_by_count(labels, train=5, val=4, test=6, generator=np.random.default_rng(0))
    >>> labels[split.train].tolist(), len(split.val), len(split.test)
    ([0, 0, 0, 0, 1], 4, 6)
    """
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if train < len(classes) or train + val + test > sizes.sum():
        raise InputError(
            f"train, val and test must be at most {sizes.sum()} nodes, with one of each of {len(classes)} classes "
            f"to train, got {train}, {val} and {test}"
        )
    shares = train * sizes / sizes.sum()
    counts = np.maximum(1, np.floor(shares).astype(np.int64))
    while (missing := train - counts.sum()) != 0:
        gap = shares - counts if missing > 0 else np.where(counts > 1, counts - shares, -np.inf)
        counts[np.argmax(gap)] += np.sign(missing)
    chosen = [generator.permutation(np.flatnonzero(labels == label))[:count] for label, count in zip(classes, counts)]
    labeled = np.concatenate(chosen)
    others = generator.permutation(np.setdiff1d(np.flatnonzero(labels >= 0), labeled))
    return Split(np.sort(labeled), np.sort(others[:val]), np.sort(others[val : val + test]))


def split_by_share(num_nodes: int, *, train: float, val: float, generator: np.random.Generator) -> Split:
    """A share ``train`` and a share ``val`` of all nodes, whatever their class; all others test.

    >>> split = split_by_share(10, train=0.8, val=0.1, generator=np.random.default_rng(0))
    >>> len(split.train), len(split.val), len(split.test)
    (8, 1, 1)
    """
    nodes = generator.permutation(num_nodes)
    ends = [round(train * num_nodes), round((train + val) * num_nodes)]
    return Split(*(np.sort(part) for part in np.split(nodes, ends)))


def split_stratified(
    labels: IntArray, *, train: float, val: float, most: int | None = None, generator: np.random.Generator
) -> Split:
    """A share ``train`` and a share ``val`` of the nodes of each class; the rest of each class tests.

    At most ``most`` nodes of a class train, and as many validate; those beyond are in no part, so that the classes of
    the test nodes keep their shares. A class has at least one labeled node.

    >>> labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1])
    >>> split = split_stratified(labels, train=0.6, val=0.2, generator=np.random.default_rng(0))
    >>> labels[split.train].tolist(), labels[split.val].tolist(), labels[split.test].tolist()
    ([0, 0, 0, 1, 1, 1], [0, 1], [0, 1])
    """
    parts: list[list[IntArray]] = [[], [], []]
    for label in np.unique(labels[labels >= 0]):
        nodes = generator.permutation(np.flatnonzero(labels == label))
        ends = [max(1, round(train * len(nodes))), max(1, round((train + val) * len(nodes)))]
        for part, chosen, limit in zip(parts, np.split(nodes, ends), (most, most, None)):
            part.append(chosen[:limit])
    empty = np.empty(0, np.int64)
    return Split(*(np.sort(np.concatenate([empty, *part])) for part in parts))


def split_by_time(
    labels: IntArray, times: IntArray, *, train: float, val: float, most: int | None = None, unknown: int
) -> Split:
    """The earliest share ``train`` of the labeled nodes trains, the next share ``val`` validates, the latest test.

    Nodes of one time are in one part, the earlier. Of each class the latest ``most`` of the training nodes are kept,
    and as many validation nodes. Nodes whose time is ``unknown`` are in no part.

    >>> labels, times = np.array([0, 1, 0, 1, 0, -1]), np.array([50, 10, 20, 20, 40, 5])
    >>> split = split_by_time(labels, times, train=0.4, val=0.2, unknown=-1)
    >>> split.train.tolist(), split.val.tolist(), split.test.tolist()
    ([1, 2, 3], [], [0, 4])
    """
    nodes = np.flatnonzero((labels >= 0) & (times != unknown))
    nodes = nodes[np.argsort(times[nodes], kind="stable")]
    if not len(nodes):
        raise InputError("a split by time needs labeled nodes with a date, there is none")
    ordered = times[nodes]
    ends = []
    for share in (train, train + val):
        last = ordered[min(len(nodes), max(1, round(share * len(nodes)))) - 1]
        ends.append(int(np.searchsorted(ordered, last, side="right")))
    parts = list(np.split(nodes, ends))
    for i in (0, 1):
        kept = [parts[i][labels[parts[i]] == label] for label in np.unique(labels[parts[i]])]
        parts[i] = np.concatenate([np.empty(0, np.int64), *(some[-most:] if most else some for some in kept)])
    return Split(*(np.sort(part) for part in parts))
