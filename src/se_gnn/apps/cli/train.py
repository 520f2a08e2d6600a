"""`se-gnn start`, `train`, `tune` and `datasets`; everything that can be wrong is checked before the work begins."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import Only, say
from se_gnn.apps.cli.inspecting import explain, serve_model
from se_gnn.apps.cli.options import (
    Assignments,
    Device,
    GraphName,
    OnDevice,
    Overwrite,
    Quick,
    Quiet,
    Seed,
    option,
    rare,
    shows_progress,
)
from se_gnn.apps.cli.outputs import TRAINING, check_import_folder, check_model_folder, output_folder, rank_device
from se_gnn.display.terminal import count, paragraph, table
from se_gnn.errors import InputError
from se_gnn.optional import require
from se_gnn.progress import phase

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.model import Model
    from se_gnn.ranks import Ranks
    from se_gnn.settings import Settings
    from se_gnn.training.tuning import Trial

START = Path("se-gnn-start")
SHOWN_TRIALS = 8

Task = StrEnum("Task", ["nodes", "links"])
Preset = StrEnum("Preset", ["best", "paper", "authors"])
OF_NODES = Only("without --task links", lambda values: values["task"] is Task.nodes)


def start(
    tables: Annotated[
        list[str],
        typer.Argument(metavar="TABLES", help="CSV or Parquet files: one row per node, and one row per edge."),
    ],
    out: Annotated[Path, option("DIR", "Folder for the graph and the model.")] = START,
    label: Annotated[
        str | None, option("COLUMN", "Column to predict: classes or numbers.  [default: detected]")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept the proposal without asking.")] = False,
    quick: Quick = False,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Stop after the first explanation.")] = False,
    settings: Assignments = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Go from your tables to explained predictions.

    The command looks at the tables, proposes what each column means (IDs, label, source and target, direction, weight,
    type and time of the edges), gives its reasons, and asks you to confirm. It then imports the tables, trains a model,
    explains a first prediction and opens the explorer in your browser. Each step is also printed as a command that you
    can change and run yourself.
    """
    from se_gnn.graph.storage import load_graph
    from se_gnn.tables import read_tables

    require("pyarrow", extra="tables", feature="tables")
    from se_gnn.tables.guess import guess_tables

    graph, model = out / "graph", out / "model"
    check_import_folder(graph, overwrite=overwrite)
    check_model_folder(model, overwrite=overwrite, resume=False)
    guess = guess_tables(tables, label=label)
    if not quiet or not yes:
        say("Proposal:")
        widest = min(36, max(len(what) for what, _ in guess.reasons))
        for what, why in guess.reasons:
            say(paragraph(why, indent=4 + widest, label=f"  {what}  "))
        say(f"\nThis is the same as\n  {guess.command(graph)}")
    if not yes and not sys.stdin.isatty():
        raise InputError("there is no terminal to ask for confirmation: add --yes, or run the command above")
    if not yes and not typer.confirm("\nIs this right?", default=True):
        say("Nothing was imported. Correct the command above and run it; it prints the command to train with.")
        raise typer.Exit
    nodes, edges = guess.tables
    imported = read_tables(nodes, edges, **guess.settings, out=graph)
    if not quiet:
        say(f"\n{imported.summary}\n")
    train(str(graph), model, quick=quick, settings=settings, overwrite=overwrite, quiet=quiet)
    say("")
    trained = load_graph(model)
    explain(model, node=f"#{example_node(trained)}")
    say("")
    if no_serve:
        say("Open the explorer in the browser:\n  " + shlex.join(["se-gnn", "serve", str(model)]))
    else:
        serve_model(model, browser=sys.stdout.isatty(), quiet=quiet)


