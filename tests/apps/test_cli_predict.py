import csv
import errno
import importlib
import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

from se_gnn.model.folder import load_model


@pytest.fixture
def expected(model):
    return load_model(model).predict()


def refused(result, text):
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert text in result.stderr


def test_csv_has_a_row_a_node_with_class_probabilities_and_votes(run, model, expected, tmp_path):
    result = run("predict", model, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"Wrote the predictions of 24 nodes to {tmp_path / 'p.csv'}.\n"
    with (tmp_path / "p.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert list(rows[0])[:6] == [
        "node",
        "class",
        "probability_even",
        "probability_odd, not even",
        "nearest_1",
        "label_1",
    ]
    assert rows[23]["node"] == "alone, far away"
    written = np.array([[float(row["probability_even"]), float(row["probability_odd, not even"])] for row in rows])
    assert np.array_equal(written.astype(np.float32), np.minimum(expected.probabilities, 1))
    weights = np.array([[float(row[f"weight_{k}"]) for k in (1, 2, 3)] for row in rows], dtype=np.float32)
    assert np.array_equal(weights, expected.weights)
    names = load_model(model).graph.node_names
    assert [row["nearest_1"] for row in rows] == [names[node] for node in expected.cases[:, 0]]


def test_json_lines_hold_the_votes_as_objects_that_add_up(run, model, tmp_path):
    assert run("predict", model, "--out", tmp_path / "p.jsonl", "--quiet").output == ""
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    for row in rows:
        assert set(row) == {"node", "class", "probabilities", "nearest"}
        assert row["class"] == max(row["probabilities"], key=row["probabilities"].get)
        for name, probability in row["probabilities"].items():
            votes = sum(vote["weight"] for vote in row["nearest"] if vote["label"] == name)
            assert votes == pytest.approx(probability, abs=1e-6)


def test_parquet_holds_the_same_as_json_lines(run, model, tmp_path):
    for name in ("p.jsonl", "p.parquet"):
        assert run("predict", model, "--out", tmp_path / name).exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    rows = pq.read_table(tmp_path / "p.parquet").to_pylist()
    for row, line in zip(rows, lines, strict=True):
        assert (row["node"], row["class"]) == (line["node"], line["class"])
        assert row["probability_even"] == np.float32(line["probabilities"]["even"])
        assert [vote["node"] for vote in row["nearest"]] == [vote["node"] for vote in line["nearest"]]
        assert [vote["weight"] for vote in row["nearest"]] == [np.float32(vote["weight"]) for vote in line["nearest"]]


def test_a_labeled_node_never_votes_for_itself(run, toy, tmp_path):
    quick = ("--set", "epochs=1", "--set", "hidden_size=4", "--set", "num_nearest=8")
    assert run("train", toy, "--out", tmp_path / "all", "--quiet", *quick).exit_code == 0
    for name in ("p.jsonl", "p.csv"):
        assert run("predict", tmp_path / "all", "--out", tmp_path / name).exit_code == 0
    first, *_ = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert len(first["nearest"]) == 7  # K = 8 are asked for, 7 others are labeled
    assert "node 0" not in [vote["node"] for vote in first["nearest"]]
    with (tmp_path / "p.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["nearest_8"] == ""


def test_only_the_nodes_asked_for_are_written_in_that_order_each_once(run, model, tmp_path):
    asked = ["--nodes", "node 5, node 2,node 5", "--nodes", "alone, far away"]
    assert run("predict", model, "--out", tmp_path / "p.jsonl", *asked).exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [row["node"] for row in rows] == ["node 5", "node 2", "alone, far away"]


def test_unknown_node_is_named_and_nothing_is_written(run, model, tmp_path):
    refused(run("predict", model, "--out", tmp_path / "p.csv", "--nodes", "node 5,nod 6"), "unknown node 'nod 6'")
    refused(run("predict", model, "--out", tmp_path / "p.csv", "--nodes", " , "), "--nodes must name at least one node")
    assert not (tmp_path / "p.csv").exists()


def test_unknown_ending_is_refused_before_the_model_is_read(run, tmp_path):
    text = "must end in .csv, .jsonl, .parquet or name a folder, got 'p.xlsx'"
    refused(run("predict", "nowhere", "--out", tmp_path / "p.xlsx"), text)


def test_existing_file_is_refused_without_overwrite(run, model, tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("mine")
    refused(run("predict", model, "--out", file), "p.csv already exists; --overwrite replaces it")
    assert file.read_text() == "mine"
    assert run("predict", model, "--out", file, "--overwrite").exit_code == 0
    assert file.read_text().startswith("node,class,")


def test_a_folder_or_a_missing_folder_is_refused(run, model, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    refused(run("predict", model, "--out", tmp_path / "folder.csv"), "is a folder; name a file")
    refused(run("predict", model, "--out", tmp_path / "no" / "p.csv"), "no does not exist")


def test_a_full_disk_names_the_folder_and_leaves_nothing_behind(run, model, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    refused(run("predict", model, "--out", tmp_path / "p.csv"), f"cannot write to {tmp_path}: No space left on device")
    assert not list(tmp_path.glob("*p.csv*"))


def test_parquet_without_pyarrow_says_what_to_install(run, model, tmp_path, monkeypatch):
    real = importlib.import_module

    def without_pyarrow(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without_pyarrow)
    result = run("predict", model, "--out", tmp_path / "p.parquet")
    refused(result, "Parquet files need the package 'pyarrow': pip install 'se-gnn[tables]'")


def test_names_with_commas_in_a_list_are_told_to_stand_alone(run, model, tmp_path):
    refused = run("predict", model, "--nodes", "node 3,alone, far away", "--out", tmp_path / "two.csv")
    assert refused.exit_code == 2
    assert "a name that contains a comma needs its own --nodes" in refused.stderr
    two = ("--nodes", "node 3", "--nodes", "alone, far away")
    assert run("predict", model, *two, "--out", tmp_path / "two.csv").exit_code == 0
