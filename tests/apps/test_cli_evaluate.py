import json

import pytest

from se_gnn.display.terminal import table
from se_gnn.display.text import width


def test_figures_are_those_of_the_training(run, model):
    result = run("evaluate", model, "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    metrics = json.loads((model / "facts.json").read_text())
    assert figures["test"] == metrics["test"]
    assert figures["validation"] == metrics["validation"]
    assert figures["validation"]["accuracy"] == metrics["validation"]["accuracy"]
    assert [row["class"] for row in figures["classes"]] == ["even", "odd, not even"]
    found = sum(row["recall"] * row["test"] for row in figures["classes"])
    assert found / figures["test"]["nodes"] == pytest.approx(figures["test"]["accuracy"])


def test_tables_fit_80_columns_and_name_every_class(run, model):
    result = run("evaluate", model)
    assert result.exit_code == 0, result.output
    assert "toy, preset best" in result.stdout
    for text in ("validation", "test", "precision@5", "even", "odd, not even", "recall"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_missing_model_is_named(run, tmp_path):
    result = run("evaluate", tmp_path / "nowhere")
    assert result.exit_code == 2
    assert result.stderr == f"error: model folder {tmp_path / 'nowhere'} does not exist\n"


def test_truncated_model_file_is_named(run, model):
    content = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(content[:100])
    result = run("evaluate", model)
    assert result.exit_code == 2
    assert "model.safetensors is truncated or was changed" in result.stderr


def test_tampered_settings_are_named(run, model):
    text = (model / "settings.json").read_text()
    (model / "settings.json").write_text(text.replace('"num_nearest": 3', '"num_nearest": 4'))
    result = run("evaluate", model)
    assert result.exit_code == 2
    assert "settings.json is truncated or was changed" in result.stderr


def test_newer_model_says_so(run, model):
    manifest = json.loads((model / "manifest.json").read_text())
    (model / "manifest.json").write_text(json.dumps({**manifest, "version": 2}))
    result = run("evaluate", model)
    assert result.exit_code == 2
    assert "was written by a newer version (2), this one reads up to 1" in result.stderr


def test_names_of_wide_characters_are_not_cut_where_there_is_room():
    shown = table(["class", "test"], [["京都大学", "3"], ["京阪大学", "12"]]).splitlines()
    assert [line.split()[0] for line in shown[2:]] == ["京都大学", "京阪大学"]
    assert len(set(map(width, shown))) == 1  # all lines end in one column
