"""Only nodes of the type that has classes are predicted, suggested and labeled, unless others are asked for."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from se_gnn.graph import Graph
from se_gnn.graph.storage import save_graph


@pytest.fixture(scope="module")
def library(run, tmp_path_factory):
    """A model of 30 papers with topics and 10 authors without."""
    folder = tmp_path_factory.mktemp("library")
    draw = np.random.default_rng(0)
    labels = np.r_[np.arange(30) % 2, np.full(10, -1)]
    types = np.r_[np.zeros(30, int), np.ones(10, int)]
    features = np.zeros((40, 4), np.float32)
    features[:30, :2] = np.eye(2)[labels[:30]] + 0.3 * draw.normal(size=(30, 2))
    features[30:, 2:] = draw.random((10, 2))
    labels[20:30] = -1
    graph = Graph.build(
        features=features,
        edges=[(i, 30 + (i // 3) % 10) for i in range(30)],
        labels=labels,
        class_names=["db", "ml"],
        node_names=[*(f"p{i}" for i in range(30)), *(f"a{i}" for i in range(10))],
        node_types=types,
        node_type_names=["paper", "author"],
        train=np.arange(12),
        validation=np.arange(12, 16),
        test=np.arange(16, 20),
    )
    save_graph(graph, folder / "graph")
    quick = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3", "--set", "members=1")
    result = run("train", folder / "graph", "--out", folder / "model", "--device", "cpu", "--quiet", *quick)
    assert result.exit_code == 0, result.output
    return folder / "model"


def rows(file):
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_an_author_that_is_asked_for_is_predicted(run, library, tmp_path):
    result = run("predict", library, "--nodes", "a3,p29", "--out", tmp_path / "two.csv", "--quiet")
    assert result.exit_code == 0, result.output
    assert [(row["node"], row["type"]) for row in rows(tmp_path / "two.csv")] == [("a3", "author"), ("p29", "paper")]


def test_no_author_is_suggested_and_naming_one_is_refused(run, library, tmp_path):
    result = run("labels", "suggest", library, "--count", "10", "--out", tmp_path / "next.csv", "--quiet")
    assert result.exit_code == 0, result.output
    assert {row["node"] for row in rows(tmp_path / "next.csv")} == {f"p{i}" for i in range(20, 30)}
    refused = run("labels", "suggest", library, "--count", "1", "--nodes", "a3")
    assert refused.exit_code == 2
    assert "nodes of type 'paper'" in refused.output


def test_an_author_cannot_be_labeled(run, library):
    for edit in (("add", "a3=db"), ("relabel", "a3=db"), ("remove", "a3")):
        refused = run("labels", "edit", library, *edit)
        assert refused.exit_code == 2
        assert "'a3' is of type 'author': only nodes of type 'paper' are predicted" in " ".join(refused.output.split())


def test_an_author_is_explained_beside_a_paper_without_a_column_in_common(run, library):
    result = run("explain", library, "--node", "a3")
    assert result.exit_code == 0, result.output
