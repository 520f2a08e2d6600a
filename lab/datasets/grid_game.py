"""`grid-game`: find the mines of a grid from the counts of mines around each field; generated.

100 x 100 fields, each joined to its eight neighbors. A fifth are mines. The attribute of a field is the number of mines
around it, one-hot; for half of the fields it is hidden, which an attribute of its own says. A field's class says
nothing about its neighbors' classes: what decides is its role among the counts around it (after `minesweeper` of "A
critical look at the evaluation of GNNs under heterophily", https://arxiv.org/abs/2302.11640). Half of the fields are
labeled, a quarter are for validation, a quarter for testing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from se_gnn.graph import Graph

SIZE = 100
MINES = 0.2  # share of the fields
HIDDEN = 0.5  # share of the fields that do not show their count
NAMES = (*(f"{count} mines around" for count in range(9)), "count hidden")


def load(name: str = "grid-game", *, seed: int = 0, data_dir: str | Path | None = None, size: int = SIZE) -> Graph:
    """A draw of the game; ``seed`` draws the mines and the split, ``data_dir`` is not looked at.

    >>> graph = load(size=4)
    >>> graph.num_nodes, graph.num_edges, graph.class_names
    (16, 42, ('free', 'mine'))
    """
    draw = np.random.default_rng([seed, 64])
    mines = draw.random((size, size)) < MINES
    ids = np.arange(size * size).reshape(size, size)
    edges = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:]), (ids[:-1, :-1], ids[1:, 1:]), (ids[:-1, 1:], ids[1:, :-1])]
    pairs = np.concatenate([np.stack([one.ravel(), other.ravel()], axis=1) for one, other in edges])
    labels = mines.ravel().astype(np.int64)
    counts = np.bincount(pairs[:, 0], labels[pairs[:, 1]], size * size)
    counts += np.bincount(pairs[:, 1], labels[pairs[:, 0]], size * size)
    shown = np.where(draw.random(size * size) < HIDDEN, len(NAMES) - 1, counts).astype(np.int64)
    parts = np.split(draw.permutation(size * size), [size * size // 2, 3 * size * size // 4])
    return Graph.build(
        name=name,
        features=np.eye(len(NAMES), dtype=np.float32)[shown],
        feature_names=NAMES,
        edges=pairs,
        labels=labels,
        class_names=("free", "mine"),
        node_names=[f"field {row}-{column}" for row in range(size) for column in range(size)],
        train=parts[0],
        validation=parts[1],
        test=parts[2],
    )
