"""`se-gnn memory`: edit the labeled nodes of a model without training again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.arguments import ModelFolder, Quiet, node_id
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import count, percent, table
from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.labels import Memory, Preview

MOST_SHOWN = 10  # predictions that change

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept in the history.")]
By = Annotated[str | None, typer.Option(metavar="NAME", help="Who edits; without it, the name of the user.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write the edited model to this new folder, and leave DIR as it is.")
]
NodeClass = Annotated[
    list[str], typer.Argument(metavar="NODE=CLASS...", help="Nodes, by name or #POSITION, and their classes.")
]
NodeNames = Annotated[list[str], typer.Argument(metavar="NODE...", help="Labeled nodes, by name or #POSITION.")]

memory = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})


@memory.callback(no_args_is_help=True)
def _folder(context: typer.Context, folder: ModelFolder) -> None:
    """Edit the labeled nodes of a model without training again, with a history that can be gone back in.

    The edited model is a model folder like any other, and answers as a vote computed from nothing. The limit: the
    encoder learned from the old labels, so similarities stay as they are.
    """
    context.obj = folder


@memory.command()
def add(
    context: typer.Context,
    nodes: NodeClass,
    reason: Reason = "",
    by: By = None,
    dry_run: DryRun = False,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Let nodes vote for a class; a validation or test node leaves its part of the split."""
    _edit(context.obj, lambda m: m.add(_labels(m, nodes), reason=reason, by=by, dry_run=dry_run), dry_run, out, quiet)


@memory.command()
def remove(
    context: typer.Context,
    nodes: NodeNames,
    reason: Reason = "",
    by: By = None,
    dry_run: DryRun = False,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Let labeled nodes no longer vote."""
    _edit(
        context.obj,
        lambda m: m.remove([node_id(m.trained.graph, node) for node in nodes], reason=reason, by=by, dry_run=dry_run),
        dry_run,
        out,
        quiet,
    )


@memory.command()
def relabel(
    context: typer.Context,
    nodes: NodeClass,
    reason: Reason = "",
    by: By = None,
    dry_run: DryRun = False,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Let labeled nodes vote for another class."""
    _edit(
        context.obj, lambda m: m.relabel(_labels(m, nodes), reason=reason, by=by, dry_run=dry_run), dry_run, out, quiet
    )


@memory.command()
def restore(
    context: typer.Context,
    number: Annotated[int, typer.Argument(metavar="STATE", help="Number of an edit; 0 is the memory as trained.")],
    reason: Reason = "",
    by: By = None,
    dry_run: DryRun = False,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Go back to the memory after an edit; that is an edit of its own."""
    _edit(context.obj, lambda m: m.restore(number, reason=reason, by=by, dry_run=dry_run), dry_run, out, quiet)


@memory.command()
def history(context: typer.Context) -> None:
    """List all edits, oldest first."""
    from se_gnn.labels import Memory
    from se_gnn.model.folder import load_model

    entries = Memory(load_model(context.obj)).history
    if not entries:
        say(f"{context.obj}: the memory is as it was trained.")
    for entry in entries:
        accuracy = f"validation accuracy {percent(entry.accuracy_before)} to {percent(entry.accuracy_after)}"
        changed = count(entry.predictions_changed, "prediction") + " changed"
        say(f"{entry.number}  {entry.when}  {entry.by}: {entry.action}, {accuracy}, {changed}")
        if entry.reason:
            say(f"   reason: {entry.reason}")
        for change in entry.changes:
            say(f"   {change.node}: {_state(change.was.label)} to {_state(change.becomes.label)}")


def _edit(folder: Path, edit: Callable[[Memory], Preview], dry_run: bool, out: Path | None, quiet: bool) -> None:
    from se_gnn.labels import Memory
    from se_gnn.model.folder import load_model, read_epochs, save_model

    if out is not None and out.exists():
        raise InputError(f"--out {out} exists; name a new folder")
    with contextlib.nullcontext() if dry_run or out is not None else _only_writer(folder):
        memory = Memory(load_model(folder))
        found = edit(memory)
        if not dry_run:
            save_model(found.edited, folder if out is None else out, epochs=read_epochs(folder))
    if quiet:
        return
    say(_show(found))
    if dry_run:
        say("\nNothing was changed (--dry-run).")
    else:
        number = len(found.edited.history)
        say(f"\nWrote {folder if out is None else out}, state {number}; `restore {number - 1}` takes this edit back.")


@contextlib.contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Nobody else edits between the reading and the writing."""
    from se_gnn.files import locked, writing_to

    if not folder.is_dir():
        raise InputError(f"model folder {folder} does not exist")
    with writing_to(folder), locked(folder):
        yield


def _show(found: Preview) -> str:
    graph, classes = found.edited.graph, found.edited.graph.class_names
    changes = [[one.node, _state(one.was.label), _state(one.becomes.label)] for one in found.changes]
    before, after = found.validation_before, found.validation_after
    figures = [
        ["accuracy", percent(before.accuracy), percent(after.accuracy)],
        ["log loss", f"{before.loss:.4f}", f"{after.loss:.4f}"],
        ["nodes", f"{before.nodes:,}", f"{after.nodes:,}"],
    ]
    was, now = found.before.classes, found.after.classes
    rows = [[graph.node_names[node], classes[was[node]], classes[now[node]]] for node in found.changed[:MOST_SHOWN]]
    text = [
        table(["labeled node", "was", "becomes"], changes, names=(0, 1, 2)),
        table(["validation", "before", "after"], figures),
        f"{count(len(found.changed), 'prediction')} of {graph.num_nodes:,} would be of another class"
        if not len(rows)
        else f"{count(len(found.changed), 'prediction')} of {graph.num_nodes:,} of another class\n"
        + table(["node", "before", "after"], rows, names=(0, 1, 2))
        + ("\n..." if len(found.changed) > MOST_SHOWN else ""),
        "The encoder learned from the old labels: similarities stay as they are.",
    ]
    return "\n\n".join(text)


def _state(label: str | None) -> str:
    return "not labeled" if label is None else label


def _labels(memory: Memory, texts: list[str]) -> dict[int, str]:
    """Nodes with their classes, from NODE=CLASS; where names hold equals signs, the last one before a known class."""
    graph, labels = memory.trained.graph, dict[int, str]()
    for text in texts:
        signs = [i for i, character in enumerate(text) if character == "=" and i > 0]
        if not signs:
            raise InputError(f"give NODE=CLASS, got {text!r}")
        place = next((i for i in reversed(signs) if text[i + 1 :] in graph.class_names), signs[-1])
        node = node_id(graph, text[:place])
        if node in labels:
            raise InputError(f"each node can be changed once, {graph.node_names[node]!r} is named twice")
        labels[node] = text[place + 1 :]
    return labels