def train(
    data: GraphName,
    out: Annotated[Path, option("DIR", "Folder for the model.")],
    quick: Annotated[Quick, OF_NODES] = False,
    settings: Assignments = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the interrupted training in DIR."), OF_NODES] = False,
    task: Annotated[Task, rare(None, "nodes: predict a class or number of nodes; links: predict edges.")] = Task.nodes,
    preset: Annotated[
        Preset | None,
        rare(None, "Settings to start from: best, or those of the paper or its authors.  [default: best]"),
        OF_NODES,
    ] = None,
    config: Annotated[Path | None, rare("FILE", "TOML file with settings."), OF_NODES] = None,
    device: Annotated[OnDevice, OF_NODES] = Device.auto,
    calibration: Annotated[
        float,
        rare(
            "SHARE",
            "Share of the validation nodes to set aside for prediction sets (predict --coverage).",
            min=0,
            max=0.9,
        ),
        OF_NODES,
    ] = 0.0,
    quiet: Quiet = False,
) -> None:
    """Train a model on a graph and save it.

    DIR will hold everything that predicting and explaining need: the parameters, the settings, the graph and the
    results. The method and its settings are chosen on the validation nodes, and the reasons are printed; the test nodes
    are used once, at the end.

    Several processes started by torchrun share the work. With the default preset the result is the same bit for bit;
    with paper or authors it is the same up to rounding.
    """
    from se_gnn.datasets import dataset_name, load_data
    from se_gnn.device import memory_budget
    from se_gnn.model import check_model_size
    from se_gnn.model.facts import versions
    from se_gnn.ranks import divided_threads, joined
    from se_gnn.settings.reading import asked_settings
    from se_gnn.training.checkpoint import agreed
    from se_gnn.training.fit import with_calibration
    from se_gnn.training.portfolio import quick_warning
    from se_gnn.training.terminal import plan_text, results_text

    if task is Task.links:
        from se_gnn.apps.cli.links import train_links

        train_links(load_data(data, seed), out, settings=settings or [], seed=seed, overwrite=overwrite, quiet=quiet)
        return
    shown = shows_progress(quiet)
    with joined() as ranks:
        divided_threads(ranks.local_size)
        shown, quiet = shown and ranks.first, quiet or not ranks.first
        if ranks.restarted and (out / TRAINING).is_dir():  # by torchrun, which gives the same command again
            overwrite, resume = False, True
        # from the quickest check to the slowest; nothing is written before all of them have passed
        if ranks.first:
            check_model_folder(out, overwrite=overwrite, resume=resume)
        dataset = dataset_name(data)
        asked = asked_settings(None if preset is None else preset.value, config, settings or [], quick=quick)
        if dataset is not None:  # a stored graph is read soon enough, and decides whether a number is predicted
            asked.resolve(dataset=dataset)
        where = rank_device(device.value)
        memory_budget()
        graph = load_data(data, seed)
        graph.check_trainable()
        held = with_calibration(graph, calibration, seed=seed)
        resolved = asked.resolve(held)
        check_model_size(held, resolved)
        if quick and not resolved.selection.portfolio and ranks.first and (warning := quick_warning(held)) is not None:
            warnings.warn(warning, stacklevel=1)
        if not quiet:
            say(plan_text(held, resolved, seed, str(where), ranks.size))
            if resume and not (out / TRAINING).is_dir():
                say(f"note: no interrupted training in {out}, so this one starts from the beginning")
        if ranks.several:
            ranks.check_same({**versions(), **agreed(held, resolved, seed)})
        trained = _train_and_save(
            graph, asked, out, ranks, resume=resume, seed=seed, device=str(where), calibration=calibration,
            progress=shown,
        )  # fmt: skip
    if not quiet:
        say(results_text(trained, out))
        say(f"\nSaved to {out}. Next, see why a node gets its prediction:")
        say("  " + shlex.join(["se-gnn", "explain", str(out), "--node", graph.nodes.text_of(example_node(graph))]))


def _train_and_save(
    graph: Graph, settings: Settings, out: Path, ranks: Ranks, *, resume: bool, progress: bool, **options: Any
) -> Model:
    """Train in a folder inside ``out``; the model that ``out`` holds is replaced when the new one is whole."""
    from se_gnn import training
    from se_gnn.files import read_file
    from se_gnn.model.folder import EPOCHS, save_model
    from se_gnn.model.metrics import evaluate_nodes
    from se_gnn.training.checkpoint import NAME as CHECKPOINT

    try:
        with _work_folder(out, ranks, resume=resume) as work:
            trained = training.fit(graph, settings, progress=progress, folder=work, ranks=ranks, **options)
            if ranks.first:
                with phase("scoring", shown=progress):
                    test = evaluate_nodes(trained, graph.test)  # once, after everything has been chosen
                trained = trained.with_facts(test=test)
                save_model(trained, out, epochs=read_file(work / EPOCHS))
            ranks.barrier("saved")
    except KeyboardInterrupt as interrupt:
        kept = any((out / TRAINING).rglob(CHECKPOINT))  # of one of its runs
        hint = "To resume from the last checkpoint" if kept else "Nothing was saved yet. To start again"
        say(f"\ninterrupted. {hint}, run the same command with --resume.", err=True)
        raise typer.Exit(130) from interrupt
    return trained


