"""The vote is chosen on comparisons that the model was not chosen by."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from se_gnn.ranking import ClassAnswers
from se_gnn.settings import Settings
from se_gnn.similarity import Similarities
from se_gnn.training import choice
from se_gnn.training.choice import (
    RESERVES,
    Votes,
    _tried,
    answered,
    folds_of,
    warn_of_lost_classes,
    warn_of_optimism,
    with_chosen_vote,
)
from strategies import random_graph

LABELED, CLASSES = 60, 3


def votes(seed: int = 0, count: int = 200, noise: float = 0.2, **given) -> Votes:
    """Validation nodes that are somewhat more similar to labeled nodes of their class."""
    generator = np.random.default_rng(seed)
    labels, classes = generator.integers(0, CLASSES, count), generator.integers(0, CLASSES, LABELED)
    drawn = 0.3 * (labels[:, None] == classes) + noise * generator.normal(size=(count, LABELED))
    similarities = Similarities(*(torch.from_numpy(drawn.astype("f4")) for _ in range(2)), 0.5)
    settings = Settings.of("best", **given).resolve()
    answers, names = ClassAnswers(torch.from_numpy(classes), CLASSES), _tried(settings, LABELED, 500)
    found = answered(similarities, answers, names)
    folds, claims = folds_of(labels), found.max(axis=2)
    return Votes(settings, similarities, similarities, answers, labels, folds, names, found, claims)


def test_tau_has_the_lowest_log_loss_of_its_vote():
    tried = votes()
    chosen, rows = tried.chosen(), np.ones(len(tried.labels), bool)

    def loss(tau: float) -> float:
        found = answered(tried.similarities, tried.answers, [(chosen.num_nearest, chosen.node_weight, tau)])
        return tried._losses(found, found.max(axis=2), rows)[0][0]

    best = loss(chosen.temperature)
    assert all(best <= loss(chosen.temperature * factor) + 1e-4 for factor in (0.5, 0.8, 1.25, 2))


def test_answers_that_are_all_right_leave_the_reserve_of_three_more_that_are_wrong():
    chosen = votes(noise=0.0).chosen()
    assert "200 of 200 validation nodes correct" in chosen.reason
    assert chosen.reserve >= 0.0148  # 3 / 202
    found = votes(noise=0.0).cross_fitted()
    assert found["accuracy"] == 1
    assert found["loss"] < 0.1


def test_no_claim_reaches_99_percent_however_many_answers_are_right():
    chosen = votes(noise=0.0, count=1000).chosen()
    assert "1000 of 1,000 validation nodes correct" in chosen.reason
    assert 1 - chosen.reserve * (1 - 1 / CLASSES) < 0.99


@pytest.mark.parametrize(
    ("labeled", "sizes"), [(15, [10, 15]), (60, [10, 20, 40, 60]), (300, [10, 20, 40, 100, 200, 300])]
)
def test_all_labeled_nodes_vote_if_they_are_few(labeled, sizes):
    assert sorted({size for size, _, _ in _tried(Settings.of("best").resolve(), labeled, 500)}) == sizes


@pytest.mark.parametrize(("validated", "low", "high"), [(20, 0.04, 0.14), (100, 0.007, 0.6), (400, 0.005, 2.0)])
def test_the_fewer_validation_nodes_the_closer_tau_stays_to_that_of_training(validated, low, high):
    settings = Settings.of("best").resolve().decided("recipe", {"temperature": 0.07})
    taus = [tau for _, _, tau in _tried(settings, 100, validated)]
    assert low == pytest.approx(min(taus), rel=0.25)
    assert high == pytest.approx(max(taus), rel=0.25)


def test_confident_errors_raise_the_reserve():
    tried = votes(noise=0.0)
    flipped = tried.labels.copy()
    flipped[:20] = (flipped[:20] + 1) % CLASSES
    honest = dataclasses.replace(tried, labels=flipped)
    assert honest.chosen().reserve in RESERVES
    assert honest.chosen().reserve > 0.05


def test_a_model_that_is_surer_than_those_of_the_folds_holds_more_in_reserve():
    tried = votes()
    surer = Similarities(tried.final.node * 2, tried.final.structure * 2, 0.5)
    claims = answered(surer, tried.answers, tried.names).max(axis=2)
    plain, chosen = tried.chosen(), dataclasses.replace(tried, final=surer, claims=claims).chosen()
    assert chosen.reserve > plain.reserve or chosen.temperature > plain.temperature


def test_k_and_lambda_have_the_lowest_log_loss_of_their_calibrated_votes():
    tried = votes(noise=0.5)
    rows = np.ones(len(tried.labels), bool)
    losses, log_losses, _ = tried._losses(tried.probabilities, tried.claims, rows)
    best, _ = tried._best(rows)
    calibrated = {}
    for i in np.argsort(losses, kind="stable").tolist():
        calibrated.setdefault(tried.names[i][:2], i)
    assert best in calibrated.values()
    assert log_losses[best] == min(log_losses[i] for i in calibrated.values())


def test_given_settings_are_not_varied():
    tried = votes(num_nearest=15, node_weight=0.3, reserve=0.25)
    chosen = tried.chosen()
    assert (chosen.num_nearest, chosen.node_weight, chosen.reserve) == (15, 0.3, 0.25)


def test_the_answers_of_a_fold_do_not_choose_the_vote_that_they_are_judged_by():
    tried = votes(noise=1.0)
    best, _ = tried._best(np.ones(len(tried.labels), bool))
    plain = (tried.probabilities[best].argmax(axis=1) == tried.labels).mean()
    assert tried.cross_fitted()["accuracy"] <= plain + 0.05


@pytest.mark.parametrize("best", [0.0, 0.2, 0.6, 0.8])
def test_the_attribute_share_with_the_lowest_loss_is_chosen(best, monkeypatch):
    asked = []

    def compared(graph, settings, model_of, max_memory):
        asked.append(settings.encoder.attribute_share)
        return votes(noise=0.1 + abs(asked[-1] - best))

    monkeypatch.setattr(Votes, "compared", compared)
    monkeypatch.setattr(choice, "_factors", lambda *_: None)
    graph = random_graph(3, num_nodes=200, num_labeled=60)
    model, _ = with_chosen_vote(
        graph, Settings.of("best").resolve(graph), lambda settings, fold: SimpleNamespace(settings=settings), None
    )
    assert asked == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert model.settings.encoder.attribute_share == best
    assert "lowest log loss on validation nodes" in model.settings.decisions[0].reason


def test_an_attribute_share_that_is_given_is_the_only_one_tried(monkeypatch):
    asked = []

    def compared(graph, settings, model_of, max_memory):
        asked.append(settings.encoder.attribute_share)
        return votes()

    monkeypatch.setattr(Votes, "compared", compared)
    monkeypatch.setattr(choice, "_factors", lambda *_: None)
    graph = random_graph(3, num_nodes=200, num_labeled=60)
    settings = Settings.of("best", attribute_share=0.35).resolve(graph)
    with_chosen_vote(graph, settings, lambda settings, fold: SimpleNamespace(settings=settings), None)
    assert asked == [0.35]


def test_a_ranking_chooses_its_vote_by_its_own_figure():
    generator = np.random.default_rng(1)
    labels, classes = generator.integers(0, 2, 300), generator.integers(0, 2, LABELED)
    drawn = 0.1 * (labels[:, None] == classes) + 0.3 * generator.normal(size=(300, LABELED))
    similarities = Similarities(*(torch.from_numpy(drawn.astype("f4")) for _ in range(2)), 0.5)
    settings = Settings.of("best", best_by="roc_auc").resolve()
    answers, names = ClassAnswers(torch.from_numpy(classes), 2), _tried(settings, LABELED, 500)
    found = answered(similarities, answers, names)
    folds, claims = folds_of(labels), found.max(axis=2)
    tried = Votes(settings, similarities, similarities, answers, labels, folds, names, found, claims)
    from sklearn.metrics import roc_auc_score

    best, _ = tried._best(np.ones(300, bool))
    figures = [roc_auc_score(labels, one[:, 1]) for one in found]
    assert figures[best] >= max(figures) - 0.002


def test_figures_that_are_too_good_and_classes_that_are_lost_are_not_passed_over():
    with pytest.warns(UserWarning, match="validation accuracy of 95.0% is optimistic: cross-fitted, it is 80.0%"):
        warn_of_optimism({"accuracy": 0.95}, {"accuracy": 0.8, "nodes": 400})
    graph = random_graph(0, num_classes=2)
    with pytest.warns(UserWarning, match="no validation node of these classes is predicted .* set best_by to balanced"):
        warn_of_lost_classes({"nodes": 120, "confusion": [[110, 0], [10, 0]]}, graph)
