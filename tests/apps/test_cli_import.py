"""From two files to predictions, through the command line."""

from __future__ import annotations

import importlib
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from se_gnn.graph.storage import load_graph

QUICK = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")
ROLES = ("--id", "account", "--label", "fraud", "--source", "from", "--target", "to")


def accounts(num_rows=40, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "account": [f"ACC {i}" for i in range(num_rows)],
            "country": generator.choice(["DE", "FR"], num_rows),
            "balance": generator.lognormal(5, 1, num_rows).round(2),
            "bank": "one",
            "fraud": generator.choice(["yes", "no"], num_rows),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    nodes = accounts()
    nodes.loc[3, "balance"] = None
    nodes.to_csv(folder / "nodes.csv", index=False)
    names = nodes.account.to_numpy()
    edges = pd.DataFrame({"from": names, "to": np.roll(names, 1), "amount": 1.5})
    edges.to_parquet(folder / "edges.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def graph(run, files):
    result = run("import", "--nodes", files / "nodes.csv", "--edges", files / "edges.parquet", *ROLES,
                 "--out", files / "graph")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "balance  number    2 features; 1 missing" in result.output
    assert "column 'bank' is left out: the same value in all rows" in result.output
    assert f"se-gnn train {files / 'graph'} --out model" in result.output
    return files / "graph"


@pytest.fixture(scope="module")
def trained(run, files, graph):
    result = run("train", graph, "--out", files / "model", "--quiet", *QUICK)
    assert result.exit_code == 0, result.output
    return files / "model"


def refused(result, *words):
    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.output, result.output


def test_a_model_trained_on_tables_names_the_accounts_everywhere(run, trained, tmp_path):
    assert "nodes, preset best" in run("evaluate", trained).output
    assert "ACC 3" in run("explain", trained, "--node", "ACC 3").output
    assert run("predict", trained, "--out", tmp_path / "p.csv").exit_code == 0
    assert pd.read_csv(tmp_path / "p.csv").node.tolist()[:2] == ["ACC 0", "ACC 1"]


def test_tables_of_the_next_month_are_encoded_as_before_and_predicted(run, files, trained, tmp_path):
    new = accounts(3, seed=1).assign(account=["NEW 0", "NEW 1", "NEW 2"], fraud=None, country="XX")
    pd.concat([pd.read_csv(files / "nodes.csv"), new]).to_csv(tmp_path / "may.csv", index=False)
    edges = pd.concat([pd.read_parquet(files / "edges.parquet"), pd.DataFrame({"from": ["NEW 0"], "to": ["ACC 5"]})])
    edges.to_csv(tmp_path / "may-edges.csv", index=False, sep=";")
    imported = run("import", "--like", trained, "--nodes", tmp_path / "may.csv", "--edges", tmp_path / "may-edges.csv",
                   *ROLES, "--out", tmp_path / "may")  # fmt: skip
    assert imported.exit_code == 0, imported.output
    assert "24 train, 8 val, 8 test; the same labeled nodes vote as" in imported.output
    assert "3 rows of unknown categories" in imported.output
    assert f"se-gnn predict {trained} --graph {tmp_path / 'may'}" in imported.output
    predicted = run("predict", trained, "--graph", tmp_path / "may", "--out", tmp_path / "p.csv", "--nodes", "NEW 0")
    assert predicted.exit_code == 0, predicted.output
    (row,) = pd.read_csv(tmp_path / "p.csv").to_dict("records")
    assert row["node"] == "NEW 0"
    assert row["nearest_1"].startswith("ACC ")
    assert "NEW 0 is predicted" in run("explain", trained, "--graph", tmp_path / "may", "--node", "NEW 0").output
    page = tmp_path / "new.html"
    written = run("report", trained, "--graph", tmp_path / "may", "--nodes", "NEW 0", "--out", page)
    assert written.exit_code == 0, written.output
    assert "NEW 0" in page.read_text(encoding="utf-8")


def test_a_graph_with_another_encoding_is_refused(run, files, graph, trained, tmp_path):
    other = run("import", "--nodes", files / "nodes.csv", "--edges", files / "edges.parquet", *ROLES,
                "--column", "balance=category", "--out", tmp_path / "other")  # fmt: skip
    assert other.exit_code == 0
    refused(
        run("evaluate", trained, "--graph", tmp_path / "other"), "other columns, or another encoding of them", "--like"
    )
    assert run("evaluate", trained, "--graph", graph).output == run("evaluate", trained).output
    refused(run("import", "--like", tmp_path, "--nodes", "a.csv", "--edges", "b.csv", *ROLES, "--out", tmp_path / "x"),
            "is neither a model folder nor the folder of a graph")  # fmt: skip


def test_strict_writes_nothing_and_json_is_for_programs(run, files, tmp_path):
    arguments = ("import", "--nodes", files / "nodes.csv", "--edges", files / "edges.parquet", *ROLES,
                 "--out", tmp_path / "graph")  # fmt: skip
    result = run(*arguments, "--set", "strict=true")
    refused(result, "'bank' is left out", "strict: 1 warnings, nothing is written")
    assert not (tmp_path / "graph").exists()
    summary = json.loads(run(*arguments, "--column", "bank=ignore", "--set", "strict=true", "--json").output)
    assert summary["num_nodes"] == 40
    assert summary["warnings"] == []


def test_kinds_and_other_options_reach_the_import(run, files, tmp_path):
    arguments = ("import", "--nodes", files / "nodes.csv", "--edges", files / "edges.parquet", *ROLES, "--json",
                 "--column", "balance=category", "--column", "bank=ignore", "--column", "country=ignore", "--set",
                 "train_share=0.5", "--set", "name=mine",
                 "--set", "max_train=4", "--out", tmp_path / "graph")  # fmt: skip
    summary = json.loads(run(*arguments).output)
    assert {column["name"]: column["kind"] for column in summary["columns"]} == {
        "account": "id", "country": "ignored", "balance": "category", "bank": "ignored", "fraud": "label"
    }  # fmt: skip
    assert summary["num_train"] == 8
    refused(run(*arguments[:-2], "--out", tmp_path / "b", "--column", "balance"), "write COLUMN=ROLE")


def test_folders_with_other_files_are_safe(run, files, graph, tmp_path):
    arguments = ("import", "--nodes", files / "nodes.csv", "--edges", files / "edges.parquet", *ROLES)
    refused(run(*arguments, "--out", graph), "already holds a graph; --overwrite replaces it")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "nodes.parquet").write_bytes(b"a table of mine, and no graph beside it")
    refused(run(*arguments, "--out", tmp_path / "own", "--overwrite"), "holds other files")
    (tmp_path / "mine.txt").write_text("mine")
    refused(run(*arguments, "--out", tmp_path, "--overwrite"), "holds other files")
    refused(run(*arguments, "--out", tmp_path / "mine.txt"), "is a file; name a folder")
    copy = shutil.copytree(graph, tmp_path / "copy")
    assert run(*arguments, "--out", copy, "--overwrite").exit_code == 0


def test_without_pyarrow_it_says_what_to_install(run, files, monkeypatch, tmp_path):
    import sys

    real = importlib.import_module

    def without_pyarrow(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    for name in [name for name in sys.modules if name.startswith("se_gnn.tables")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("se_gnn.tables", raising=False)
    monkeypatch.setattr(importlib, "import_module", without_pyarrow)
    result = run("import", "--nodes", "n.csv", "--edges", "e.csv", *ROLES, "--out", tmp_path / "g")
    refused(result, "tables need the package 'pyarrow': pip install 'se-gnn[tables]'")


def test_a_column_whose_name_holds_a_comma_needs_no_quotes(run, tmp_path):
    nodes = accounts().rename(columns={"bank": "bank, city"})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    pd.DataFrame({"from": nodes.account[:20], "to": nodes.account[20:].to_numpy()}).to_csv(
        tmp_path / "edges.csv", index=False
    )
    result = run("import", "--nodes", tmp_path / "nodes.csv", "--edges", tmp_path / "edges.csv", *ROLES,
                 "--column", "country=ignore", "--column", "bank, city=ignore",
                 "--out", tmp_path / "graph", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    kinds = {column["name"]: column["kind"] for column in json.loads(result.stdout)["columns"]}
    assert kinds["bank, city"] == kinds["country"] == "ignored"


def test_tables_that_do_not_fit_into_memory_are_streamed_like_a_model(run, files, trained, tmp_path, monkeypatch):
    nodes = pd.concat([accounts().assign(account=lambda t, i=i: t.account + f" {i}") for i in range(2000)])
    nodes.to_parquet(tmp_path / "nodes.parquet", index=False)
    ends = pd.DataFrame({"from": nodes.account[:-1].to_numpy(), "to": nodes.account[1:].to_numpy()})
    ends.to_parquet(tmp_path / "edges.parquet", index=False)
    monkeypatch.setenv("SE_GNN_MAX_MEMORY", "16M")
    tables = ("--nodes", tmp_path / "nodes.parquet", "--edges", tmp_path / "edges.parquet", *ROLES)
    result = run("import", "--like", trained, *tables, "--out", tmp_path / "big")
    assert result.exit_code == 0, result.output
    assert "80,000 nodes" in result.output
    graph = load_graph(tmp_path / "big")
    assert not graph.fits_memory
    assert graph.columns == load_graph(trained).columns
    result = run("predict", trained, "--graph", tmp_path / "big", "--nodes", "ACC 0 7", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
