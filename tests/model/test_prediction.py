"""Figures of a prediction by hand."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.model import Prediction
from se_gnn.model.prediction import log_loss

LABELS = np.array([0, 1, 0, 1, 0, 1])


def prediction(probabilities, cases, nodes):
    empty = np.zeros_like(cases, dtype=np.float32)
    return Prediction(
        nodes=np.array(nodes, dtype=np.int64), probabilities=np.array(probabilities, np.float32).reshape(-1, 2),
        cases=np.array(cases, dtype=np.int64), weights=empty, overall=empty, node=empty, structure=empty,
    )  # fmt: skip


def test_the_class_is_the_most_likely_one_and_the_lowest_of_equals():
    found = prediction([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]], [[0], [0], [0]], [3, 4, 5])
    assert found.classes.tolist() == [1, 0, 0]
    assert found.accuracy(LABELS) == pytest.approx(2 / 3)


def test_the_loss_is_the_mean_negative_log_likelihood():
    found = prediction([[0.2, 0.8], [0.9, 0.1]], [[0], [0]], [3, 4])
    assert log_loss(found.probabilities, LABELS[found.nodes]) == pytest.approx(
        -(np.log(0.8) + np.log(0.9)) / 2, abs=1e-6
    )


def test_the_loss_is_finite_where_nobody_votes_for_the_class():
    assert log_loss(np.array([[1.0, 0.0]]), LABELS[[3]]) == pytest.approx(-np.log(1e-8))


def test_precision_counts_the_nearest_with_the_label_of_the_node():
    found = prediction([[1.0, 0.0], [1.0, 0.0]], [[0, 1, 2], [1, 0, 2]], [4, 5])
    assert found.precision_at(1, LABELS) == 1.0
    assert found.precision_at(2, LABELS) == 0.5
    assert found.precision_at(3, LABELS) == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found.precision_at(9, LABELS) == found.precision_at(3, LABELS)  # K are there


def test_without_nodes_there_is_no_figure():
    found = prediction(np.zeros((0, 2)), np.zeros((0, 3)), [])
    for figure in (found.accuracy(LABELS), log_loss(found.probabilities, LABELS[:0]), found.precision_at(5, LABELS)):
        assert np.isnan(figure)
