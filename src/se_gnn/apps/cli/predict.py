"""`se-gnn predict`: one row per node, as CSV, JSON lines or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import (
    ModelFolder,
    Nodes,
    OtherGraph,
    OverwriteFile,
    Progress,
    Quiet,
    check_file,
    node_ids,
    shows_progress,
)
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import count
from se_gnn.errors import InputError
from se_gnn.progress import compilation_said, phase

if TYPE_CHECKING:
    from se_gnn.apps.cli.prediction_extras import Extra
    from se_gnn.graph import AttributedGraph
    from se_gnn.memory.sets import PredictionSets
    from se_gnn.model import Prediction

    Writer = Callable[[Prediction, AttributedGraph, Sequence[Extra]], bytes]


class Sets(StrEnum):
    """Methods of `se_gnn.memory.sets`."""

    lac = "lac"
    aps = "aps"
    daps = "daps"


class CalibrateOn(StrEnum):
    """Nodes that the size of sets is taken from."""

    calibration = "calibration"
    validation = "validation"


def predict(
    folder: ModelFolder,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="File to write; it must end in .csv, .jsonl or .parquet.", show_default=False
        ),
    ],
    nodes: Nodes = None,
    graph: OtherGraph = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Add the set of classes that holds the right one this often, as 0.9 (see train)."
        ),
    ] = None,
    sets: Annotated[Sets, typer.Option(help="How sets are made.")] = Sets.aps,
    by_class: Annotated[bool, typer.Option("--by-class", help="Keep the coverage for each class.")] = False,
    calibrate_on: Annotated[
        CalibrateOn, typer.Option(help="validation: without held out nodes, approximately.")
    ] = CalibrateOn.calibration,
    overwrite: OverwriteFile = False,
    quiet: Quiet = False,
    progress: Progress = False,
) -> None:
    """Predict the class of every node and write it to a file.

    One row per node: its name, the predicted class, the probability of each class, and the nearest labeled nodes with
    their weights. A labeled node is predicted by the others. With --coverage also the classes of its set, each with the
    nearest labeled node of that class.
    """
    from se_gnn.apps.cli.prediction_extras import SetCells
    from se_gnn.files import replace_file, writing_to
    from se_gnn.memory.sets import prediction_sets
    from se_gnn.model.folder import load_model_on

    writer = _writer(out)
    check_file(out, overwrite=overwrite)
    trained = load_model_on(folder, graph)
    wanted, shown = node_ids(trained.graph, nodes), shows_progress(progress, quiet)
    with compilation_said(shown=shown), phase("scoring", shown=shown):
        prediction = trained.predict(wanted)
        extras: list[Extra] = []
        said: list[str] = []
        if coverage is not None:
            found = prediction_sets(
                trained,
                prediction.nodes,
                coverage=coverage,
                method=sets.value,
                by_class=by_class,
                calibrate_on=calibrate_on.value,
                seed=int(trained.metrics.get("seed", 0)),
            )
            extras.append(SetCells(found, trained.graph))
            said.append(_about_sets(found))
    content = writer(prediction, trained.graph, extras)
    with writing_to(out.parent):
        replace_file(out, content)
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
        raise InputError(f"--out must end in {', '.join(writers)}, got {out.name!r}")
    if writer is prediction_files.as_parquet:
        require("pyarrow", extra="tables", feature="Parquet files")
    return writer
