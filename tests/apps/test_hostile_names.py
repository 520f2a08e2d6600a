"""Names from data never steer a terminal."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e"
QUICK = ("--set", "epochs=1", "--set", "hidden_size=4", "--set", "num_nearest=3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile")
    names = [f"{HOSTILE}{i}" for i in range(30)]
    columns = {f"x{HOSTILE}": np.random.default_rng(0).normal(size=30).round(3), f"same{HOSTILE}": 1.5}
    nodes = pd.DataFrame({"id": names, **columns, "label": [f"a{HOSTILE}", f"b{HOSTILE}"] * 15})
    nodes.to_csv(path / "nodes.csv", index=False)
    pd.DataFrame({"source": names, "target": np.roll(names, 1)}).to_csv(path / "edges.csv", index=False)
    return path


def harmless(result):
    assert result.exit_code == 0, result.output
    steering = [c for c in result.output if (ord(c) < 32 and c not in "\n\t\r") or 127 <= ord(c) < 160 or c == "\u202e"]
    assert not steering
    return result


def test_every_command_shows_control_characters_and_obeys_none(run, folder):
    tables = ("--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv", "--id", "id", "--label", "label")
    shown = harmless(run("import", *tables, "--column", "id=caption", "--out", folder / "graph"))
    assert "a\\u001b]0;owned" in shown.output
    summary = harmless(run("import", *tables, "--out", folder / "again", "--json"))
    assert json.loads(summary.output)["classes"] == {f"a{HOSTILE}": 15, f"b{HOSTILE}": 15}
    harmless(run("train", folder / "graph", "--out", folder / "model", *QUICK))
    harmless(run("evaluate", folder / "model"))
    explained = harmless(run("explain", folder / "model", "--node", f"{HOSTILE}3"))
    assert "\\u001b]0;owned\\u00073" in explained.output.replace("\\u009b31m\\u202e", "").replace("\n", "")
    as_json = harmless(run("explain", folder / "model", "--node", f"{HOSTILE}3", "--json"))
    assert json.loads(as_json.output)["query"]["name"] == f"{HOSTILE}3"


def test_an_error_shows_them_too(run, folder):
    result = run("explain", folder / f"{HOSTILE}", "--node", "1")
    assert result.exit_code == 2
    assert "\x1b" not in result.output
