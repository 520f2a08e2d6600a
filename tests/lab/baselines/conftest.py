"""Graphs that a baseline learns in a second."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.graph import Graph


@pytest.fixture(scope="session")
def two_groups() -> Graph:
    """40 nodes in two groups that differ in attributes and in who is joined to whom."""
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    edges = [
        (u, v) for u in range(40) for v in range(u) if generator.random() < (0.3 if labels[u] == labels[v] else 0.02)
    ]
    return Graph.build(
        features=np.abs(generator.normal(size=(40, 6)) + 2 * np.eye(6)[labels]),
        edges=edges,
        labels=labels,
        train=[0, 1, 2, 3, 20, 21, 22, 23],
        validation=[4, 5, 6, 7, 24, 25, 26, 27],
        test=[*range(8, 20), *range(28, 40)],
    )
