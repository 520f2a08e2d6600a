"""The experiment on prediction sets: calibration nodes that are drawn again and again."""

from __future__ import annotations

import numpy as np
import pytest

from reproduce import coverage
from reproduce.measures.coverage import redrawn
from strategies import changed, random_graph


@pytest.fixture
def graph():
    found = random_graph(0, num_nodes=900, num_edges=900, num_labeled=20)
    rest = np.setdiff1d(np.arange(900), found.train)
    return changed(found, validation=rest[:10], calibration=rest[10:110], test=rest[110:])


def test_exchangeable_nodes_are_covered_as_promised_however_the_test_nodes_differ(graph):
    scores = np.random.default_rng(1).random((len(graph.calibration) + len(graph.test), graph.num_classes))
    scores[len(graph.calibration) :] += 0.5  # a split whose calibration nodes are easier
    found = redrawn(scores, graph, {"draws": 200, "coverage": 0.9}, "lac", seed=0)
    assert found["lac_redrawn_coverage"] == pytest.approx(0.9 + 0.5 / 101, abs=0.01)
    assert found == redrawn(scores, graph, {"draws": 200, "coverage": 0.9}, "lac", seed=0)


def test_every_graph_is_run_with_both_methods():
    assert len(coverage.series()) == len(coverage.DATASETS) * len(coverage.METHODS)
