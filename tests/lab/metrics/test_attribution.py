"""Cases as attributions, and quanda's metrics of them against counting by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from lab.metrics.attribution import attribution_scores, attributions, mislabeling_score
from se_gnn.errors import InputError
from se_gnn.optional import MissingPackage
from strategies import random_graph, small_settings, untrained

CLASSES, PREDICTED = np.array([0, 0, 1, 1]), np.array([0, 1])
FOUND = torch.tensor([[0.6, 0.3, -0.1, 0.0], [0.5, -0.1, 0.4, 0.0]])  # the two highest: 0 and 1, 0 and 2


def test_attributions_are_the_weights_of_the_vote_for_and_against_the_prediction():
    graph = random_graph(3, num_nodes=60, num_edges=110, num_labeled=18, num_classes=3)
    trained = untrained(graph, small_settings(num_nearest=5, temperature=0.3), seed=3)
    nodes = np.array([40, 2, 59])
    found, prediction = attributions(trained, nodes).numpy(), trained.predict(nodes)
    assert found.shape == (3, len(graph.train))
    assert ((found != 0).sum(axis=1) <= 5).all()
    for i, row in enumerate(found):
        same = graph.labels[graph.train] == prediction.classes[i]
        assert (row[same] >= 0).all()
        assert (row[~same] <= 0).all()
        assert row[same].sum() == pytest.approx(prediction.probabilities[i].max(), abs=1e-6)


def test_quanda_counts_classes_and_different_cases():
    pytest.importorskip("quanda.metrics")
    scores = attribution_scores(FOUND, CLASSES, PREDICTED, top=2)
    assert scores.class_detection == pytest.approx((2 / 2 + 1 / 2) / 2)
    assert scores.cardinality == 3 / 4


def test_wrong_labels_that_come_first_have_a_larger_area():
    pytest.importorskip("quanda.metrics")
    suspicion = np.array([0.9, 0.1, 0.8, 0.2, 0.3])
    best, worst = mislabeling_score(suspicion, np.array([0, 2])), mislabeling_score(suspicion, np.array([1, 3]))
    assert best == pytest.approx((0.75 + 1 + 1 + 1) / 5)  # trapezoids of 1/2, 1, 1, 1, 1
    assert worst < best


def test_what_cannot_be_measured_is_refused(monkeypatch):
    with pytest.raises(InputError, match=r"shape \(2, 3\), got \(2, 4\)"):
        attribution_scores(FOUND, CLASSES[:3], PREDICTED)
    with pytest.raises(InputError, match="top must be between 1 and the 4 training nodes, got 5"):
        attribution_scores(FOUND, CLASSES, PREDICTED)
    with pytest.raises(InputError, match="finite"):
        attribution_scores(FOUND / 0, CLASSES, PREDICTED, top=2)
    with pytest.raises(InputError, match="at least one wrong label"):
        mislabeling_score(np.ones(3), np.array([], int))
    monkeypatch.setitem(sys.modules, "quanda.metrics.downstream_eval", None)
    with pytest.raises(MissingPackage, match="pip install quanda"):
        attribution_scores(FOUND, CLASSES, PREDICTED, top=2)
