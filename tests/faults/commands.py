"""Every command that writes, on a graph of 24 nodes: what was there before, and how to tell the old from the new."""

from __future__ import annotations

import importlib
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from lab.commands import app as lab
from se_gnn.apps.cli.app import app
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.model.folder import load_model
from se_gnn.shards import verify_shards
from se_gnn.training import trainer

QUICK = (
    "--preset", "authors", "--set", "epochs=2", "--set", "hidden_size=4",
    "--set", "num_nearest=3", "-q",
)  # fmt: skip
ROLES = ("--id", "name", "--label", "class")


@contextmanager
def quick_and_often() -> Iterator[None]:
    """An attack chooses without computing, and everything is written down as soon as it is known.

    Every process that runs a scenario is in it: operations are counted in one and killed in another.
    """

    def known_classes(graph, *_, **__):
        return torch.tensor(graph.labels)

    metattack = importlib.import_module("lab.attack.metattack")  # a function has the name, too
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metattack._Attack, "choose", lambda self, flips: (0, 1 + 2 * (len(flips) + self.seed)))
        patch.setattr(importlib.import_module("lab.attack.surrogate"), "guess_classes", known_classes)
        patch.setattr(metattack, "SECONDS_BETWEEN_WRITES", -1.0)
        patch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        yield


def run(*arguments: str | Path) -> Result:
    """Run a command as a user would: `se-gnn ...`, or `python -m lab attack ...`."""
    return CliRunner().invoke(lab if arguments[0] == "attack" else app, [str(argument) for argument in arguments])


def toy() -> Graph:
    """Two groups of 12 nodes, one of them alone."""
    labels = np.arange(24) % 2
    edges = [(i, j) for i in range(23) for j in range(i + 1, 23) if labels[i] == labels[j] and (i + j) % 3 == 0]
    return Graph.build(
        name="toy",
        features=labels[:, None] + np.random.default_rng(0).normal(scale=0.3, size=(24, 3)),
        edges=edges,
        labels=labels,
        train=np.arange(8),
        validation=np.arange(8, 12),
        test=np.arange(12, 24),
    )


