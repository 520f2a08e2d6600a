"""Small trained models whose explanations are drawn."""

from __future__ import annotations

import pytest

from se_gnn import Config, Graph, load_dataset
from se_gnn.explain import Explainer
from se_gnn.training import fit
from strategies import hub_graph

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
CLASS_NAMES = ("Genetic_Algorithms_and_$elf", "<b>two</b>", "third 😀")


def explainer_of(graph: Graph, *settings: str) -> Explainer:
    config = Config.preset("best", dataset=graph.name).override(["epochs=2", *settings])
    return Explainer(fit(graph, config))


@pytest.fixture(scope="session")
def hub() -> Explainer:
    return explainer_of(hub_graph(HOSTILE_NAMES, name="hub", class_names=CLASS_NAMES), "num_nearest=5")


@pytest.fixture(scope="session")
def digits() -> Explainer:
    return explainer_of(load_dataset("digits"), "num_nearest=12")
