import csv
import json

from se_gnn.labels.suggest import suggest
from se_gnn.model.folder import load_model


def test_suggestions_are_printed_and_written_most_helpful_first(run, model, tmp_path):
    names = "node 12,node 13,node 14,node 15"
    for ending in ("csv", "jsonl"):
        result = run("labels", "suggest", model, "--count", "2", "--nodes", names, "--out", tmp_path / f"next.{ending}")
        assert result.exit_code == 0, result.output
        assert "nearest case" in result.stdout
    expected = [one.name for one in suggest(load_model(model), 2, candidates=[12, 13, 14, 15])]
    with (tmp_path / "next.csv").open(newline="") as file:
        assert [row["node"] for row in csv.DictReader(file)] == expected
    lines = (tmp_path / "next.jsonl").read_text().splitlines()
    assert [json.loads(line)["node"] for line in lines] == expected


def test_a_graph_whose_nodes_are_all_in_a_part_has_none_to_suggest(run, model):
    result = run("labels", "suggest", model)
    assert result.exit_code == 2
    assert "no node left to label" in result.stderr


def test_without_a_count_all_are_suggested_if_few_are_left(run, model):
    result = run("labels", "suggest", model, "--nodes", "node 12,node 13")
    assert result.exit_code == 0, result.stderr
    assert "node 12" in result.stdout and "node 13" in result.stdout  # noqa: PT018


def test_more_than_there_are_is_one_line(run, model):
    result = run("labels", "suggest", model, "--count", "9", "--nodes", "node 12,node 13")
    assert result.exit_code == 2
    assert "count must be at most the 2 nodes" in result.stderr
