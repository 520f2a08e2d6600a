"""`se-gnn train`: checks all that can be wrong, then trains and saves."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.arguments import LARGEST_SEED, Device, GraphName, node_text, shows_progress
from se_gnn.apps.cli.commands import Only
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import WIDTH, count, percent
from se_gnn.errors import InputError
from se_gnn.progress import phase

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.model import TrainedModel
    from se_gnn.ranks import Ranks
    from se_gnn.settings import Resolved, Settings

UNLIKE = 0.1  # accuracy that far above the mean recall of the classes hides that some are not found


class Preset(StrEnum):
    """Presets of `se_gnn.settings`."""

    best = "best"
    paper = "paper"
    authors = "authors"


def _is_dataset(values: Mapping[str, Any]) -> bool:
    return dataset_name(values["data"]) is not None


DataFolder = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder with downloaded data sets."),
    Only("if DATA is the name of a data set", _is_dataset),
]


def train(
    data: GraphName,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the model.", show_default=False)],
    preset: Annotated[
        Preset | None, typer.Option(help="Settings to start from.  [default: best]", show_default=False)
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="TOML file with settings.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting, for example num_nearest=20. Repeatable."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="Random seed for split, initialization and samples."),
    ] = 0,
    device: Annotated[Device, typer.Option(help="auto: use CUDA if available.")] = Device.auto,
    max_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory limit for comparisons, for example 4GB.  [default: a quarter of the free memory]",
        ),
    ] = None,
    calibration: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            metavar="SHARE",
            help="Validation nodes that training does not look at, for predict --coverage.",
        ),
    ] = 0.0,
    data_dir: DataFolder = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that DIR holds.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the interrupted training in DIR.")] = False,
    quiet: bool = False,
    progress: bool = False,
) -> None:
    """Train a model on a graph and save it.

    DIR then holds the parameters, the settings, the metrics and the graph: all that evaluating, predicting and
    explaining need. Several processes, which torchrun starts, share the runs of the default, to the same bits, and
    train a single run of paper or authors together, to the same result up to rounding.
    """
    from se_gnn.apps.cli.output_folder import TRAINING, check_model_folder
    from se_gnn.apps.cli.sharded import rank_device, versions
    from se_gnn.datasets import load_dataset
    from se_gnn.graph.storage import load_graph
    from se_gnn.model import check_model_size
    from se_gnn.ranks import divided_threads, joined
    from se_gnn.settings.reading import asked_settings
    from se_gnn.similarity.memory import memory_budget
    from se_gnn.training.fit import with_calibration

    shown = shows_progress(progress, quiet)
    with joined() as ranks:
        divided_threads(ranks.local_size)
        shown, quiet = shown and ranks.first, quiet or not ranks.first
        if ranks.restarted and (out / TRAINING).is_dir():  # by torchrun, which gives the same command again
            overwrite, resume = False, True
        # from the quickest check to the slowest; nothing is written before all of them have passed
        if ranks.first:
            check_model_folder(out, overwrite=overwrite, resume=resume)
        dataset = dataset_name(data)
        asked = asked_settings(None if preset is None else preset.value, config, settings or [])
        asked.resolve(dataset=dataset)
        where = rank_device(device.value)
        memory_budget(max_memory)
        graph = load_graph(data) if dataset is None else load_dataset(dataset, seed=seed, data_dir=data_dir)
        graph.check_trainable()
        held = with_calibration(graph, calibration, seed=seed)
        resolved = asked.resolve(held)
        check_model_size(held, resolved)
        if not quiet:
            say(_describe(held, resolved, seed, str(where), ranks.size))
        if ranks.several:
            ranks.check_same({**versions(), **_agreed(held, resolved, seed)})
        trained = _train_and_save(
            graph, asked, out, ranks, resume=resume, seed=seed, device=str(where), max_memory=max_memory,
            calibration=calibration, progress=shown,
        )  # fmt: skip
    if not quiet:
        say(_report(trained, out))
        typer.echo(f"\nSaved to {out}. Now see why a node is predicted as it is:")
        say("  " + shlex.join(["se-gnn", "explain", str(out), "--node", node_text(graph, _example(graph))]))


def _agreed(graph: Graph, settings: Resolved, seed: int) -> dict[str, str]:
    """What all ranks must have in common: the seed and each setting by its name, then all of it with the data."""
    from se_gnn.training.checkpoint import fingerprint

    values = {name: json.dumps(value) for name, value in settings.values().items()}
    given = ", ".join(settings.asked.given)
    return {"seed": str(seed), **values, "given": given, "data": fingerprint(graph, settings.values(), seed)}


def dataset_name(data: str) -> str | None:
    """The exact name of a data set, or None for the folder of a stored graph; anything else is an error.

    A folder that has the name of a data set is meant where it is written as a path, ./digits.
    """
    from se_gnn.datasets import dataset_names
    from se_gnn.datasets.registry import unknown_dataset
    from se_gnn.graph.storage import holds_graph

    name = data.lower().replace("_", "-")
    if name in dataset_names():
        return name
    if data and holds_graph(data):
        return None
    if data and Path(data).is_dir():
        raise InputError(f"{data} is a folder without a stored graph (graph.json and graph.safetensors)")
    raise InputError(unknown_dataset(data, ", or a stored graph's folder"))


def _train_and_save(
    graph: Graph, settings: Settings, out: Path, ranks: Ranks, *, resume: bool, progress: bool, **options: Any
) -> TrainedModel:
    """Train in a folder inside ``out``; the model that ``out`` holds is replaced when the new one is whole."""
    from se_gnn import training
    from se_gnn.apps.cli.output_folder import TRAINING
    from se_gnn.files import read_file
    from se_gnn.model.evaluate import evaluate_nodes
    from se_gnn.model.folder import EPOCHS, save_model
    from se_gnn.training.checkpoint import NAME as CHECKPOINT

    try:
        with _work_folder(out, ranks, resume=resume) as work:
            trained = training.fit(graph, settings, progress=progress, folder=work, ranks=ranks, **options)
            if ranks.first:
                with phase("scoring", shown=progress):
                    test = evaluate_nodes(trained, graph.test)  # looked at once, when everything has been chosen
                trained = trained.with_facts(test=test)
                save_model(trained, out, epochs=read_file(work / EPOCHS))
            ranks.barrier("saved")
    except KeyboardInterrupt as interrupt:
        kept = any((out / TRAINING).rglob(CHECKPOINT))  # of one of its runs
        hint = "To resume from the last checkpoint" if kept else "Nothing was kept yet. To start again"
        typer.echo(f"\ninterrupted. {hint}, run the same command with --resume.", err=True)
        raise typer.Exit(130) from interrupt
    return trained


@contextmanager
def _work_folder(out: Path, ranks: Ranks, *, resume: bool) -> Iterator[Path]:
    """The folder for work in progress: the first rank makes it and removes it, the others come after and leave before.

    Where the machines share no folder, each keeps its own checkpoints.
    """
    from se_gnn.apps.cli.output_folder import TRAINING, output_folder
    from se_gnn.files import writing_to

    if ranks.first:
        with output_folder(out, TRAINING, resume=resume) as work:
            ranks.barrier("folder")
            yield work
        return
    ranks.barrier("folder")
    with writing_to(out / TRAINING) as work:
        yield work


def _describe(graph: Graph, settings: Resolved, seed: int, device: str, ranks: int) -> str:
    """What was understood, before the work begins."""
    kind = "dense" if not hasattr(graph.features, "indptr") else "sparse"
    alone = int((graph.degrees == 0).sum())
    similarity = settings.similarity
    lines = [
        f"{graph.name}: {count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}, "
        f"{graph.num_features:,} {kind} features, {count(graph.num_classes, 'class', 'classes')}",
        f"  split     {len(graph.train):,} labeled, {len(graph.validation):,} validation, "
        f"{len(graph.test):,} test nodes",
    ]
    if len(graph.calibration):
        told = f"{count(len(graph.calibration), 'node')} held out for sets with a guarantee (predict --coverage)"
        lines += _wrapped("calibrate", told)
    if graph.merged.given > graph.num_edges:
        lines += _wrapped("merged", str(graph.merged))
    if alone:
        lines += _wrapped("alone", f"{count(alone, 'node')} without edges, compared by their own attributes only")
    if ranks > 1:
        lines += _wrapped("processes", f"{ranks}, {_divided(settings)}")
    lines += _wrapped("preset", _taken(settings, graph))
    if settings.selection.portfolio:
        told = "Settings are chosen on the validation nodes; the reasons follow."
        if not len(graph.validation):
            told = "There are no validation nodes to choose by: the first recipe is used, with its own settings."
        return "\n".join([*lines, *_wrapped("settings", told), f"  run       seed {seed}, on {device}", ""])
    lines += _wrapped(
        "settings",
        f"{settings.vote.num_nearest} nearest of {len(graph.train):,} labeled nodes, "
        f"{similarity.measure} similarity, lambda {similarity.node_weight:g}, {count(similarity.hops, 'hop')}, "
        f"up to {count(settings.training.epochs, 'epoch')}",
    )
    return "\n".join([*lines, f"  run       seed {seed}, on {device}", ""])


def _divided(settings: Resolved) -> str:
    """What several processes do."""
    from se_gnn.training.trainer import is_split

    if settings.selection.portfolio or settings.encoder.members > 1:
        return "each trains whole runs"
    if is_split(settings):
        return "which train one run together"
    return "one of which trains: a single run with objective = vote is not split"


def _taken(settings: Resolved, graph: Graph) -> str:
    """Which preset fills in the settings, whether it has some for this data set, and how many were given."""
    from se_gnn.settings.presets import PRESETS

    own = PRESETS[settings.preset].dataset_with_settings(graph.dataset)
    given = f", {count(len(settings.asked.given), 'setting')} given" if settings.asked.given else ""
    return f"{settings.preset}, " + (f"with its settings for {own}" if own else "as for every graph") + given


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12)


def _report(trained: TrainedModel, out: Path) -> str:
    """What was decided in a finished training, and its figures."""
    facts, best, most = trained.facts, trained.facts.chosen_run, trained.settings.training.epochs
    assert best is not None
    test, validation = facts.test or {}, facts.validation or {}
    stopped = f" of {most:,}: stopped early," if best.stopped_early else ","
    runs = f" in {len(facts.runs)} runs" if len(facts.runs) > 1 else f"{stopped} the best was epoch {best.best_epoch}"
    decided = [line for decision in trained.settings.decisions for line in _wrapped("decided", str(decision))]
    return "\n".join(
        [
            *([*decided, ""] if decided else []),
            f"test accuracy        {percent(test['accuracy'])}",
            f"validation accuracy  {percent(validation['accuracy'])}",
            f"precision@5          {percent(test['precision_at_5'])}",
            f"epochs               {facts.epochs}{runs}; {facts.seconds_per_epoch:.2g} s each",
            *unlike_classes(test, out),
        ]
    )


def unlike_classes(test: Mapping[str, Any], out: Path) -> list[str]:
    """That accuracy says little, where the classes of the test nodes are found in very different shares."""
    accuracy, balanced = test["accuracy"], test["balanced_accuracy"]
    if accuracy is None or accuracy - balanced < UNLIKE:
        return []
    told = (
        f"Accuracy says little here: the mean recall of the classes is {percent(balanced)}, some are seldom found. "
        f"{shlex.join(['se-gnn', 'evaluate', str(out)])} shows each class. Rank nodes by the probability of a rare "
        "class, or let fewer nodes of the common ones vote (se-gnn import --set max_train=N)."
    )
    return ["", *textwrap.wrap(told, WIDTH, break_on_hyphens=False)]


def _example(graph: Graph) -> int:
    return int(graph.test[0]) if len(graph.test) else 0
