"""Chosen settings: they are valid, and a data set that has none of its own takes over those of its kin."""

from __future__ import annotations

import json

import pytest

from lab.baselines import baseline
from lab.baselines import tuned as module
from lab.baselines.tuned import tuned

CHOSEN = json.loads(module.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "dataset"), [(name, dataset) for name in CHOSEN for dataset in CHOSEN[name]])
def test_what_was_chosen_is_known_to_the_baseline(name, dataset):
    settings = tuned(name, dataset).settings
    assert settings == baseline(name, **CHOSEN[name][dataset]).settings


@pytest.mark.parametrize(
    ("dataset", "width"),
    [("cora", 3), ("syn-cora-authors", 3), ("cora-metattack-0.25", 3), ("citeseer-metattack-0.05", 5), ("digits", 16)],
)
def test_kin_share_their_settings(tmp_path, monkeypatch, dataset, width):
    chosen = {"gcn": {"cora": {"hidden_size": 3}, "citeseer": {"hidden_size": 5}}}
    monkeypatch.setattr(module, "FILE", tmp_path / "tuned.json")
    module.FILE.write_text(json.dumps(chosen), encoding="utf-8")
    assert tuned("gcn", dataset).settings.hidden_size == width
    assert tuned("gcn", dataset, hidden_size=7).settings.hidden_size == 7
