"""The search for settings of SE-GNN: blind to the test nodes, kept as it goes, never the same thing twice."""

from __future__ import annotations

import dataclasses
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from reproduce import search
from se_gnn.config import Config
from strategies import random_graph


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """What was trained; one process, a made-up accuracy."""
    trained = []

    def made_up(dataset, preset, settings, seed, device):
        trained.append((tuple(settings), seed))
        return 0.5 + 0.1 * ("num_layers=3" in settings[-1]) + 0.01 * seed

    monkeypatch.setattr(search, "SEARCHES", tmp_path)
    monkeypatch.setattr(search, "val_accuracy", made_up)
    monkeypatch.setattr(search, "ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(jobs))
    return trained


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["search.py", "cora", "authors", *arguments])
    search.main()


def test_every_combination_is_kept_best_first(asked, tmp_path, monkeypatch):
    run(monkeypatch, "training.epochs=1,2", "encoder.num_layers=2,3", "--seeds", "2")
    rows = json.loads((tmp_path / "cora.json").read_text(encoding="utf-8"))
    assert len(rows) == 4
    assert len(asked) == 8
    assert [row["settings"][-1][-1] for row in rows] == ["3", "3", "2", "2"]
    assert rows[0]["val_accuracy"] == {"0": 0.6, "1": 0.61}


def test_what_was_tried_is_not_tried_again_whatever_the_order(asked, monkeypatch):
    run(monkeypatch, "training.epochs=1", "encoder.num_layers=2", "--seeds", "1")
    run(monkeypatch, "encoder.num_layers=2", "training.epochs=1", "--seeds", "2")
    assert [seed for _, seed in asked] == [0, 1]


def test_keys_joined_by_plus_move_together():
    assert search.combinations(["a.x=1,2", "b.y+b.z=3"]) == [["a.x=1", "b.y=3", "b.z=3"], ["a.x=2", "b.y=3", "b.z=3"]]


def test_test_nodes_are_hidden_from_training(monkeypatch):
    graph = random_graph(seed=0)
    seen = []
    monkeypatch.setattr(search, "load_dataset", lambda dataset, seed: graph)
    monkeypatch.setattr(search, "train", lambda graph, config, **how: seen.append((graph, config)) or _Trained)
    assert search.val_accuracy("cora", "authors", ["training.epochs=3"], 0, "cpu") == 0.75
    assert len(graph.test)
    assert not len(seen[0][0].test)
    assert seen[0][1] == Config.preset("authors", dataset="cora").override(["training.epochs=3"])


class _Trained:
    metrics = {"val_accuracy": 0.75}  # noqa: RUF012


@pytest.mark.parametrize("path", sorted(search.SEARCHES.glob("*.json")), ids=lambda path: path.stem)
def test_the_best_preset_is_the_best_of_the_committed_search(path):
    rows = [row for row in json.loads(path.read_text(encoding="utf-8")) if len(row["val_accuracy"]) >= 5]
    chosen = max(rows, key=lambda row: sum(row["val_accuracy"].values()) / len(row["val_accuracy"]))
    config = Config.preset(chosen["preset"], dataset=path.stem).override(chosen["settings"])
    assert dataclasses.replace(config, preset_name="best") == Config.preset("best", dataset=path.stem)
