"""A model that the tests of the memory look at; nobody changes it."""

from __future__ import annotations

import pytest

from strategies import random_graph, small_config, untrained


@pytest.fixture(scope="session")
def model():
    graph = random_graph(
        3, num_nodes=60, num_edges=110, num_labeled=18, num_classes=3, class_names=("a", "b", "c"), isolated=(4, 30)
    )
    return untrained(graph, small_config(similarity={"num_nearest": 5, "temperature": 0.3}), seed=3)
