"""`se-gnn labels suggest`: which nodes to label next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import (
    ModelFolder,
    Nodes,
    OtherGraph,
    OverwriteFile,
    node_ids,
    shows_progress,
)
from se_gnn.apps.cli.commands import beside
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.record_files import Record, check_record_file, write_records
from se_gnn.apps.cli.tables import count as counted
from se_gnn.apps.cli.tables import percent, table
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.labels.suggest import Suggestion

WRITES = beside("--out")


def suggest(
    folder: ModelFolder,
    count: Annotated[int, typer.Option(min=1, metavar="N", help="How many nodes.")] = 20,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the suggestions to this file; .csv or .jsonl.")
    ] = None,
    nodes: Nodes = None,
    graph: OtherGraph = None,
    overwrite: Annotated[OverwriteFile, WRITES] = False,
    quiet: Annotated[bool, WRITES] = False,
    progress: bool = False,
) -> None:
    """Suggest nodes to label next, most helpful first.

    A node helps if the model is uncertain about it and the nodes like it, nothing labeled is near it, and many nodes
    are. Each is chosen as if those before it were labeled. Give them classes, then `se-gnn labels edit DIR add`, or
    train again.
    """
    if out is not None:
        check_record_file(out, overwrite=overwrite)
    from se_gnn.labels.suggest import suggest as choose
    from se_gnn.model.folder import load_model_on

    trained, shown = load_model_on(folder, graph), shows_progress(progress, quiet)
    pool = node_ids(trained.graph, nodes)
    with announce_compilation(shown=shown), phase("scoring", shown=shown):
        found = choose(trained, count, candidates=pool, seed=trained.facts.seed)
    if out is not None:
        write_records([_record(one) for one in found], out)
    if not quiet:
        say(_show(found))
        if out is not None:
            say(f"\nWrote {counted(len(found), 'node')} to {out}.")


def _record(one: Suggestion) -> Record:
    return {
        "node": one.name,
        "predicted": one.predicted,
        "uncertainty": one.uncertainty,
        "nearest": one.nearest,
        "similarity": one.similarity,
        "represents": one.represents,
        "worth": one.worth,
    }


def _show(found: list[Suggestion]) -> str:
    header = ["node", "predicted", "uncertain", "nearest labeled", "cosine", "represents"]
    rows = [
        [one.name, one.predicted, percent(one.uncertainty), one.nearest, f"{one.similarity:.2f}", f"{one.represents:,}"]
        for one in found
    ]
    return table(header, rows, names=(0, 1, 3))
