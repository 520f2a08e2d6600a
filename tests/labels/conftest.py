"""Models that the tests of the memory look at; nobody changes them.

`blocks` are a graph of three classes whose edges mostly stay within a class, and models on it that were not trained.
"""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.graph import Graph
from se_gnn.model import Model
from se_gnn.settings import Settings
from strategies import random_graph, small_settings, untrained

NUM_CLASSES = 3


def blocks(num_nodes: int = 400, *, seed: int = 0, noise: float = 1.0, num_classes: int = NUM_CLASSES):
    """Features, edges and labels; the last three nodes have no edges."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(num_classes, size=num_nodes)
    features = 2 * np.eye(num_classes)[labels] + generator.normal(scale=noise, size=(num_nodes, num_classes))
    ends = generator.integers(num_nodes - 3, size=(6 * num_nodes, 2))
    same = labels[ends[:, 0]] == labels[ends[:, 1]]
    edges = ends[same | (generator.random(len(ends)) < 0.15)][: 2 * num_nodes]
    return features.astype(np.float32), edges, labels


def block_graph(num_nodes: int = 400, *, seed: int = 0, noise: float = 1.0) -> Graph:
    features, edges, labels = blocks(num_nodes, seed=seed, noise=noise)
    nodes = np.random.default_rng([seed, 1]).permutation(num_nodes)
    graph = Graph.build(
        name="blocks", features=features, edges=edges, labels=labels, class_names=["red", "green", "blue"],
        node_names=[f"n{i}" for i in range(num_nodes)], train=nodes[:30], validation=nodes[30:60], test=nodes[160:],
    )  # fmt: skip
    return graph.with_split(train=nodes[:30], validation=nodes[30:60], test=nodes[160:], calibration=nodes[60:160])


def block_model(graph: Graph, **similarity) -> Model:
    settings = {"num_nearest": 5, "temperature": 0.3, **similarity}
    asked = Settings.of("paper", hidden_size=16, **settings)
    return untrained(graph, asked, seed=0)


@pytest.fixture(scope="session")
def graph() -> Graph:
    return block_graph()


@pytest.fixture(scope="session")
def trained(graph) -> Model:
    return block_model(graph)


@pytest.fixture(scope="session")
def model():
    graph = random_graph(
        3, num_nodes=60, num_edges=110, num_labeled=18, num_classes=3, class_names=("a", "b", "c"), isolated=(4, 30)
    )
    return untrained(graph, small_settings(num_nearest=5, temperature=0.3), seed=3)
