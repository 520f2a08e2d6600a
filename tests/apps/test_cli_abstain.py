import csv
import json

import pyarrow.parquet as pq

from se_gnn.labels.novelty import novelty
from se_gnn.model.folder import load_model


def test_a_node_unlike_anything_known_has_no_answer_and_its_closest_case(run, model, tmp_path):
    for ending in ("csv", "jsonl", "parquet"):
        arguments = ("--abstain", "--set", "false_alarms=0.4", "--out", tmp_path / f"p.{ending}")
        result = run("predict", model, *arguments)
        assert result.exit_code == 0, result.output
        assert "unlike any known node" in result.stdout
    trained = load_model(model)
    scored = novelty(trained, false_alarms=0.4)
    none = scored.abstains
    assert none.any()
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    with (tmp_path / "p.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [line["novelty"] for line in lines] == scored.score.tolist()
    for line, row, other, without in zip(lines, rows, pq.read_table(tmp_path / "p.parquet").to_pylist(), none):
        assert line["answer"] == (None if without else line["class"])
        assert line["note"] == ("closest known case, though not close" if without else None)
        assert line["closest"] == line["nearest"][0]["node"]
        assert row["answer"] == (line["answer"] or "")
        assert other["answer"] == line["answer"]


def test_a_rate_that_is_no_share_is_one_line(run, model, tmp_path):
    result = run("predict", model, "--abstain", "--set", "false_alarms=2", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "false_alarms must be a share" in result.stderr
    assert not (tmp_path / "p.csv").exists()
