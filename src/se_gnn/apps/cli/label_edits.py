"""`se-gnn labels edit` and `se-gnn labels history`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.arguments import ModelFolder, node_id
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import count, percent, table
from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.labels import Memory, Preview

MOST_SHOWN = 10  # predictions that change


class Action(StrEnum):
    """What to do with labels."""

    add = "add"
    remove = "remove"
    relabel = "relabel"
    restore = "restore"


def edit(
    folder: ModelFolder,
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="add, remove, relabel or restore.")],
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT...",
            help="NODE=CLASS to add or relabel, NODE (name or #POSITION) to remove, the number of a state to restore.",
        ),
    ],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept in the history.")] = "",
    by: Annotated[str | None, typer.Option(metavar="NAME", help="Who edits.  [default: the name of the user]")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the edited model to this new folder, and leave the model as it is."),
    ] = None,
    quiet: bool = False,
) -> None:
    """Edit the labeled nodes of a model without retraining; every edit can be undone.

    add labels nodes so that they vote: validation and test nodes leave their split. remove lets labeled nodes no longer
    vote, relabel gives them another class, and restore goes back to the labels after an edit, which is an edit of its
    own. The edited model gives the same answers as if it had been recomputed from scratch. The limit: the encoder
    learned from the old labels, so similarities stay as they are.
    """
    given: dict[str, Any] = {"reason": reason, "by": by, "dry_run": dry_run}
    _edit(folder, lambda memory: _edited(memory, action, what, given), dry_run, out, quiet)


def history(folder: ModelFolder) -> None:
    """List all edits of the labels of a model, oldest first."""
    from se_gnn.labels import Memory
    from se_gnn.model.folder import load_model

    entries = Memory(load_model(folder)).history
    if not entries:
        say(f"{folder}: the labels are as they were in training.")
    for entry in entries:
        accuracy = f"validation accuracy {percent(entry.accuracy_before)} to {percent(entry.accuracy_after)}"
        changed = count(entry.predictions_changed, "prediction") + " changed"
        say(f"{entry.number}  {entry.when}  {entry.by}: {entry.action}, {accuracy}, {changed}")
        if entry.reason:
            say(f"   reason: {entry.reason}")
        for change in entry.changes:
            say(f"   {change.node}: {_state(change.was.label)} to {_state(change.becomes.label)}")


def _edited(memory: Memory, action: Action, what: list[str], given: dict[str, Any]) -> Preview:
    if action is Action.add:
        return memory.add(_labels(memory, what), **given)
    if action is Action.relabel:
        return memory.relabel(_labels(memory, what), **given)
    if action is Action.remove:
        return memory.remove([node_id(memory.trained.graph, node) for node in what], **given)
    if len(what) != 1 or not what[0].isdecimal():
        raise InputError(f"restore takes the number of one state (see se-gnn labels history), got {' '.join(what)!r}")
    return memory.restore(int(what[0]), **given)


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
        say(f"\nWrote {folder if out is None else out}, state {number}; `restore {number - 1}` undoes this edit.")


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
