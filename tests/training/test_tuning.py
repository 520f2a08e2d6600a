"""Claims about the search for settings."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from se_gnn.errors import InputError
from se_gnn.settings import Settings
from se_gnn.settings.presets import RECIPES
from se_gnn.settings.reading import asked_settings
from se_gnn.settings.unread import unread
from se_gnn.training.tuning import ABOUT, BEST, SPACE, TRIALS, Trial, Tuning, parse_budget
from strategies import random_graph

pytest.importorskip("optuna")
GRAPH = random_graph(3, num_nodes=50, num_edges=90, num_labeled=12)
ASKED = Settings.of("best", epochs=3)


def search(folder, graph=GRAPH, seed=0, asked=ASKED):
    return Tuning(graph, asked, folder, seed=seed, device=torch.device("cpu"))


def test_best_settings_are_those_of_the_best_trial_and_load_as_a_file(tmp_path):
    tuning = search(tmp_path)
    ranking = tuning.run(600, max_trials=3)
    assert len(ranking) == 3
    assert ranking[0] == tuning.best()
    asked = asked_settings(None, tmp_path / BEST, [])
    assert {name: one.value for name, one in asked.given.items()} == {
        name: one.value for name, one in tuning.best_settings().given.items()
    }
    resolved = asked.resolve(GRAPH)
    assert resolved.training.learning_rate == ranking[0].settings["learning_rate"]
    assert not resolved.selection.portfolio
    assert resolved.selection.choose_vote
    assert not resolved.is_given("num_nearest")
    assert resolved.encoder.members == 5
    assert (tmp_path / BEST).read_text().startswith("# trial ")


def test_the_best_trial_is_trained_with_the_settings_that_were_tried(tmp_path):
    tuning = search(tmp_path)
    tuning.run(600, max_trials=len(RECIPES) + 1)
    tried, trained = tuning._settings(tuning.best().settings), tuning.best_settings().resolve(GRAPH)
    useless = unread(tried, GRAPH)
    differs = {
        name for name, value in tried.values().items() if trained.values()[name] != value and name not in useless
    }
    assert differs == {"portfolio"}


def test_the_first_trials_are_the_recipes_as_they_are_and_run_to_the_end(tmp_path):
    tuning = search(tmp_path)
    tuning.run(600, max_trials=2)
    search(tmp_path).run(600, max_trials=len(RECIPES))  # interrupted in between
    trials = search(tmp_path).trials
    assert [trial.settings["recipe"] for trial in trials] == list(RECIPES)
    for trial, recipe in zip(trials, tuning.recipes.values()):
        assert tuning._settings(trial.settings).values() == recipe.values()
        assert (trial.ended, trial.epochs) == (False, 3)


@pytest.mark.parametrize(
    ("figures", "best"),
    [
        ([0.80, 0.81, 0.79], 0),  # not better by half a standard error
        ([0.80, 0.95, 0.96], 1),
        ([0.80, 1.0, 1.0], 1),  # both always right: the first
    ],
)
def test_a_later_trial_must_be_clearly_better(tmp_path, figures, best):
    tuning = search(tmp_path)
    tuning.trials = [Trial(i, {}, value, 1 - i / 10, 3, False, 1.0) for i, value in enumerate(figures)]
    assert tuning.best().number == best
    assert tuning.ranking()[0].number == best


def test_what_the_user_set_holds_in_every_trial(tmp_path):
    tuning = search(tmp_path, asked=ASKED.changed(learning_rate=0.5, teleport=0.33, num_nearest=12))
    trials = tuning.run(600, max_trials=len(RECIPES) + 2)
    for trial in trials:
        assert "learning_rate" not in trial.settings
        tried = tuning._settings(trial.settings)
        assert (tried.training.learning_rate, tried.encoder.teleport, tried.vote.num_nearest) == (0.5, 0.33, 12)
    best = tuning.best_settings().resolve(GRAPH)
    assert (best.training.learning_rate, best.vote.num_nearest) == (0.5, 12)


def test_a_setting_that_equals_the_default_is_not_searched_if_it_was_given(tmp_path):
    usual = Settings.of("best").resolve().values()
    tuning = search(tmp_path, asked=ASKED.changed(**{name: usual[name] for name in SPACE}))
    assert tuning.space == {}
    given = {one.values()[name] for one in tuning.recipes.values() for name in ("hidden_size", "temperature")}
    assert given == {128, 0.05}


def test_a_search_of_the_papers_objective_is_refused(tmp_path):
    with pytest.raises(InputError, match="objective must be 'vote'"):
        search(tmp_path, asked=ASKED.changed(objective="paper", portfolio=False))


def test_interrupted_search_goes_on_with_what_it_knew(tmp_path):
    search(tmp_path).run(600, max_trials=2)
    again = search(tmp_path)
    assert len(again.trials) == 2
    assert len(again.study.trials) == 2
    again.run(600, max_trials=3)
    assert len((tmp_path / TRIALS).read_text().splitlines()) == 3


def test_search_of_other_data_is_refused(tmp_path):
    search(tmp_path).run(600, max_trials=1)
    with pytest.raises(InputError, match="holds a search with other data, settings or seed"):
        search(tmp_path, seed=1)


def test_labels_of_test_nodes_change_nothing(tmp_path):
    labels = GRAPH.labels.copy()
    labels[GRAPH.test] = np.random.default_rng(0).permutation(labels[GRAPH.test])
    scrambled = random_graph(3, num_nodes=50, num_edges=90, num_labeled=12, labels=labels)
    one = search(tmp_path / "one").run(600, max_trials=2)
    other = search(tmp_path / "other", graph=scrambled).run(600, max_trials=2)
    assert [(t.settings, t.value) for t in one] == [(t.settings, t.value) for t in other]


def test_graph_without_validation_nodes_is_refused(tmp_path):
    graph = random_graph(3, num_nodes=50, num_edges=90, num_labeled=12, validation=np.empty(0, np.int64))
    with pytest.raises(InputError, match="chooses on validation nodes"):
        search(tmp_path, graph=graph)


@pytest.mark.parametrize("content", [b"[1]\n", b'{"number": 1}\n', b"nonsense\n"])
def test_damaged_file_of_trials_is_refused(tmp_path, content):
    search(tmp_path).run(600, max_trials=1)
    (tmp_path / TRIALS).write_bytes(content)
    with pytest.raises(InputError):
        search(tmp_path)
    assert (tmp_path / ABOUT).exists()


@pytest.mark.parametrize("text", ["", "10", "-5m", "0s", "1d", "m", "1e3s"])
def test_bad_budget_is_an_error(text):
    with pytest.raises(InputError, match="budget must be a time"):
        parse_budget(text)


def test_every_searched_name_is_a_setting_of_the_vote():
    Settings.of("best", **{name: values[0] for name, values in SPACE.items()}).resolve()
