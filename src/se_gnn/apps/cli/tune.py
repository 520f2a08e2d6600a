"""`se-gnn tune`: a search for settings on validation nodes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import LARGEST_SEED, Device, GraphName
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import table
from se_gnn.apps.cli.train import DataFolder, dataset_name

if TYPE_CHECKING:
    from se_gnn.training.tuning import Trial

SHOWN = 8  # trials in the table on the screen


def tune(
    data: GraphName,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the trials.", show_default=False)],
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long to search, as 90s, 10m or 2h.")] = "10m",
    trials: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Largest number of trials.  [default: as time allows]")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting to use in every trial. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="Random seed.")] = 0,
    device: Annotated[Device, typer.Option(help="auto: use CUDA if available.")] = Device.auto,
    data_dir: DataFolder = None,
    quiet: bool = False,
) -> None:
    """Search for better settings on the validation nodes; test nodes are not looked at.

    DIR then holds best.toml for `se-gnn train --config`, a line per trial in trials.jsonl and, if matplotlib is
    installed, trials.png. The same command resumes a search that was interrupted.
    """
    from se_gnn.datasets import load_dataset
    from se_gnn.device import resolve_device
    from se_gnn.graph.storage import load_graph
    from se_gnn.settings.reading import asked_settings
    from se_gnn.training.tuning import BEST, Tuning, parse_budget

    seconds = parse_budget(budget)
    dataset = dataset_name(data)
    asked = asked_settings(None, None, settings or [])
    where = resolve_device(device.value)
    graph = load_graph(data) if dataset is None else load_dataset(dataset, seed=seed, data_dir=data_dir)
    search = Tuning(graph, asked, out, seed=seed, device=where)
    if search.trials and not quiet:
        typer.echo(f"{len(search.trials)} trials were found in {out}: resuming.")
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
        typer.echo("\ninterrupted: the trials are kept, and the same command resumes the search", err=True)
        raise typer.Exit(130) from interrupt
    _draw(search.trials, by, out)
    if not quiet:
        shown = ("recipe", "learning_rate", "weight_decay", "attribute_dropout", "temperature")
        names = [name for name in shown if name in ranking[0].settings]  # what the user set is not searched
        rows = [
            [str(t.number), f"{t.value:.4f}", str(t.epochs), *(str(t.settings[name]) for name in names)]
            for t in ranking[:SHOWN]
        ]
        typer.echo(table(["trial", by, "epochs", *(name.replace("_", " ") for name in names)], rows))
        command = ["se-gnn", "train", data, "--config", str(out / BEST), "--out", "model/"]
        say(f"\nThe best settings are in {out / BEST}. Train with them:\n  {shlex.join(command)}")


def _draw(trials: list[Trial], by: str, out: Path) -> None:
    """The trials as a picture, where matplotlib is installed."""
    from se_gnn.optional import MissingPackage

    try:
        from se_gnn.plot.trials import trials_figure
    except MissingPackage:
        return
    from se_gnn.plot.save import save_figure

    save_figure(trials_figure([(t.settings["recipe"], t.value, t.ended) for t in trials], by), out / "trials.png")
