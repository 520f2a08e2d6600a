"""Numbers from the command line: tables in, predictions, explanations and an audit out."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    generator = np.random.default_rng(0)
    size = generator.integers(20, 200, 160)
    rent = [f"{8 * s + 300 * np.sin(i / 8) + 500 + generator.normal():.1f}" for i, s in enumerate(size)]
    rows = [f"flat{i},{s},{'' if i % 20 == 0 else r}" for i, (s, r) in enumerate(zip(size, rent))]
    (folder / "flats.csv").write_text("id,size,rent\n" + "\n".join(rows) + "\n")
    near = [f"flat{i},flat{(i + 1) % 160}" for i in range(160)]
    (folder / "near.csv").write_text("source,target\n" + "\n".join(near) + "\n")
    return folder


def test_from_tables_to_explained_numbers(run, tables, tmp_path):
    def told_by(*arguments):
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    graph, model = str(tmp_path / "graph"), str(tmp_path / "model")
    files = ["--nodes", str(tables / "flats.csv"), "--edges", str(tables / "near.csv")]
    told = told_by("import", *files, "--id", "id", "--target-number", "rent", "--set", "unit=EUR", "--out", graph)
    assert "the number to predict" in told
    told = told_by("train", graph, "--out", model, "--set", "epochs=8", "--set", "members=1", "--set", "num_nearest=6")
    assert "test R2" in told
    assert "by R2 on validation nodes" in told or "the only recipe that fits" in told
    assert "in 90% interval" in told_by("evaluate", model)
    told = told_by("explain", model, "--node", "flat7")
    assert "flat7: rent " in told
    assert "without it" in told
    assert json.loads(run("explain", model, "--node", "flat7", "--json").stdout)["answer"]["kind"] == "number"
    told_by("predict", model, "--out", str(tmp_path / "p.csv"), "--coverage", "0.8", "--abstain")
    with (tmp_path / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 160
    assert all(float(row["low"]) <= float(row["predicted"]) <= float(row["high"]) for row in rows)
    told_by("predict", model, "--out", str(tmp_path / "p.jsonl"))
    first = json.loads((tmp_path / "p.jsonl").read_text().splitlines()[3])
    added = sum(one["value"] * one["weight"] for one in first["nearest"])
    assert added == pytest.approx(first["predicted"], rel=1e-5)
    assert "Most surprising first" in told_by("labels", "audit", model)
