"""The labeled nodes of a model: look at them, edit them without training, undo.

An edit changes which labeled nodes vote, and for which class. The edited model gives the same answers as if it had been
computed from scratch. Every edit is an entry of the history, oldest first, with the states before and after: a line of
`memory.jsonl` in the model folder. State 0 is the memory as it was trained, state n the one after entry n. Entries are
never removed: restoring an old state is an edit of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError, shortened
from se_gnn.files import locked, sha256, writing_to
from se_gnn.files.json_text import read_record
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.labels.edits import Change, Preview, State, labeling, preview, removing, state_of
from se_gnn.model import Model
from se_gnn.model.folder import HISTORY, load_model, read_epochs, save_model
from se_gnn.number_format import known


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One edit: when, by whom, what replaced what, and why."""

    number: int
    when: str  # ISO 8601, UTC
    by: str
    action: str  # add, remove, relabel or restore
    reason: str
    changes: tuple[Change, ...]
    accuracy_before: float | None  # on the validation nodes
    accuracy_after: float | None
    predictions_changed: int
    model: str  # digest of the parameters that it belongs to


def read_history(trained: Model) -> tuple[Entry, ...]:
    """The entries of a model, checked: they are of this model, and lead to the states its graph has."""
    entries = tuple(_entry(given, number) for number, given in enumerate(trained.history, 1))
    if not entries:
        return ()
    own = fingerprint(trained)
    foreign = next((entry for entry in entries if entry.model != own), None)
    if foreign is not None:
        raise InputError(f"entry {foreign.number} of {HISTORY} belongs to another model: its parameters differ")
    _check_leads_to(entries, trained.graph)
    return entries


def undone(entries: Sequence[Entry], number: int) -> list[Change]:
    """The changes that restore state ``number``: each node once, and only nodes whose state differs."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= len(entries):
        raise InputError(
            f"the state to restore must be between 0 (as trained) and {len(entries)}, got {shortened(number)}"
        )
    now: dict[str, State] = {}
    then: dict[str, State] = {}
    for entry in reversed(entries[number:]):
        for change in entry.changes:
            now.setdefault(change.node, change.becomes)
            then[change.node] = change.was
    return [Change(node, now[node], state) for node, state in then.items() if now[node] != state]


def fingerprint(trained: Model) -> str:
    """Digest of the parameters: what an edit leaves alone."""
    return sha256(trained.encoder.to_bytes())


def _entry(given: dict[str, Any], number: int) -> Entry:
    try:
        entry = read_record(Entry, given)
    except InputError as error:
        raise InputError(f"line {number} of {HISTORY} is damaged: {error}") from error
    if entry.number != number:
        raise InputError(f"line {number} of {HISTORY} is damaged: its number is {shortened(entry.number)}")
    return entry


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may have no name for its user
        return "unknown"


def _check_leads_to(entries: Sequence[Entry], graph: Graph) -> None:
    last = {change.node: change.becomes for entry in entries for change in entry.changes}
    for node, state in last.items():
        if state_of(graph, graph.node_id(node)) != state:
            raise InputError(
                f"{HISTORY} does not lead to the labels of the model: node {node!r} should be {state.label!r}"
            )


class Memory:
    """The labeled nodes of a trained model, and every edit of them.

    Each edit returns what it changes; with ``dry_run`` nothing else happens. ``reason`` and ``by`` are kept in the
    history.

    Args:
        trained: the model.
        on_edit: called with the edited model after each edit.
    """

    def __init__(self, trained: Model, *, on_edit: Callable[[Model], Any] | None = None) -> None:
        self.trained = trained
        self._on_edit = on_edit

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def nodes(self) -> IntArray:
        """Ids of the labeled nodes, ascending."""
        return self.trained.graph.train

    @property
    def history(self) -> tuple[Entry, ...]:
        """All edits, oldest first."""
        return read_history(self.trained)

    def add(
        self, labels: Mapping[Any, str], *, reason: str = "", by: str | None = None, dry_run: bool = False
    ) -> Preview:
        """Label nodes so that they vote: ``{"node": "class"}``. Validation and test nodes leave their split."""
        return self._edit("add", labeling(self.trained.graph, labels, anew=True), reason, by, dry_run)

    def remove(
        self, nodes: Sequence[Any] | IntArray, *, reason: str = "", by: str | None = None, dry_run: bool = False
    ) -> Preview:
        """Remove labeled nodes from the vote: one, a list of them, or what :meth:`Audit.found` returns."""
        return self._edit("remove", removing(self.trained.graph, nodes), reason, by, dry_run)

    def relabel(
        self, labels: Mapping[Any, str], *, reason: str = "", by: str | None = None, dry_run: bool = False
    ) -> Preview:
        """Change the class that labeled nodes vote for: ``{"node": "class"}``."""
        return self._edit("relabel", labeling(self.trained.graph, labels), reason, by, dry_run)

    def restore(self, number: int, *, reason: str = "", by: str | None = None, dry_run: bool = False) -> Preview:
        """Restore the state after edit ``number``; 0 is the memory as it was trained."""
        changes = undone(self.history, number)
        return self._edit("restore", changes, reason or f"back to state {number}", by, dry_run)

    def _edit(self, action: str, changes: Sequence[Change], reason: str, by: str | None, dry_run: bool) -> Preview:
        _ = self.history  # of this model, or nothing is added to it
        found = preview(self.trained, changes)
        entry = Entry(
            number=len(self.trained.history) + 1,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            by=by or _user(),
            action=action,
            reason=reason,
            changes=found.changes,
            accuracy_before=known(found.validation_before.accuracy),
            accuracy_after=known(found.validation_after.accuracy),
            predictions_changed=len(found.changed),
            model=fingerprint(self.trained),
        )
        edited = dataclasses.replace(found.edited, history=(*self.trained.history, asdict(entry)))
        if not dry_run:
            self.trained = edited
            if self._on_edit is not None:
                self._on_edit(edited)
        return dataclasses.replace(found, edited=edited)


def edit_folder(
    folder: Path, edit: Callable[[Memory], Preview], *, dry_run: bool = False, out: Path | None = None
) -> Preview:
    """Edit the model in a folder, or write the edited one to the new folder ``out``.

    Nobody else can edit it between the reading and the writing. With ``dry_run`` nothing is written.
    """
    if out is not None and out.exists():
        raise InputError(f"--out {out} already exists; name a new folder")
    if not folder.is_dir():
        raise InputError(f"model folder {folder} does not exist")
    with contextlib.ExitStack() as stack:
        if not dry_run and out is None:
            stack.enter_context(writing_to(folder))
            stack.enter_context(locked(folder))
        found = edit(Memory(load_model(folder)))
        if not dry_run:
            save_model(found.edited, folder if out is None else out, epochs=read_epochs(folder))
    return found
