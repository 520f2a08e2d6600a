"""Fixtures: a small graph in a folder, a model trained on it through the command line, and a way to run commands."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

Run = Callable[..., Result]
QUICK = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")


@pytest.fixture(scope="session")
def run() -> Run:
    """Run a command as a user would and hand back what it printed and its exit code."""

    from se_gnn.apps.cli import app

    return runner(app)


def runner(app: typer.Typer) -> Run:
    """What runs the commands of an application."""

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored graph: two groups of 12 nodes, one of them alone; some edges are given twice."""
    from se_gnn.graph import Graph
    from se_gnn.graph.storage import save_graph

    generator = np.random.default_rng(0)
    labels = np.arange(24) % 2
    edges = [(i, j) for i in range(23) for j in range(i + 1, 23) if labels[i] == labels[j] and (i + j) % 3 == 0]
    graph = Graph.build(
        name="toy",
        features=labels[:, None] + generator.normal(scale=0.3, size=(24, 3)),
        edges=[*edges, edges[0], edges[1][::-1], (5, 5)],
        labels=labels,
        class_names=["even", "odd, not even"],
        node_names=[f"node {i}" for i in range(23)] + ["alone, far away"],
        train=np.arange(8),
        validation=np.arange(8, 12),
        test=np.arange(12, 24),
    )
    folder = tmp_path_factory.mktemp("graphs") / "toy"
    save_graph(graph, folder)
    return folder


@pytest.fixture(scope="session")
def trained_once(run: Run, toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    result = run("train", toy, "--out", folder, "--device", "cpu", "--quiet", *QUICK)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def model(trained_once: Path, tmp_path: Path) -> Path:
    """A model folder that a test may damage."""
    return Path(shutil.copytree(trained_once, tmp_path / "model"))
