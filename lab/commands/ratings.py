"""`python -m lab ratings`: what raters said."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.commands import say
from se_gnn.apps.cli.options import OverwriteFile, Quiet
from se_gnn.apps.cli.outputs import RECORD_FILES, check_file, write_records
from se_gnn.display.terminal import count, percent, table

if TYPE_CHECKING:
    from lab.rating.summary import Summary

ALL = "all"


def ratings(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="SQLite file, as `python -m lab rate` writes it.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all answers to this file; it must end in .csv or .jsonl.")
    ] = None,
    overwrite: OverwriteFile = False,
    quiet: Quiet = False,
) -> None:
    """Show the ratings: the share of similar pairs per method, with confidence intervals, and agreement between raters.

    Skipped pairs count for no method. Answers that were undone are left out; they stay in the file.
    """
    if out is not None:
        check_file(out, RECORD_FILES, overwrite=overwrite)
    from lab.rating.store import RatingStore
    from lab.rating.summary import summarize

    store = RatingStore(file)
    found = store.ratings()
    store.close()
    summary = summarize(found, models=[name for name, _ in store.plan.models], methods=store.plan.methods)
    if out is not None:
        write_records([dataclasses.asdict(one) for one in found], out)
    if not quiet:
        say(_show(summary, len(found)))
        if out is not None:
            say(f"\nWrote {count(len(found), 'answer')} to {out}.")


def _show(summary: Summary, answers: int) -> str:
    from lab.rating.plan import METHODS

    rows = [
        [
            row.model or ALL,
            METHODS[row.method],
            f"{row.ratings:,}",
            percent(row.share),
            "-" if row.interval is None else " to ".join(map(percent, row.interval)),
            f"{row.skipped:,}",
        ]
        for row in summary.methods
    ]
    header = ["model", "method", "ratings", "similar", "95% interval", "skipped"]
    agreement = [
        [one.model or ALL, f"{one.shared:,}", "-" if one.alpha is None else f"{one.alpha:.3f}"]
        for one in summary.agreement
    ]
    return "\n\n".join(
        [
            f"{count(answers, 'answer')} by {count(summary.raters, 'rater')}",
            table(header, rows, names=(0, 1)),
            "Agreement between raters\n" + table(["model", "pairs rated twice or more", "alpha"], agreement),
            "95% interval: Wilson's, which takes ratings as independent\n"
            "alpha: Krippendorff's, nominal; 1 is perfect agreement, 0 what chance gives",
        ]
    )
