"""Trained again without a label, a model says of its node what it would say whatever the label were."""

from __future__ import annotations

import numpy as np
import pytest

from labels.conftest import blocks
from se_gnn import SEGNNClassifier, SEGNNRegressor
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.labels import audit, retrained
from se_gnn.labels.retrained import retrained_numbers, retrained_votes
from se_gnn.training import TrainingRun
from strategies import changed, small_settings, untrained

EPOCHS = 3


def graph_of(num_labeled: int = 24, *, num_validation: int = 30, wrong: int = 0) -> Graph:
    features, edges, labels = blocks(120, seed=1)
    labels[:wrong] = (labels[:wrong] + 1) % 3
    return Graph.build(
        features=features, edges=edges, labels=labels, train=np.arange(num_labeled),
        validation=np.arange(num_labeled, num_labeled + num_validation), test=np.arange(90, 120),
    )  # fmt: skip


def model_of(graph: Graph, **given):
    return untrained(graph, small_settings(epochs=EPOCHS, **given), seed=0)


@pytest.fixture
def fixed_folds(monkeypatch):
    """Folds that do not depend on the labels."""
    monkeypatch.setattr(retrained, "folds_of", lambda labels: np.arange(len(labels)) % 5)


@pytest.mark.usefixtures("fixed_folds")
def test_a_label_changes_nothing_that_is_said_of_its_own_node():
    graph = graph_of()
    labels = graph.labels.copy()
    labels[3] = (labels[3] + 1) % 3
    before, after = (retrained_votes(model_of(one), seed=2) for one in (graph, changed(graph, labels=labels)))
    np.testing.assert_array_equal(before[3], after[3])
    assert not np.array_equal(before, after)


def test_every_answer_is_a_distribution_and_the_same_again():
    one, other = (retrained_votes(model_of(graph_of()), seed=2) for _ in range(2))
    assert one.shape == (54, 3)
    np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(one, other)


def test_an_interrupted_retraining_resumes_with_the_same_bits(tmp_path, monkeypatch):
    trained = model_of(graph_of())
    whole = retrained_votes(trained, seed=2)
    step, steps = TrainingRun.step, []

    def interrupted(run):
        steps.append(run.epoch)
        if len(steps) == 3 * EPOCHS:
            raise KeyboardInterrupt
        return step(run)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingRun, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            retrained_votes(trained, seed=2, folder=tmp_path)
    again = []
    monkeypatch.setattr(TrainingRun, "step", lambda run: again.append(run.epoch) or step(run))
    np.testing.assert_array_equal(retrained_votes(trained, seed=2, folder=tmp_path), whole)
    assert len(again) <= 3 * EPOCHS  # two folds were finished


def test_checkpoints_of_other_labels_are_not_read(tmp_path):
    retrained_votes(model_of(graph_of()), seed=2, folder=tmp_path)
    other = model_of(graph_of(wrong=3))
    np.testing.assert_array_equal(retrained_votes(other, seed=2, folder=tmp_path), retrained_votes(other, seed=2))


def test_a_model_that_would_defend_its_labels_finds_wrong_ones_after_retraining():
    graph = graph_of(30, wrong=3)
    estimator = SEGNNClassifier(preset="best", members=1, epochs=60, settings={"portfolio": False}, device="cpu")
    found = estimator.fit(graph).audit(num_orders=1, retrain=True)
    assert len(set(found.order[:4].tolist()) & {0, 1, 2}) >= 2


def test_without_validation_nodes_the_votes_of_retrained_models_are_a_witness_as_well():
    trained = model_of(graph_of(num_validation=0))
    alone = audit(trained, num_orders=1).suspicion
    helped = audit(trained, num_orders=1, retrained=retrained_votes(trained)).suspicion
    assert alone.vote_share == helped.vote_share == 0
    assert not np.array_equal(alone.score, helped.score)
    assert helped.rehearsal is None


def test_a_chosen_number_of_cases_is_lowered_to_those_that_a_fold_leaves():
    graph = graph_of()
    chosen = model_of(graph).settings.decided("validation", {"num_nearest": len(graph.train)})
    votes = retrained_votes(untrained(graph, chosen, seed=0))
    assert np.isfinite(votes).all()


def test_a_given_number_of_cases_is_never_lowered_and_refused_before_anything_is_trained(monkeypatch):
    monkeypatch.setattr(TrainingRun, "step", None)
    rule = "num_nearest must be between 1 and the 18 labeled nodes that retrain leaves to train on, got 24"
    with pytest.raises(InputError, match=f"^{rule}: train with a smaller num_nearest, or audit without retrain$"):
        retrained_votes(model_of(graph_of(), num_nearest=24))


def test_a_class_with_one_label_is_never_voted_for_by_the_model_without_it():
    graph = graph_of()
    labels = np.where(graph.labels == 2, 0, graph.labels)
    labels[5] = 2
    votes = retrained_votes(model_of(changed(graph, labels=labels)))
    assert votes[5].argmax() != 2


def test_numbers_are_predicted_by_models_without_them():
    features, edges, _ = blocks(120, seed=1)
    model = SEGNNRegressor(members=1, epochs=20, settings={"portfolio": False}, device="cpu")
    graph = Graph.build(
        features=features, edges=edges, values=features.sum(axis=1), value_name="sum", train=np.arange(30),
        validation=np.arange(30, 60), test=np.arange(60, 120),
    )  # fmt: skip
    model.fit(graph)
    values, spread = retrained_numbers(model.trained_, seed=model.seed)
    found = model.audit(retrain=True)
    np.testing.assert_array_equal(found.predicted, values)
    assert (spread >= 0).all()
    assert not np.array_equal(found.predicted, model.audit().predicted)


def test_progress_says_how_long_all_folds_take(capsys):
    retrained_votes(model_of(graph_of()), progress=True)
    assert "estimate  about" in capsys.readouterr().err


def test_classes_with_one_label_each_are_refused():
    graph = graph_of()
    with pytest.raises(InputError, match="at least 2 classes need at least 2 labeled nodes each"):
        retrained_votes(model_of(graph.with_split(train=[0, int(np.flatnonzero(graph.labels != graph.labels[0])[0])])))
