"""Public graphs of se-gnn with 100 labeled nodes in all: names that end in `-100`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from se_gnn.datasets import public
from se_gnn.errors import InputError
from se_gnn.graph import Graph, Split
from se_gnn.graph.arrays import IntArray

FEW = "-100"
COUNTS = {"train": 100, "validation": 500, "test": 1000}


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The graph without the end of its name, with a split that ``seed`` draws by the shares of the classes."""
    graph = public.load(name.removesuffix(FEW), data_dir=data_dir)
    split = split_by_count(graph.labels, **COUNTS, generator=np.random.default_rng(seed))
    return graph.replace(split=split, name=name)


def split_by_count(
    labels: IntArray, *, train: int, validation: int, test: int, generator: np.random.Generator
) -> Split:
    """``train`` nodes in all, of each class by its share but at least one; of the others ``validation`` and ``test``.

    >>> labels = np.array([0] * 16 + [1] * 4)
    >>> split = split_by_count(labels, train=5, validation=4, test=6, generator=np.random.default_rng(0))
    >>> labels[split.train].tolist(), len(split.validation), len(split.test)
    ([0, 0, 0, 0, 1], 4, 6)
    """
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if train < len(classes) or train + validation + test > sizes.sum():
        raise InputError(
            f"train, validation and test must be at most {sizes.sum()} nodes, with one of each of {len(classes)} "
            f"classes to train, got {train}, {validation} and {test}"
        )
    shares = train * sizes / sizes.sum()
    counts = np.maximum(1, np.floor(shares).astype(np.int64))
    while (missing := train - counts.sum()) != 0:
        gap = shares - counts if missing > 0 else np.where(counts > 1, counts - shares, -np.inf)
        counts[np.argmax(gap)] += np.sign(missing)
    chosen = [generator.permutation(np.flatnonzero(labels == label))[:count] for label, count in zip(classes, counts)]
    labeled = np.concatenate(chosen)
    others = generator.permutation(np.setdiff1d(np.flatnonzero(labels >= 0), labeled))
    return Split(labeled, others[:validation], others[validation : validation + test])