@dataclass(frozen=True)
class Scenario:
    """A command, and what it makes of what.

    Args:
        name: what errors and the summary call it.
        arguments: of the command; ``{root}`` stands for the folder that it works in.
        out: file or folder that it writes, below the root.
        content: what is there; None where nothing is.
        before: whether there is an old one.
        stride: of the operations that `make test` looks at; `make test-slow` looks at all.
    """

    name: str
    arguments: Sequence[str]
    out: str
    content: Callable[[Path], object]
    before: bool
    stride: int = 3

    def run(self, root: Path, *options: str) -> Result:
        """Run the command; an old one is to be replaced."""
        return run(*(text.replace("{root}", str(root)) for text in self.arguments), *options)

    def look(self, root: Path) -> object:
        """What a reader finds: the old one, the new one, or None."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a reader is told of an interrupted write
            return self.content(root / self.out)


def model_content(folder: Path) -> object:
    """Parameters and seed of a model that loads; None where there is none yet."""
    try:
        trained = load_model(folder)
    except InputError as error:
        return _none_yet(error, "has not ended")
    records = (folder / "metrics.jsonl").exists() or (folder / ".commit").exists()
    assert records, "the log of the epochs is gone"
    return trained.facts.seed, [tensor.numpy().tobytes() for tensor in trained.encoder.state_dict().values()]


def graph_content(folder: Path) -> object:
    """Edges of a graph that loads; None where there is none yet."""
    try:
        return load_graph(folder).edges.ends.tobytes()
    except InputError as error:
        return _none_yet(error, "is missing")


def import_content(folder: Path) -> object:
    """Names in graph, table and summary, which must be of one import."""
    from se_gnn.tables import load_import

    try:
        imported = load_import(folder)
    except InputError as error:
        return _none_yet(error, "is missing")
    assert imported.nodes[""].column("name").to_pylist() == list(imported.graph.node_names)
    assert imported.summary.num_nodes == imported.graph.num_nodes
    return imported.graph.node_names


def _none_yet(error: InputError, words: str) -> None:
    """Nothing there is fine; anything damaged is not."""
    if "does not exist" not in str(error) and words not in str(error):
        raise AssertionError(str(error)) from error


def file_content(path: Path) -> object:
    """Bytes of a file."""
    return path.read_bytes() if path.exists() else None


def shards_content(folder: Path) -> object:
    """The shards of a folder that says it is whole, which must be true; None where nothing is."""
    try:
        manifest = verify_shards(folder)
    except InputError as error:
        return _none_yet(error, "is not a folder of shards")
    return [(manifest.place(folder) / shard.file).read_bytes() for shard in manifest.shards]


def prepare(root: Path) -> None:
    """The state that every scenario begins with: a graph, tables, a model, and an old one of everything."""
    save_graph(toy(), root / "toy")
    for name, size in (("old", 30), ("new", 32)):
        rows = [f"{name}{i},{i % 7},{'ab'[i % 2]}" for i in range(size)]
        (root / f"{name}.csv").write_text("\n".join(["name,value,class", *rows]) + "\n")
        edges = [f"{name}{i},{name}{(i + 3) % size}" for i in range(size)]
        (root / f"{name}-edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    made = [
        run("train", root / "toy", "--out", root / "old-model", "--seed", "1", *QUICK),
        run("attack", root / "toy", "--method", "random", "--seed", "1", "--out", root / "old-random"),
        run("attack", root / "toy", "--seed", "1", "--rate", "0.03", "-q", "--out", root / "old-attack"),
        run("import", "--nodes", root / "old.csv", "--edges", root / "old-edges.csv", *ROLES,
            "--out", root / "old-import"),
    ]  # fmt: skip
    for result in made:
        assert result.exit_code == 0, result.output
    for name in ("old.predictions.csv", "old.report.html", "old.audit.csv", "old.certify.csv"):
        (root / name).write_text("old")
    for command, more in (("predict", ()), ("explain", ())):
        old = run(command, root / "old-model", *more, "--set", "shard=24", "--out", root / f"old-{command}", "-q")
        assert old.exit_code == 0, old.output


def _scenarios() -> dict[str, Scenario]:
    found = []
    for before in (False, True):
        kind, start = ("over an old one", "old-") if before else ("new", "fresh-")
        over = ["--overwrite"] if before else []
        base = f"{{root}}/{start}"
        found += [
            Scenario(
                f"train, {kind}",
                ["train", f"{base}model" if before else "{root}/toy", "--out", f"{base}model", *over, *QUICK],
                f"{start}model", model_content, before, stride=6,
            ),
            Scenario(
                f"attack at random, {kind}",
                ["attack", "{root}/toy", "--method", "random", "--out", f"{base}random", *over, "-q"],
                f"{start}random", graph_content, before,
            ),
            Scenario(
                f"attack, {kind}",
                ["attack", "{root}/toy", "--rate", "0.06", "--out", f"{base}attack", *over, "-q"],
                f"{start}attack", graph_content, before, stride=2,
            ),
            Scenario(
                f"import, {kind}",
                ["import", "--nodes", "{root}/new.csv", "--edges", "{root}/new-edges.csv", *ROLES,
                 "--out", f"{base}import", *over],
                f"{start}import", import_content, before, stride=2,
            ),
            Scenario(
                f"predict, {kind}",
                ["predict", "{root}/old-model", "--out", f"{{root}}/{'old' if before else 'fresh'}.predictions.csv",
                 *over],
                f"{'old' if before else 'fresh'}.predictions.csv", file_content, before,
            ),
            Scenario(
                f"report, {kind}",
                ["report", "{root}/old-model", "--nodes", "1", "-q", *over,
                 "--out", f"{{root}}/{'old' if before else 'fresh'}.report.html"],
                f"{'old' if before else 'fresh'}.report.html", file_content, before,
            ),
        ]  # fmt: skip
        for command, more in (("predict", []), ("explain", [])):
            found.append(
                Scenario(
                    f"{command} into a folder, {kind}",
                    [command, "{root}/old-model", *more, "--set", "shard=9", "--out", f"{base}{command}", *over, "-q"],
                    f"{start}{command}",
                    shards_content,
                    before,
                    stride=6,
                )
            )
        for command in ("audit", "certify"):
            name = f"{'old' if before else 'fresh'}.{command}.csv"
            found.append(
                Scenario(
                    f"{command}, {kind}",
                    ["labels", command, "{root}/old-model", "--out", f"{{root}}/{name}", *over],
                    name,
                    file_content,
                    before,
                    stride=4,
                )
            )
    return {scenario.name: scenario for scenario in found}


SCENARIOS = _scenarios()


def copy_of(prepared: Path, root: Path) -> Path:
    """A state to spoil."""
    if root.exists():
        shutil.rmtree(root)
    return Path(shutil.copytree(prepared, root))
