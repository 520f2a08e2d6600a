"""Curves by their lines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.plot import training_figure
from se_gnn.plot.style import figure_bytes

RECORDS = [
    {"epoch": i, "loss": 2.0 - i / 2, "class_loss": 1.5 - i / 2, "node_loss": 0.5, "edge_loss": 0.0,
     "val_accuracy": accuracy, "val_loss": 1.0 - i / 10, "seconds": 0.1}
    for i, accuracy in enumerate([0.5, 0.8, 0.8, 0.7])
]  # fmt: skip


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_the_losses_that_were_computed_have_a_curve_each():
    losses, _ = training_figure(RECORDS).axes
    found = lines(losses)
    assert set(found) == {"all", "classification", "node contrast"}
    np.testing.assert_allclose(found["all"].get_ydata(), [2.0, 1.5, 1.0, 0.5])
    assert len({line.get_linestyle() for line in found.values()}) == 3


def test_the_best_epoch_is_marked_and_ties_go_by_the_validation_loss():
    _, accuracy = training_figure(RECORDS).axes
    np.testing.assert_allclose(accuracy.get_lines()[0].get_ydata(), [50, 80, 80, 70])
    assert "best: epoch 2, 80.0%" in lines(accuracy)


def test_a_training_without_validation_nodes_has_no_best_epoch():
    without = [{**record, "val_accuracy": None, "val_loss": None} for record in RECORDS]
    _, accuracy = training_figure(without).axes
    assert len(accuracy.get_lines()) == 1


def test_curves_are_read_from_a_model_folder(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    for source in (tmp_path, str(tmp_path / "metrics.jsonl")):
        assert figure_bytes(training_figure(source), "svg") == figure_bytes(training_figure(RECORDS), "svg")


@pytest.mark.parametrize(
    ("content", "text"), [(None, "is missing"), ("{", "a record per epoch"), ("", "at least one epoch")]
)
def test_a_folder_without_epochs_is_an_error(tmp_path, content, text):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    with pytest.raises(InputError, match=text):
        training_figure(tmp_path)
