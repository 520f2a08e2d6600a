from typing import get_args

import numpy as np
import pytest

from se_gnn.model.metrics import classification_metrics as score
from se_gnn.report.templating import page_environment
from se_gnn.settings import EncoderSettings
from se_gnn.settings.sections import Aggregation


def test_scores_by_hand():
    # F1 of class 0: precision 1/2, recall 1; of class 1: precision 1, recall 2/3
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], dtype=np.float32)
    found = score(probabilities, np.array([0, 1, 1, 1]))
    assert found["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert found["loss"] == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.7]).mean(), abs=1e-6)
    assert found["roc_auc"] == pytest.approx(1.0)
    assert found["average_precision"] == pytest.approx(1.0)
    assert found["positive"] == 0  # the rarer one


def test_ranking_is_scored_for_two_classes_that_both_occur():
    three = score(np.eye(3, dtype=np.float32), np.array([0, 1, 2]))
    assert three["roc_auc"] is three["average_precision"] is three["positive"] is None
    one = score(np.array([[0.9, 0.1]], np.float32), np.array([0]))
    assert one["roc_auc"] is None


def test_a_class_that_nobody_votes_for_has_a_finite_log_loss():
    assert score(np.array([[1, 0]], np.float32), np.array([1]))["loss"] == pytest.approx(-np.log(1e-8), rel=1e-3)


def test_without_nodes_there_are_no_scores():
    assert score(np.zeros((0, 3), np.float32), np.zeros(0, np.int64))["macro_f1"] is None


@pytest.mark.parametrize("aggregation", get_args(Aggregation))
def test_every_encoder_has_words_on_the_card(aggregation):
    facts = page_environment().get_template("facts.html").module
    assert facts.layer(EncoderSettings(aggregation=aggregation, num_layers=2))
