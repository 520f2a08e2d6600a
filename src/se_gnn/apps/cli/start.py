"""`se-gnn start`: from tables to a first explanation and the explorer, in one command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.options import Assignments, Overwrite, Quick, option
from se_gnn.apps.cli.printing import paragraph, say
from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.tables.guess import Guess

FOLDER = "se-gnn-start"


def start(
    tables: Annotated[
        list[str],
        typer.Argument(metavar="TABLES", help="CSV or Parquet files: one row per node, and one row per edge."),
    ],
    out: Annotated[Path, option("DIR", "Folder for the graph and the model.")] = Path(FOLDER),
    label: Annotated[
        str | None, option("COLUMN", "Column to predict: classes or numbers.  [default: detected]")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept the proposal without asking.")] = False,
    quick: Quick = False,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Stop after the first explanation.")] = False,
    settings: Assignments = None,
    overwrite: Overwrite = False,
    quiet: bool = False,
) -> None:
    """Go from your tables to explained predictions.

    The command looks at the tables, proposes what each column means (IDs, label, source and target, direction, weight,
    type and time of the edges), gives its reasons, and asks you to confirm. It then imports the tables, trains a model,
    explains a first prediction and opens the explorer in your browser. Each step is also printed as a command that you
    can change and run yourself.
    """
    from se_gnn.apps.cli.explain import explain
    from se_gnn.apps.cli.inspecting import serve_model
    from se_gnn.apps.cli.outputs import check_import_folder, check_model_folder
    from se_gnn.apps.cli.train import example_node, train
    from se_gnn.graph.storage import load_graph
    from se_gnn.optional import require
    from se_gnn.tables import read_tables

    require("pyarrow", extra="tables", feature="tables")
    from se_gnn.tables.guess import guess_tables

    graph, model = out / "graph", out / "model"
    check_import_folder(graph, overwrite=overwrite)
    check_model_folder(model, overwrite=overwrite, resume=False)
    guess = guess_tables(tables, label=label)
    if not quiet or not yes:
        _show(guess, graph)
    _confirm(yes)
    nodes, edges = guess.tables
    imported = read_tables(nodes, edges, **guess.settings, out=graph)
    if not quiet:
        say(f"\n{imported.summary}\n")
    train(str(graph), model, quick=quick, settings=settings, overwrite=overwrite, quiet=quiet)
    say("")
    trained = load_graph(model)
    explain(model, node=f"#{example_node(trained)}")
    say("")
    if no_serve:
        say("Open the explorer in the browser:\n  " + shlex.join(["se-gnn", "serve", str(model)]))
    else:
        serve_model(model, browser=sys.stdout.isatty(), quiet=quiet)


def _show(guess: Guess, graph: Path) -> None:
    say("Proposal:")
    widest = min(36, max(len(what) for what, _ in guess.reasons))
    for what, why in guess.reasons:
        say(paragraph(why, indent=4 + widest, label=f"  {what}  "))
    say(f"\nThis is the same as\n  {guess.command(graph)}")


def _confirm(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask for confirmation: add --yes, or run the command above")
    if not typer.confirm("\nIs this right?", default=True):
        say("Nothing was imported. Correct the command above and run it; it prints the command to train with.")
        raise typer.Exit
