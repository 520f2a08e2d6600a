"""`se-gnn report`: one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from se_gnn.apps.cli.arguments import (
    ModelFolder,
    OtherGraph,
    OverwriteFile,
    check_file,
    node_ids,
    shows_progress,
)
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation, phase

ENDINGS = (".html", ".htm")


def report(
    folder: ModelFolder,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write; it must end in .html.", show_default=False)],
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Nodes to explain: names or #POSITION, with commas. Repeatable. Without it: certain and wrong ones.",
        ),
    ] = None,
    graph: OtherGraph = None,
    k: Annotated[
        int, typer.Option("--k", "-k", min=1, metavar="N", help="How many of the nearest labeled nodes to picture.")
    ] = 4,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Heading of the page; without it, the name of the data set.")
    ] = None,
    overwrite: OverwriteFile = False,
    quiet: bool = False,
    progress: bool = False,
) -> None:
    """Write a page about a model and the evidence of some of its predictions.

    One HTML file that needs no network: how good the model is, which predictions are certain or wrong, and for each of
    some nodes the vote, the matched local graphs, the attributes they share, and what would change the answer.
    """
    from se_gnn.files import replace_file, writing_to
    from se_gnn.model.folder import load_model_on
    from se_gnn.optional import require
    from se_gnn.report import report_html

    if out.suffix.lower() not in ENDINGS:
        raise InputError(f"--out must end in .html, got {out.name!r}")
    check_file(out, overwrite=overwrite)
    require("jinja2", extra="report", feature="reports")
    trained = load_model_on(folder, graph)
    wanted = node_ids(trained.graph, nodes)
    shown = shows_progress(progress, quiet)
    with announce_compilation(shown=shown), phase("scoring", shown=shown):
        page = report_html(trained, wanted, k=k, title=title, progress=shown).encode()
    with writing_to(out.parent):
        replace_file(out, page)
    if not quiet:
        typer.echo(f"Wrote {out} ({len(page) / 1e6:.1f} MB); open it in a browser.")
