"""The search for settings: it is blind to the test nodes, goes on where it stopped, and is what `tuned.json` says."""

from __future__ import annotations

import json

import pytest

from lab.baselines import tuned
from reproduce import search_baselines
from reproduce.json_lines import read_rows, write_rows
from reproduce.runner import Making
from reproduce.tried import Searches

MAKING = Making("python -m reproduce.search_baselines mlp-k groups", "abc", "cpu")


@pytest.fixture
def fitted_on(tmp_path, monkeypatch, two_groups):
    """The command on a small graph and a small grid; the graphs on which something was fitted."""
    grids = tmp_path / "grids.toml"
    grids.write_text("[mlp-k]\nepochs = [3]\nhidden_size = [2, 4]\nvote.num_nearest = [1, 3, 5]\n", encoding="utf-8")
    monkeypatch.setattr(search_baselines, "GRIDS", grids)
    monkeypatch.setattr(search_baselines, "load_dataset", lambda name, seed: two_groups)
    graphs, real = [], search_baselines.baseline

    def counted(name, **settings):
        made = real(name, **settings)
        fit = made.fit
        made.fit = lambda graph, **how: graphs.append(graph) or fit(graph, **how)
        return made

    monkeypatch.setattr(search_baselines, "baseline", counted)
    return graphs


def test_every_combination_is_tried_without_test_nodes_and_the_best_is_chosen(fitted_on, tmp_path):
    search_baselines.search(Searches("mlp-k", tmp_path), "groups", 2, MAKING)
    tried = Searches("mlp-k", tmp_path).of("groups")
    assert len(tried) == 6
    assert len(fitted_on) == 4  # the vote needs no training of its own
    assert all(len(graph.test) == 0 for graph in fitted_on)
    best = max(tried, key=lambda one: one.mean)
    assert search_baselines.chosen(tmp_path) == {"mlp-k": {"groups": best.settings}}


def test_what_was_tried_is_not_tried_again(fitted_on, tmp_path):
    search_baselines.search(Searches("mlp-k", tmp_path), "groups", 1, MAKING)
    path = tmp_path / "mlp-k.jsonl"
    whole = read_rows(path)
    write_rows(path, whole[:3])
    fitted_on.clear()
    search_baselines.search(Searches("mlp-k", tmp_path), "groups", 1, MAKING)
    assert len(fitted_on) == 1
    assert [(row["settings"], row["val_accuracy"]) for row in read_rows(path)] == [
        (row["settings"], row["val_accuracy"]) for row in whole
    ]


def test_combinations_come_in_the_order_of_the_grid():
    assert search_baselines.in_order({"b": [2, 1], "a": ["x", "y"]}) == [
        {"b": 2, "a": "x"},
        {"b": 2, "a": "y"},
        {"b": 1, "a": "x"},
        {"b": 1, "a": "y"},
    ]


def test_committed_settings_are_the_best_of_the_committed_searches():
    assert search_baselines.chosen() == json.loads(tuned.FILE.read_text(encoding="utf-8"))
