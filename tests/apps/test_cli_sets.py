import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from commands import QUICK
from se_gnn.labels.sets import prediction_sets
from se_gnn.model.folder import load_model
from se_gnn.shards import read_shards


@pytest.fixture(scope="module")
def calibrated(run, toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "calibrated"
    result = run("train", toy, "--out", folder, "--device", "cpu", "--calibration", "0.5", *QUICK)
    assert result.exit_code == 0, result.output
    assert "held out  2 nodes for prediction sets" in result.stdout
    return folder


def test_calibration_nodes_are_in_the_model_folder_and_no_longer_validate(calibrated):
    graph = load_model(calibrated).graph
    assert len(graph.calibration) == 2
    assert len(graph.validation) == 2
    assert not np.intersect1d(graph.validation, graph.calibration).size


def test_csv_has_the_set_of_each_node_and_a_case_for_each_class_in_it(run, calibrated, tmp_path):
    result = run("predict", calibrated, "--coverage", "0.6", "--set", "method=lac", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert (
        "Prediction sets (LAC) contain the correct class for at least 60.0% of all nodes, calibrated on 2 nodes"
        in result.stdout
    )
    with (tmp_path / "p.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    trained = load_model(calibrated)
    names, expected = trained.graph.class_names, prediction_sets(trained, coverage=0.6, method="lac")
    members = np.array([[row[f"in_set_{name}"] == "1" for name in names] for row in rows])
    assert np.array_equal(members, expected.members)
    assert [int(row["set_size"]) for row in rows] == expected.sizes.tolist()
    for row, inside in zip(rows, members):
        for name, member in zip(names, inside):
            assert bool(row[f"case_{name}"]) == member


def test_json_lines_and_parquet_hold_the_same_sets(run, calibrated, tmp_path):
    for ending in ("jsonl", "parquet"):
        result = run(
            "predict", calibrated, "--coverage", "0.6", "--set", "method=daps", "--out", tmp_path / f"p.{ending}"
        )
        assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    table = pq.read_table(tmp_path / "p.parquet").to_pylist()
    for line, row in zip(lines, table, strict=True):
        assert [(one["class"], one["case"]) for one in line["set"]] == [
            (one["class"], one["case"]) for one in row["set"]
        ]
        assert [one["similarity"] for one in line["set"]] == pytest.approx([one["similarity"] for one in row["set"]])


def test_without_calibration_nodes_predict_says_how_to_get_them(run, model, tmp_path):
    result = run("predict", model, "--coverage", "0.9", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "--calibration 0.3" in result.stderr
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.filterwarnings("default:calibrated on validation nodes")
def test_validation_nodes_calibrate_where_asked_to_with_a_warning(run, model, tmp_path):
    arguments = (
        "--coverage",
        "0.6",
        "--set",
        "calibrate_on=validation",
        "--set",
        "by_class=true",
        "--out",
        tmp_path / "p.csv",
    )
    result = run("predict", model, *arguments)
    assert result.exit_code == 0, result.output
    assert "warning: calibrated on validation nodes" in result.stderr
    assert "about 60.0% of each class" in result.stdout


@pytest.mark.parametrize("coverage", ["0", "1", "90", "nan"])
def test_a_coverage_that_is_no_share_is_one_line(run, calibrated, coverage, tmp_path):
    result = run("predict", calibrated, "--coverage", coverage, "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "coverage must be between 0 and 1" in result.stderr


def test_a_share_of_validation_nodes_that_is_too_large_is_refused_before_training(run, toy, tmp_path):
    assert run("train", toy, "--out", tmp_path / "m", "--calibration", "0.95").exit_code == 2
    assert not (tmp_path / "m").exists()


def test_a_folder_of_shards_holds_the_sets_and_the_answers_of_one_file(run, calibrated, tmp_path):
    asked = ("--coverage", "0.6", "--abstain", "--set", "false_alarms=0.4")
    assert run("predict", calibrated, *asked, "--out", tmp_path / "p.parquet").exit_code == 0
    result = run("predict", calibrated, *asked, "--out", tmp_path / "folder", "--set", "shard=10")
    assert result.exit_code == 0, result.output
    assert "in 3 shards" in result.stdout
    shards = [row for part in read_shards(tmp_path / "folder") for row in part.to_pylist()]
    assert shards == pq.read_table(tmp_path / "p.parquet").to_pylist()
