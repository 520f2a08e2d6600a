"""Small trained models whose explanations are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn import AttributedGraph, Config, load_dataset
from se_gnn.explain import Explainer
from se_gnn.training import train

HUB, LABELED, UNLABELED, ISOLATED = 0, 5, 45, 58  # named again where a test needs them

HOSTILE_NAMES = (
    "$\\frac{1}{$ <script>alert('x')</script>",
    "5 $ and 6 $ and \\$ and 100% #1 {_^~",
    "مرحبا \u202e abc",
    "日本語の名前",
    "😀" * 30,
    "line\nbreak\ttab\x00null\ud800",
    "x" * 40,
    "_",
)


def hub_graph() -> AttributedGraph:
    """60 nodes: a hub of degree 40 with hostile names beside it, random edges, two nodes without edges."""
    generator = np.random.default_rng(0)
    nodes = 60
    classes = np.arange(nodes) % 3
    spokes = [(HUB, other) for other in range(1, 41)]
    others = generator.integers(1, 57, size=(50, 2)).tolist()
    few = [(UNLABELED, 46), (UNLABELED, 47), (46, 47), (47, 48), (UNLABELED, 50), (50, 51)]
    labels = classes.copy()
    labels[41:50] = -1
    names = [f"n{i}" for i in range(nodes)]
    names[1 : 1 + len(HOSTILE_NAMES)] = HOSTILE_NAMES
    return AttributedGraph.build(
        name="hub", features=np.eye(3)[classes] + 0.3 * generator.normal(size=(nodes, 3)), edges=spokes + others + few,
        labels=labels, class_names=["Genetic_Algorithms_and_$elf", "<b>two</b>", "third 😀"], node_names=names,
        train=[*range(1, 30), 59], val=np.arange(30, 36), test=np.arange(36, 40),
    )  # fmt: skip


def explainer_of(graph: AttributedGraph, *settings: str) -> Explainer:
    config = Config.preset("best", dataset=graph.name).override(["training.epochs=2", *settings])
    return Explainer(train(graph, config))


@pytest.fixture(scope="session")
def hub() -> Explainer:
    return explainer_of(hub_graph(), "similarity.num_nearest=5")


@pytest.fixture(scope="session")
def digits() -> Explainer:
    return explainer_of(load_dataset("digits"), "similarity.num_nearest=12")
