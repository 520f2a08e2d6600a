"""The search for settings: it is blind to the test nodes, goes on where it stopped, and is what `tuned.json` says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from se_gnn.baselines import tuned

ROOT = Path(__file__).resolve().parents[2]
SEARCHES = sorted((ROOT / "reproduce" / "searches").glob("*.json"))


@pytest.fixture
def search(tmp_path, monkeypatch, two_groups):
    """The command in a folder of its own, on a small graph; counts what it fits."""
    spec = importlib.util.spec_from_file_location("search_baselines", ROOT / "reproduce" / "search_baselines.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "GRIDS", tmp_path / "grids.toml")
    monkeypatch.setattr(module, "load_dataset", lambda name, seed: two_groups)
    monkeypatch.setattr(tuned, "FILE", tmp_path / "tuned.json")
    (tmp_path / "tuned.json").write_text("{}", encoding="utf-8")
    module.GRIDS.write_text(
        "[mlp-k]\nepochs = [3]\nhidden_size = [2, 4]\nvote.num_nearest = [1, 3, 5]\n", encoding="utf-8"
    )
    module.fitted_on = []
    real = module.baseline

    def counted(name, **settings):
        made = real(name, **settings)
        fit = made.fit
        made.fit = lambda graph, **how: module.fitted_on.append(graph) or fit(graph, **how)
        return made

    monkeypatch.setattr(module, "baseline", counted)
    return module


def test_every_combination_is_tried_without_test_nodes_and_the_best_is_kept(search, tmp_path):
    search.search("mlp-k", "groups", seeds=2)
    result = json.loads((tmp_path / "searches" / "mlp-k-groups.json").read_text(encoding="utf-8"))
    assert len(result["tried"]) == 6
    assert len(search.fitted_on) == 4  # the vote needs no training of its own
    assert all(len(graph.test) == 0 for graph in search.fitted_on)
    means = [np.mean(row["val_accuracy"]) for row in result["tried"]]
    assert result["chosen"] == result["tried"][int(np.argmax(means))]["settings"]
    assert json.loads(tuned.FILE.read_text(encoding="utf-8")) == {"mlp-k": {"groups": result["chosen"]}}


def test_what_was_tried_is_not_tried_again(search, tmp_path):
    search.search("mlp-k", "groups", seeds=1)
    path = tmp_path / "searches" / "mlp-k-groups.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    part = {**whole, "tried": whole["tried"][:3]}
    path.write_text(json.dumps(part), encoding="utf-8")
    search.fitted_on.clear()
    search.search("mlp-k", "groups", seeds=1)
    assert len(search.fitted_on) == 1
    assert json.loads(path.read_text(encoding="utf-8")) == whole


@pytest.mark.parametrize("path", SEARCHES, ids=lambda path: path.stem)
def test_committed_settings_are_the_best_of_the_committed_search(path):
    result = json.loads(path.read_text(encoding="utf-8"))
    best = max(result["tried"], key=lambda row: np.mean(row["val_accuracy"]))
    name, dataset = path.stem.rsplit("-", 1)
    chosen = json.loads(tuned.FILE.read_text(encoding="utf-8"))[name][dataset]
    assert chosen == result["chosen"] == best["settings"]
