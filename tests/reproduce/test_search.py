"""The search for settings of SE-GNN: blind to the test nodes, kept as it goes, never the same thing twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from reproduce import search
from reproduce.tried import Searches
from se_gnn.model import RunFacts
from se_gnn.settings import Given, Settings
from strategies import random_graph


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """What was trained; one process, a made-up accuracy."""
    trained = []

    def made_up(dataset, settings, seed, device):
        trained.append((settings, seed))
        return 0.5 + 0.1 * (settings["num_layers"] == "3") + 0.01 * seed

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(search, "val_accuracy", made_up)
    monkeypatch.setattr(search, "ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(jobs))
    return trained


def run(*arguments):
    assert search.main(["cora", "authors", *arguments, "--trial"]) == 0


def test_every_combination_is_kept_and_printed_best_first(asked, tmp_path, capsys):
    run("epochs=1,2", "num_layers=2,3", "--seeds", "2")
    tried = Searches("se-gnn", tmp_path / "build/trial").best_first("cora")
    assert len(tried) == 4
    assert len(asked) == 8
    assert [one.settings["num_layers"] for one in tried] == ["3", "3", "2", "2"]
    assert tried[0].val_accuracy == {0: 0.6, 1: 0.61}
    assert capsys.readouterr().out.startswith("0.6050  2 seeds  ")


def test_what_was_tried_is_not_tried_again_whatever_the_order(asked):
    run("epochs=1", "num_layers=2", "--seeds", "1")
    run("num_layers=2", "epochs=1", "--seeds", "2")
    assert [seed for _, seed in asked] == [0, 1]


def test_keys_joined_by_plus_move_together():
    assert search.combinations(["x=1,2", "y+z=3"]) == [{"x": "1", "y": "3", "z": "3"}, {"x": "2", "y": "3", "z": "3"}]


def test_test_nodes_are_hidden_from_training(monkeypatch):
    graph = random_graph(seed=0)
    seen = []
    monkeypatch.setattr(search, "load_dataset", lambda dataset, seed: graph)
    monkeypatch.setattr(search, "fit", lambda graph, asked, **how: seen.append((graph, asked)) or _Trained)
    assert search.val_accuracy("cora", {"preset": "authors", "epochs": "3"}, 0, "cpu") == 0.75
    assert len(graph.test)
    assert not len(seen[0][0].test)
    assert seen[0][1] == Settings("authors", {"epochs": Given(3, "command line")})


class _Trained:
    facts = RunFacts(validation={"accuracy": 0.75})
