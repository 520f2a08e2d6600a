"""Small trained models whose explanations are drawn."""

from __future__ import annotations

import pytest

from se_gnn import Graph, load_dataset
from se_gnn.model import Model
from se_gnn.settings import Settings
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


def model_of(graph: Graph, num_nearest: int) -> Model:
    return fit(graph, Settings.of("best", epochs=2, num_nearest=num_nearest))


@pytest.fixture(scope="session")
def hub() -> Model:
    return model_of(hub_graph(HOSTILE_NAMES, name="hub", class_names=CLASS_NAMES), 5)


@pytest.fixture(scope="session")
def digits() -> Model:
    return model_of(load_dataset("digits"), 12)
