"""`se-gnn labels audit`: which labeled nodes to look at."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import ModelFolder, OtherGraph, OverwriteFile, shows_progress
from se_gnn.apps.cli.commands import Only, beside
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.record_files import Record, check_record_file, write_records
from se_gnn.apps.cli.tables import WIDTH, count, percent, table
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.labels import Audit, AuditRow

WRITES = beside("--out")


def audit(
    folder: ModelFolder,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all labeled nodes to this file; it must end in .csv or .jsonl."),
    ] = None,
    top: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="How many labeled nodes to print."),
        Only("without --quiet", lambda values: not values["quiet"]),
    ] = 15,
    orders: Annotated[
        int, typer.Option(min=2, metavar="N", help="Random orders for the Shapley values of the weighted vote.")
    ] = 100,
    graph: OtherGraph = None,
    overwrite: Annotated[OverwriteFile, WRITES] = False,
    quiet: Annotated[bool, WRITES] = False,
    progress: bool = False,
) -> None:
    """Judge the labeled nodes: which are probably labeled wrong, mislead others, are never used, carry a region.

    Most suspicious first. For each node: the probability that its label is wrong, the class that all other labels
    suggest, the class that the other cases vote for, validation accuracy without it, its Shapley value in the vote, how
    many predictions use it, and how many its removal would change. Nothing is trained or changed: see
    `se-gnn labels edit`.
    """
    if out is not None:
        check_record_file(out, overwrite=overwrite)
    from se_gnn.labels import audit as judge
    from se_gnn.model.folder import load_model_on

    trained, shown = load_model_on(folder, graph), shows_progress(progress, quiet)
    with announce_compilation(shown=shown), phase("audit", shown=shown):
        found = judge(trained, num_orders=orders)
    if out is not None:
        write_records([_record(row, trained.graph) for row in found], out)
    if not quiet:
        say(_show(found, top))
        if out is not None:
            say(f"\nWrote {count(len(found), 'labeled node')} to {out}.")


def _record(row: AuditRow, graph: Graph) -> Record:
    names = graph.class_names
    return {
        "node": row.name,
        **({} if graph.captions is None else {"caption": graph.captions[row.node]}),
        "label": names[row.label],
        "findings": [str(finding) for finding in row.findings],
        "suspicion": row.suspicion,
        "suggested": names[row.suggested],
        "vote": names[row.vote],
        "vote_probability": row.vote_probability,
        "label_probability": row.label_probability,
        "accuracy_gain_without": row.accuracy_gain,
        "loss_gain_without": row.loss_gain,
        "shapley": row.shapley,
        "weighted_shapley": row.weighted_shapley,
        "weighted_shapley_error": row.weighted_shapley_error,
        "used": row.used,
        "weight": row.weight,
        "decides": row.decides,
    }


def _show(found: Audit, top: int) -> str:
    from se_gnn.labels import Finding

    counts = [[str(one), f"{len(found.found(one)):,}", percent(len(found.found(one)) / len(found))] for one in Finding]
    names = found.graph.class_names
    rows = [
        [
            found.graph.caption(row.node),
            names[row.label],
            names[row.suggested],
            percent(row.suspicion),
            names[row.vote],
            "-" if row.accuracy_gain is None else f"{100 * row.accuracy_gain:+.1f}",
            f"{row.decides:,}",
            ", ".join(_SHORT[finding] for finding in row.findings),
        ]
        for row in list(found)[:top]
    ]
    header = ["node", "label", "suggested", "wrong", "vote", "accuracy", "decides", "findings"]
    listed = table(header, rows, names=(0, 1, 2, 4))
    return "\n\n".join(
        [
            f"{found.graph.name}: {count(len(found), 'labeled node')}",
            table(["finding", "nodes", "share"], counts),
            f"Most suspicious first\n{listed}",
            textwrap.fill(_how_well(found), WIDTH),
            "suggested: the class that all other labels suggest; wrong: the probability that the label is wrong\n"
            "vote: the class that the other cases give it; accuracy: of validation nodes without it, in points\n"
            "decides: predictions that removing it would change",
        ]
    )


def _how_well(found: Audit) -> str:
    judged = found.suspicion
    estimate = f"About {percent(judged.rate)} of the labels are estimated to be wrong."
    if judged.rehearsal is None:
        return f"{estimate} There are too few validation labels to try out how well wrong ones are found."
    planted, hits, among, _ = judged.rehearsal
    return f"{estimate} Tried out: it finds {hits} of {planted} planted errors among its first {among}."


_SHORT = {
    "probably labeled wrong": "wrong",
    "misleads others": "misleads",
    "never used": "unused",
    "carries a region": "carries",
}
