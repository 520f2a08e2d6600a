"""`se-gnn train`, `tune` and `datasets`; everything that can be wrong is checked before the work begins."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import Only
from se_gnn.apps.cli.options import (
    LESS_COMMON,
    Assignments,
    Device,
    GraphName,
    OnDevice,
    Overwrite,
    Quick,
    Seed,
    option,
    rare,
    shows_progress,
)
from se_gnn.apps.cli.printing import count, paragraph, say, table
from se_gnn.progress import phase

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.model import Model
    from se_gnn.ranks import Ranks
    from se_gnn.settings import Settings
    from se_gnn.training.tuning import Trial

SHOWN_TRIALS = 8


Task = StrEnum("Task", ["nodes", "links"])
Preset = StrEnum("Preset", ["best", "paper", "authors"])
OF_NODES = Only("without --task links", lambda values: values["task"] is Task.nodes)


def train(
    data: GraphName,
    out: Annotated[Path, option("DIR", "Folder for the model.")],
    quick: Annotated[Quick, OF_NODES] = False,
    settings: Assignments = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the interrupted training in DIR."), OF_NODES] = False,
    task: Annotated[
        Task,
        typer.Option(
            help="nodes: predict a class or number of nodes; links: predict edges.", rich_help_panel=LESS_COMMON
        ),
    ] = Task.nodes,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="Settings to start from: best, or those of the paper or its authors.  [default: best]",
            show_default=False,
            rich_help_panel=LESS_COMMON,
        ),
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
    quiet: bool = False,
) -> None:
    """Train a model on a graph and save it.

    DIR will hold everything that predicting and explaining need: the parameters, the settings, the graph and the
    results. The method and its settings are chosen on the validation nodes, and the reasons are printed; the test nodes
    are used once, at the end.

    Several processes started by torchrun share the work. With the default preset the result is the same bit for bit;
    with paper or authors it is the same up to rounding.
    """
    from se_gnn.apps.cli.outputs import TRAINING, check_model_folder
    from se_gnn.apps.cli.sharded import rank_device
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
    from se_gnn.apps.cli.outputs import TRAINING
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
    from se_gnn.apps.cli.outputs import TRAINING, output_folder
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
    quiet: bool = False,
) -> None:
    """Search for better settings on the validation nodes.

    Test nodes are not used. DIR then holds best.toml for `se-gnn train --config`, one line per trial in
    trials.jsonl and, if matplotlib is installed, trials.png. Settings given with --set are used in every trial. The
    same command resumes an interrupted search.
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
    _draw(search.trials, by, out)
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


def _draw(trials: list[Trial], by: str, out: Path) -> None:
    """Draw the trials if matplotlib is installed."""
    from se_gnn.optional import MissingPackage

    try:
        from se_gnn.plot.curves import trials_figure
    except MissingPackage:
        return
    from se_gnn.plot.style import save_figure

    save_figure(trials_figure([(t.settings["recipe"], t.value, t.ended) for t in trials], by), out / "trials.png")


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
