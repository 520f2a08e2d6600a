"""`se-gnn predict`: one row per node, as CSV, JSON lines or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import (
    LARGEST_SEED,
    ModelFolder,
    Nodes,
    OtherGraph,
    Overwrite,
    check_file,
    node_ids,
    shows_progress,
)
from se_gnn.apps.cli.commands import Only, beside
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.shard_options import (
    PATIENCE,
    SHARD_NODES,
    Device,
    MaxMemory,
    OnDevice,
    ShardNodes,
    ShardOptions,
    Wait,
    is_shard_folder,
    refuse_several_ranks,
)
from se_gnn.apps.cli.sharded import predict_in_shards
from se_gnn.apps.cli.tables import count
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.apps.cli.prediction_extras import Extra
    from se_gnn.graph import Graph
    from se_gnn.labels.novelty import Novelty
    from se_gnn.labels.sets import PredictionSets
    from se_gnn.model import Prediction

    Writer = Callable[[Prediction, Graph, Sequence[Extra]], bytes]


class Sets(StrEnum):
    """Methods of `se_gnn.labels.sets`."""

    lac = "lac"
    aps = "aps"
    daps = "daps"


class CalibrateOn(StrEnum):
    """Nodes that the size of sets is taken from."""

    calibration = "calibration"
    validation = "validation"


FOLDER = Only("if --out is a folder, without an ending", lambda values: is_shard_folder(values["out"]))
FILE = Only("if --out ends in .csv, .jsonl or .parquet", lambda values: not is_shard_folder(values["out"]))
NEW = beside("--new-nodes")
SETS = beside("--coverage")


def predict(
    folder: ModelFolder,
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="File to write, ending in .csv, .jsonl or .parquet; or a folder, for Parquet files of --shard nodes.",
            show_default=False,
        ),
    ],
    nodes: Nodes = None,
    graph: OtherGraph = None,
    device: OnDevice = Device.cpu,
    max_memory: MaxMemory = None,
    overwrite: Overwrite = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Add the set of classes that contains the right one this often, for example 0.9 (see train).",
        ),
        FILE,
    ] = None,
    abstain: Annotated[
        bool, typer.Option("--abstain", help="Give no answer for nodes unlike anything known."), FILE
    ] = False,
    new_nodes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table of nodes that arrived after training; they are the ones predicted."),
        FILE,
    ] = None,
    new_edges: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Their edges, to known nodes and to each other."), NEW
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ROLE",
            help="What a column of the new tables is: id, source, target or ignore. Repeatable.",
        ),
        NEW,
    ] = None,
    changes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the known nodes whose class changes; .csv or .jsonl."),
        NEW,
    ] = None,
    keep_graph: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the graph with the new nodes, for explain --graph and report --graph."),
        NEW,
    ] = None,
    sets: Annotated[Sets, typer.Option(help="How sets are made."), SETS] = Sets.aps,
    by_class: Annotated[bool, typer.Option("--by-class", help="Keep the coverage for each class."), SETS] = False,
    calibrate_on: Annotated[
        CalibrateOn, typer.Option(help="validation: without held out nodes, approximately."), SETS
    ] = CalibrateOn.calibration,
    false_alarms: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of the validation nodes that would have no answer."),
        beside("--abstain"),
    ] = 0.05,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only N nodes, drawn at random by --seed."), FOLDER
    ] = None,
    shard: Annotated[ShardNodes, FOLDER] = SHARD_NODES,
    wait: Annotated[Wait, FOLDER] = PATIENCE,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="Random seed for --sample."), beside("--sample")
    ] = 0,
    quiet: bool = False,
    progress: bool = False,
) -> None:
    """Predict the class of every node and write it to a file, or to a folder of Parquet files.

    One row per node: its name, the predicted class, the probability of each class, and the nearest labeled nodes with
    their weights. A labeled node is predicted by the others. With --coverage also the classes of its set, each with the
    nearest labeled node of that class. With --new-nodes the graph grows first; nothing is trained.
    With --abstain a node unlike anything known has no answer; its nearest cases are written all the same.
    A folder can be written by several processes, which torchrun starts, and goes on where it stopped.
    """
    from se_gnn.apps.cli.new_nodes import Arriving
    from se_gnn.apps.cli.prediction_extras import AnswerCells, SetCells
    from se_gnn.device import resolve_device
    from se_gnn.files import replace_file, writing_to
    from se_gnn.labels.novelty import novelty
    from se_gnn.labels.sets import prediction_sets
    from se_gnn.model.folder import load_model_on

    if is_shard_folder(out):
        options = ShardOptions(out, shard, max_memory, device, wait, overwrite, quiet, progress)
        predict_in_shards(folder, graph, options, nodes=nodes, sample=sample, seed=seed)
        return
    writer = _writer(out)
    refuse_several_ranks(out)
    check_file(out, overwrite=overwrite)
    arriving = Arriving.checked(new_nodes, new_edges, changes, keep_graph, column, overwrite=overwrite)
    trained = load_model_on(folder, graph, device=resolve_device(device.value), max_memory=max_memory)
    extension = None
    if arriving is not None:
        with announce_compilation(shown=shows_progress(progress, quiet)):
            extension = arriving.extend(trained)
        trained = extension.trained
    wanted, shown = node_ids(trained.graph, nodes), shows_progress(progress, quiet)
    with announce_compilation(shown=shown), phase("scoring", shown=shown):
        if extension is not None and wanted is None:
            prediction = extension.prediction
        else:
            prediction = trained.predict(trained.graph.candidates if wanted is None else wanted)
        extras: list[Extra] = []
        said: list[str] = [] if arriving is None or extension is None else arriving.about(extension)
        if coverage is not None:
            found = prediction_sets(
                trained,
                prediction.nodes,
                coverage=coverage,
                method=sets.value,
                by_class=by_class,
                calibrate_on=calibrate_on.value,
                seed=trained.facts.seed,
            )
            extras.append(SetCells(found, trained.graph))
            said.append(_about_sets(found))
        if abstain:
            seed = trained.facts.seed
            scored = novelty(trained, prediction.nodes, false_alarms=false_alarms, seed=seed)
            extras.append(AnswerCells(scored, prediction, trained.graph))
            said.append(_about_answers(scored))
    content = writer(prediction, trained.graph, extras)
    with writing_to(out.parent):
        replace_file(out, content)
    if arriving is not None and extension is not None:
        arriving.write(extension)
    if not quiet:
        typer.echo(f"Wrote the predictions of {count(len(prediction.nodes), 'node')} to {out}.")
        for line in said:
            say(line)


def _about_sets(found: PredictionSets) -> str:
    """What the sets promise, and how large they are."""
    of = "each class" if found.by_class else "all nodes"
    promise = f"at least {found.coverage:.1%} of {of}" if found.guaranteed else f"about {found.coverage:.1%} of {of}"
    return (
        f"Sets ({found.method.upper()}) hold the right class for {promise}, calibrated on "
        f"{count(int(found.calibrated.sum()), 'node')}: {found.mean_size:.2f} classes per set, "
        f"{count(int((found.sizes == 1).sum()), 'set')} of one class, {int((found.sizes == 0).sum()):,} empty."
    )


def _about_answers(scored: Novelty) -> str:
    """How many nodes have no answer, and what the threshold promises."""
    return (
        f"No answer for {count(int(scored.abstains.sum()), 'node')}, unlike anything known; of nodes like the "
        f"{scored.judged:,} that the threshold was taken from, {scored.false_alarms:.1%} would be among them."
    )


def _writer(out: Path) -> Writer:
    """The format by the ending of the name, and the package it needs."""
    from se_gnn.apps.cli import prediction_files
    from se_gnn.optional import require

    writers: dict[str, Writer] = {
        ".csv": prediction_files.as_csv,
        ".jsonl": prediction_files.as_json_lines,
        ".parquet": prediction_files.as_parquet,
    }
    writer = writers.get(out.suffix.lower())
    if writer is None:
        raise InputError(f"--out must end in {', '.join(writers)} or name a folder, got {out.name!r}")
    if writer is prediction_files.as_parquet:
        require("pyarrow", extra="tables", feature="Parquet files")
    return writer
