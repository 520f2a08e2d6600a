import csv
import json

import numpy as np
import pandas as pd
import pytest

from commands import QUICK
from se_gnn.graph.storage import load_graph
from se_gnn.model.folder import load_model
from se_gnn.shards import read_shards


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """Tables, a model, and tables of two new nodes."""
    path = tmp_path_factory.mktemp("tables")
    generator = np.random.default_rng(0)
    classes = np.arange(40) % 2
    nodes = pd.DataFrame({"id": [f"n{i}" for i in range(40)], "class": np.array(["no", "yes"])[classes]})
    nodes["amount"] = classes + generator.normal(scale=0.3, size=40).round(3)
    ends = generator.integers(40, size=(80, 2))
    edges = pd.DataFrame({"source": [f"n{i}" for i in ends[:, 0]], "target": [f"n{i}" for i in ends[:, 1]]})
    nodes.to_csv(path / "nodes.csv", index=False)
    edges.to_csv(path / "edges.csv", index=False)
    new = pd.DataFrame({"id": ["a", "=b"], "amount": [1.5, -0.5]})
    new.to_csv(path / "new.csv", index=False)
    pd.DataFrame({"source": ["a", "=b"], "target": ["n1", "a"]}).to_csv(path / "links.csv", index=False)
    tables = ("--nodes", path / "nodes.csv", "--edges", path / "edges.csv", "--id", "id", "--label", "class")
    assert run("import", *tables, "--out", path / "graph").exit_code == 0
    result = run("train", path / "graph", "--out", path / "model", "--device", "cpu", "--quiet", *QUICK)
    assert result.exit_code == 0, result.output
    return path


def new_nodes(folder, *more):
    return ("predict", folder / "model", "--new-nodes", folder / "new.csv", "--new-edges", folder / "links.csv", *more)


def test_new_nodes_are_predicted_and_the_grown_graph_is_kept(run, folder, tmp_path):
    kept = ("--set", f"keep_graph={tmp_path / 'grown'}", "--set", f"changes={tmp_path / 'changes.csv'}")
    more = ("--out", tmp_path / "p.jsonl", *kept)
    result = run(*new_nodes(folder, *more))
    assert result.exit_code == 0, result.output
    assert "Wrote the predictions of 2 nodes" in result.stdout
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [row["node"] for row in rows] == ["a", "=b"]
    grown = load_model(folder / "model").with_graph(load_graph(tmp_path / "grown"))
    found = grown.predict(np.array([40, 41]))
    assert [row["class"] for row in rows] == [grown.graph.class_names[c] for c in found.classes]
    with (tmp_path / "changes.csv").open(newline="") as file:
        changed = list(csv.DictReader(file))
    assert ("every known node stays the same" in result.stdout) == (not changed)
    assert run("explain", folder / "model", "--graph", tmp_path / "grown", "--node", "a").exit_code == 0


def test_nodes_picks_known_nodes_of_the_grown_graph(run, folder, tmp_path):
    result = run(*new_nodes(folder, "--out", tmp_path / "p.csv", "--nodes", "n3,a"))
    assert result.exit_code == 0, result.output
    with (tmp_path / "p.csv").open(newline="") as file:
        assert [row["node"] for row in csv.DictReader(file)] == ["n3", "a"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--set", "changes=c.txt"), "--set changes must end in .csv or .jsonl"),
        (("--column", "name=id"), "has no column 'name'"),
        (("--column", "from=source"), "has no column 'from'"),
        (("--column", "nothing=ignore"), "has no column 'nothing'"),
    ],
)
def test_a_wrong_option_is_one_line_and_writes_nothing(run, folder, tmp_path, arguments, text):
    result = run(*new_nodes(folder, "--out", tmp_path / "p.csv", *arguments))
    assert result.exit_code == 2
    assert text in result.stderr
    assert not (tmp_path / "p.csv").exists()


def test_new_edges_without_new_nodes_are_refused(run, folder, tmp_path):
    result = run("predict", folder / "model", "--new-edges", folder / "links.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "--new-edges has an effect only with --new-nodes" in result.stderr


def test_new_nodes_of_a_model_without_tables_are_refused(run, folder, model, tmp_path):
    result = run("predict", model, "--new-nodes", folder / "new.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "was not imported from tables" in result.stderr


def test_new_nodes_are_predicted_into_a_folder_too(run, folder, tmp_path):
    result = run(*new_nodes(folder, "--out", tmp_path / "shards", "--set", f"keep_graph={tmp_path / 'grown'}"))
    assert result.exit_code == 0, result.output
    assert "Wrote the predictions of 2 nodes" in result.stdout
    assert [row["node"] for part in read_shards(tmp_path / "shards") for row in part.to_pylist()] == ["a", "=b"]
    assert load_graph(tmp_path / "grown").num_nodes == 42


def test_a_folder_of_new_nodes_is_not_taken_for_one_with_other_roles_of_columns(run, folder, tmp_path):
    assert run(*new_nodes(folder, "--out", tmp_path / "p")).exit_code == 0
    assert run(*new_nodes(folder, "--out", tmp_path / "p")).exit_code == 0  # complete
    swapped = ("--column", "source=target", "--column", "target=source")
    result = run(*new_nodes(folder, "--out", tmp_path / "p", *swapped))
    assert (result.exit_code, "--overwrite" in result.stderr) == (2, True)
