r"""Data sets that come with the package: nothing to download.

`digits`: the handwritten digits of scikit-learn, as a nearest-neighbor graph. A node is a picture of 8 x 8 pixels,
joined to the 5 pictures nearest to it by Euclidean distance of the pixels, of equally distant ones to those that come
first. With 5 neighbors 97 of 100 edges join two pictures of the same digit, and a 2-hop local graph stays small enough
to be looked at.

`ba-shapes`: houses planted on a random graph; the edges of the houses are those that an explanation has to find.
Generated as in "GNNExplainer: Generating Explanations for Graph Neural Networks" (https://arxiv.org/abs/1903.03894):

- a Barabasi-Albert graph of 300 nodes, each new one joined to 5 others;
- 80 houses of 5 nodes and 6 edges, each attached by one edge from a middle node to a base node, the base nodes evenly
  spaced: 0, 3, 6, ..., 237;
- 0.1 N = 70 random edges, as that paper says (the draw published with PGExplainer has 20).

A house, with the ids of its nodes counted from its first, and the classes as numbered by the SE-GNN paper::

        4          1 top
       / \
      0---1        2 middle
      |   |
      3---2        3 bottom

Nodes have no attributes of their own: their features are degree and number of triangles.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from se_gnn.graph import Graph, sample_non_edges
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.split import split_by_class, split_by_share
from se_gnn.tables.structure import EDGES, TRIANGLES, structure_numbers

NUM_NEIGHBORS = 5
TRAIN_PER_CLASS = 10
VAL_PER_CLASS = 20
LARGEST_PIXEL = 16.0

NUM_BASE = 300
EDGES_PER_BASE_NODE = 5  # m of the Barabasi-Albert graph
NUM_HOUSES = 80
RANDOM_EDGES_PER_NODE = 0.1

CLASS_NAMES = ("base", "top", "middle", "bottom")
BASE, TOP, MIDDLE, BOTTOM = range(4)
HOUSE_LABELS = (MIDDLE, MIDDLE, BOTTOM, BOTTOM, TOP)
NODE_NAMES = (
    *(f"base-{i:03d}" for i in range(NUM_BASE)),
    *(f"house-{house:02d}-{part}" for house in range(NUM_HOUSES) for part in range(len(HOUSE_LABELS))),
)
HOUSE_EDGES = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4)])


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """A graph by its name; ``seed`` draws graph and split, ``data_dir`` is not looked at."""
    return _load_digits(name, seed) if name == "digits" else _load_ba_shapes(name, seed)


def _load_digits(name: str, seed: int) -> Graph:
    """The 1,797 digits; 10 per class are labeled, 20 per class validate, the others test, drawn by ``seed``."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    pixels = (bunch.data / LARGEST_PIXEL).astype(np.float32)  # [N, 64] in [0, 1]
    generator = np.random.default_rng(seed)
    split = split_by_class(bunch.target, train=TRAIN_PER_CLASS, validation=VAL_PER_CLASS, generator=generator)
    return Graph.build(
        name=name,
        features=pixels,
        edges=_nearest_pairs(bunch.data),
        labels=bunch.target,
        class_names=[str(digit) for digit in range(10)],
        node_names=[f"digit-{i:04d}" for i in range(len(pixels))],
        feature_names=tuple(f"row {row}, column {column}" for row in range(8) for column in range(8)),
        image_shape=(8, 8),
    ).replace(split=split)


def _nearest_pairs(pixels: npt.NDArray[np.float64]) -> IntArray:
    """Each picture with its nearest ones, [5 N, 2]; whole numbers have exact distances: ties break alike anywhere."""
    lengths = np.square(pixels).sum(axis=1)
    squared = lengths[:, None] + lengths[None, :] - 2 * pixels @ pixels.T  # [N, N]
    np.fill_diagonal(squared, np.inf)  # nobody is their own neighbor
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :NUM_NEIGHBORS]
    return np.stack([np.repeat(np.arange(len(pixels)), NUM_NEIGHBORS), nearest.ravel()], axis=1)


def _load_ba_shapes(name: str, seed: int) -> Graph:
    """A draw of BA-Shapes with an 80 / 10 / 10 split; ``seed`` draws both."""
    generator = np.random.default_rng(seed)
    num_nodes = NUM_BASE + NUM_HOUSES * len(HOUSE_LABELS)
    base = barabasi_albert(NUM_BASE, EDGES_PER_BASE_NODE, generator=generator)
    first = NUM_BASE + len(HOUSE_LABELS) * np.arange(NUM_HOUSES)  # id of node 0 of each house
    houses = (first[:, None, None] + HOUSE_EDGES).reshape(-1, 2)  # [80 * 6, 2]
    attached_to = np.arange(NUM_HOUSES) * (NUM_BASE // NUM_HOUSES)
    planted = np.concatenate([base, houses, np.stack([attached_to, first], axis=1)])
    planted = planted[np.lexsort((planted[:, 1], planted[:, 0]))]  # canonical order, as sampling asks for
    noise = sample_non_edges(planted, num_nodes, round(RANDOM_EDGES_PER_NODE * num_nodes), generator=generator)
    # each group is of canonical pairs that no other group holds: merging loses none of them
    edges = np.concatenate([planted, noise])
    split = split_by_share(num_nodes, train=0.8, validation=0.1, generator=generator)
    return Graph.build(
        name=name,
        features=degrees_and_triangles(edges, num_nodes),
        feature_names=("degree", "triangles"),
        edges=edges,
        labels=np.concatenate([np.full(NUM_BASE, BASE), np.tile(HOUSE_LABELS, NUM_HOUSES)]),
        class_names=CLASS_NAMES,
        node_names=NODE_NAMES,
    ).replace(split=split)


def barabasi_albert(num_nodes: int, num_links: int, *, generator: np.random.Generator) -> IntArray:
    """Edges of a preferential attachment graph, canonical pairs, [num_links * (num_nodes - num_links), 2].

    It starts as a star of ``num_links + 1`` nodes. Each further node is joined to ``num_links`` different nodes, a node
    being drawn with a probability proportional to its degree.

    >>> barabasi_albert(300, 5, generator=np.random.default_rng(0)).shape
    (1475, 2)
    """
    edges = [(0, leaf) for leaf in range(1, num_links + 1)]
    ends = [node for edge in edges for node in edge]  # a node as often as its degree: a uniform draw is preferential
    for node in range(num_links + 1, num_nodes):
        targets: dict[int, None] = {}  # a set that keeps its order, so that the seed alone decides
        while len(targets) < num_links:
            targets[ends[generator.integers(len(ends))]] = None
        for target in targets:
            edges.append((target, node))
            ends += (target, node)
    return np.array(edges, dtype=np.int64)


def degrees_and_triangles(edges: IntArray, num_nodes: int) -> FloatArray:
    """Degree and number of triangles of each node, [N, 2]; every undirected edge is given once.

    >>> degrees_and_triangles(np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), 4).tolist()
    [[2.0, 1.0], [2.0, 1.0], [3.0, 1.0], [1.0, 0.0]]
    """
    numbers = structure_numbers(edges, num_nodes)
    return np.stack([numbers[EDGES], numbers[TRIANGLES]], axis=1).astype(np.float32)
