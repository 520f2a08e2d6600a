"""Figures of predictions: scikit-learn's, on any numbers that a vote can give, and by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from se_gnn.model.metrics import classification_metrics
from se_gnn.model.prediction import accuracy, log_loss

FIGURES = {
    "nodes", "accuracy", "balanced_accuracy", "macro_f1", "loss", "calibration_error", "roc_auc", "average_precision",
    "positive", "confusion",
}  # fmt: skip


def votes(seed, nodes, classes):
    """Probabilities as a vote gives them: float32, some classes without a vote, some a bit above 1."""
    generator = np.random.default_rng(seed)
    weights = generator.random((nodes, classes)) * (generator.random((nodes, classes)) < 0.6)
    weights[weights.sum(axis=1) == 0, 0] = 1
    shares = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    shares[shares > 0.9999] = np.float32(1.0000001)
    return shares, generator.integers(0, classes, nodes)


@given(st.integers(0, 10**6), st.integers(0, 30), st.integers(2, 5))
def test_every_figure_is_plain_and_finite_or_none(seed, nodes, classes):
    figures = classification_metrics(*votes(seed, nodes, classes))
    assert set(figures) == FIGURES
    json.dumps(figures, allow_nan=False)
    assert figures["nodes"] == nodes == np.sum(figures["confusion"])
    if not nodes:
        assert all(figures[name] is None for name in FIGURES - {"nodes", "confusion"})
    else:
        assert 0 <= figures["calibration_error"] <= 1


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(2, 5))
def test_the_two_figures_of_an_epoch_are_those_of_scikit_learn(seed, nodes, classes):
    probabilities, labels = votes(seed, nodes, classes)
    figures = classification_metrics(probabilities, labels)
    assert figures["accuracy"] == accuracy(probabilities, labels)
    assert figures["loss"] == pytest.approx(log_loss(probabilities, labels), rel=1e-9, abs=1e-12)


def test_figures_of_two_classes_are_those_of_scikit_learn():
    probabilities, labels = votes(3, 40, 2)
    figures = classification_metrics(probabilities, labels, positive=1)
    predicted, sure = probabilities.argmax(axis=1), np.minimum(probabilities[:, 1], 1)
    assert figures["roc_auc"] == sk.roc_auc_score(labels, sure)
    assert figures["average_precision"] == sk.average_precision_score(labels, sure)
    assert figures["balanced_accuracy"] == sk.balanced_accuracy_score(labels, predicted)
    assert figures["macro_f1"] == sk.f1_score(labels, predicted, average="macro")
    other = classification_metrics(probabilities, labels, positive=0)
    assert other["roc_auc"] == pytest.approx(sk.roc_auc_score(labels == 0, np.minimum(probabilities[:, 0], 1)))
    rarer = int(labels.sum() <= 20)
    assert classification_metrics(probabilities, labels)["positive"] == rarer


@pytest.mark.parametrize(("classes", "labels"), [(3, [0, 1, 2]), (2, [0, 0, 0])])
def test_the_figures_of_one_class_of_two_are_none_elsewhere(classes, labels):
    figures = classification_metrics(votes(0, 3, classes)[0], np.array(labels))
    assert figures["roc_auc"] is None
    assert figures["average_precision"] is None


def test_names_of_classes_go_with_the_confusion():
    figures = classification_metrics(*votes(0, 9, 3), class_names=("a", "b", "c"))
    assert figures["classes"] == ["a", "b", "c"]
