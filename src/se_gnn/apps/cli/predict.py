"""`se-gnn predict`: one row per node, as CSV, JSON lines or Parquet."""

from __future__ import annotations

from collections.abc import Callable
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
from se_gnn.apps.cli.tables import count
from se_gnn.errors import InputError
from se_gnn.progress import compilation_said, phase

if TYPE_CHECKING:
    from se_gnn.graph import AttributedGraph
    from se_gnn.model import Prediction

    Writer = Callable[[Prediction, AttributedGraph], bytes]


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
    overwrite: OverwriteFile = False,
    quiet: Quiet = False,
    progress: Progress = False,
) -> None:
    """Predict the class of every node and write it to a file.

    One row per node: its name, the predicted class, the probability of each class, and the nearest labeled nodes with
    their weights. A labeled node is predicted by the others.
    """
    from se_gnn.files import replace_file, writing_to
    from se_gnn.model.folder import load_model_on

    writer = _writer(out)
    check_file(out, overwrite=overwrite)
    trained = load_model_on(folder, graph)
    wanted, shown = node_ids(trained.graph, nodes), shows_progress(progress, quiet)
    with compilation_said(shown=shown), phase("scoring", shown=shown):
        prediction = trained.predict(wanted)
    content = writer(prediction, trained.graph)
    with writing_to(out.parent):
        replace_file(out, content)
    if not quiet:
        typer.echo(f"Wrote the predictions of {count(len(prediction.nodes), 'node')} to {out}.")


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
