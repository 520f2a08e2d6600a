"""Claims about the search for settings."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from se_gnn.config import Config
from se_gnn.errors import InputError
from se_gnn.training.tuning import ABOUT, BEST, SPACE, TRIALS, Tuning, parse_budget
from strategies import random_graph

pytest.importorskip("optuna")
GRAPH = random_graph(3, num_nodes=50, num_edges=90, num_labeled=12)
BASE = Config.preset("best").with_settings(epochs=3)


def search(folder, graph=GRAPH, seed=0, base=BASE):
    return Tuning(graph, base, folder, seed=seed, device=torch.device("cpu"))


def test_best_settings_are_those_of_the_best_trial_and_load_as_a_config(tmp_path):
    tuning = search(tmp_path)
    ranking = tuning.run(600, max_trials=3)
    assert len(ranking) == 3
    assert ranking[0].value == max(trial.value for trial in tuning.trials)
    config = Config.from_toml(tmp_path / BEST)
    assert config.training.learning_rate == ranking[0].settings["learning_rate"]
    assert not config.training.portfolio
    assert config.training.choose_vote
    assert config.encoder.members == 5
    assert (tmp_path / BEST).read_text().startswith("# settings of trial")


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
    graph = random_graph(3, num_nodes=50, num_edges=90, num_labeled=12, val=np.empty(0, np.int64))
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


def test_every_searched_name_is_a_setting():
    Config.preset("best").with_settings(**{name: values[0] for name, values in SPACE.items()})