@contextmanager
def _work_folder(out: Path, ranks: Ranks, *, resume: bool) -> Iterator[Path]:
    """The folder for unfinished work: the first rank makes it, and removes it after the others have left.

    If the machines do not share a folder, each keeps its own checkpoints.
    """
    from se_gnn.files import writing_to

    if ranks.first:
        with output_folder(out, TRAINING, resume=resume) as work:
            ranks.barrier("folder")
            yield work
        return
    ranks.barrier("folder")
    with writing_to(out / TRAINING) as work:
        yield work


def example_node(graph: Graph) -> int:
    """A node to look at first: one that nothing was learned from, if there is one."""
    return int(graph.test[0]) if len(graph.test) else 0


def tune(
    data: GraphName,
    out: Annotated[Path, option("DIR", "Folder for the trials.")],
    budget: Annotated[str, option("TIME", "How long to search, for example 90s, 10m or 2h.")] = "10m",
    trials: Annotated[int | None, option("N", "Largest number of trials.  [default: as time allows]", min=1)] = None,
    settings: Assignments = None,
    seed: Seed = 0,
    device: OnDevice = Device.auto,
    quiet: Quiet = False,
) -> None:
    """Search for better settings on the validation nodes.

    Test nodes are not used. DIR then holds best.toml for `se-gnn train --config`, and one line per trial in
    trials.jsonl. Settings given with --set are used in every trial. The same command resumes an interrupted search.
    """
    from se_gnn.datasets import load_data
    from se_gnn.device import resolve_device
    from se_gnn.settings.reading import asked_settings
    from se_gnn.training.tuning import BEST, Tuning, parse_budget

    seconds = parse_budget(budget)
    asked = asked_settings(None, None, settings or [])
    where = resolve_device(device.value)
    search = Tuning(load_data(data, seed), asked, out, seed=seed, device=where)
    if search.trials and not quiet:
        say(f"Resuming the search in {out} after {count(len(search.trials), 'trial')}.")
    by = search.base.selection.best_by.replace("_", " ")

    def show(trial: Trial) -> None:
        if not quiet:
            best = search.best()
            ended = ", ended early" if trial.ended else ""
            say(
                f"trial {trial.number}: {trial.settings['recipe']}, {by} {trial.value:.4f} after {trial.epochs} epochs"
                f"{ended}; best so far {best.value:.4f} (trial {best.number})",
                err=True,
            )

    try:
        ranking = search.run(seconds, max_trials=trials, say=show)
    except KeyboardInterrupt as interrupt:
        say("\ninterrupted: the trials are kept, and the same command resumes the search", err=True)
        raise typer.Exit(130) from interrupt
    if not quiet:
        shown = ("recipe", "learning_rate", "weight_decay", "attribute_dropout", "temperature")
        names = [name for name in shown if name in ranking[0].settings]  # settings that the user gave are not searched
        rows = [
            [str(t.number), f"{t.value:.4f}", str(t.epochs), *(str(t.settings[name]) for name in names)]
            for t in ranking[:SHOWN_TRIALS]
        ]
        say(table(["trial", by, "epochs", *(name.replace("_", " ") for name in names)], rows))
        command = ["se-gnn", "train", data, "--config", str(out / BEST), "--out", "model/"]
        say(f"\nThe best settings are in {out / BEST}. Train with them:\n  {shlex.join(command)}")


def datasets() -> None:
    """List the data sets that `se-gnn train` knows by name."""
    from se_gnn.datasets import dataset_infos

    infos = dataset_infos()
    indent = max(len(info.name) for info in infos) + 2
    groups = (
        ("Embedded, nothing to download:", [info for info in infos if info.embedded]),
        ("Downloaded on first use:", [info for info in infos if not info.embedded and not info.by_hand]),
        ("Downloaded by hand:", [info for info in infos if info.by_hand]),
    )
    for title, members in groups:
        say(title)
        for info in members:
            say(paragraph(info.description, indent=indent + 2, label=f"  {info.name}"))
        say("")
    say(
        paragraph(
            "Files are read from the folder in the environment variable SE_GNN_DATA, then from the cache folder. "
            "If a file is missing, the error message says where to get it."
        )
    )
