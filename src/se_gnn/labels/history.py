"""What became of the labeled memory: an entry per edit, oldest first, each with the states before and after.

An entry is one line of `memory.jsonl` in the model folder. State 0 is the memory as it was trained, state n the one
after entry n. Entries are never taken back: restoring an old state is an edit of its own.
"""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from se_gnn.errors import InputError, shortened
from se_gnn.files import sha256
from se_gnn.graph import Graph
from se_gnn.graph.split import PARTS
from se_gnn.labels.edits import Change, State, state_of
from se_gnn.model import TrainedModel
from se_gnn.model.folder import HISTORY, parameter_bytes


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

    def to_dict(self) -> dict[str, Any]:
        """As it stands in `memory.jsonl`."""
        return {**asdict(self), "changes": [asdict(change) for change in self.changes]}


def read_history(trained: TrainedModel) -> tuple[Entry, ...]:
    """The entries of a model, checked: they are of this model, and lead to the states its graph has.

    Raises:
        InputError: an entry cannot be read, or belongs to another model.
    """
    entries = tuple(_entry(given, number) for number, given in enumerate(trained.history, 1))
    if not entries:
        return ()
    own = fingerprint(trained)
    foreign = next((entry for entry in entries if entry.model != own), None)
    if foreign is not None:
        raise InputError(f"entry {foreign.number} of {HISTORY} belongs to another model: its parameters are others")
    _check_leads_to(entries, trained.graph)
    return entries


def undone(entries: Sequence[Entry], number: int) -> list[Change]:
    """What to change so that state ``number`` is back, each node once; nothing where it is as it was."""
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


def new_entry(trained: TrainedModel, **values: Any) -> Entry:
    """The entry that follows those of a model, made now; ``by`` None: the name of the user."""
    by = values.pop("by") or _user()
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return Entry(number=len(trained.history) + 1, when=when, by=by, model=fingerprint(trained), **values)


def fingerprint(trained: TrainedModel) -> str:
    """Digest of the parameters: what an edit leaves alone."""
    return sha256(parameter_bytes(trained.model))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may have no name for its user
        return "unknown"


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("when", "by", "action", "reason", "model"), str),
    **dict.fromkeys(("accuracy_before", "accuracy_after"), float | int | None),
    **dict.fromkeys(("number", "predictions_changed"), int),
}


def _entry(given: dict[str, Any], number: int) -> Entry:
    try:
        changes = tuple(
            Change(str(one["node"]), _state(one["was"]), _state(one["becomes"])) for one in given["changes"]
        )
        entry = Entry(**{**given, "changes": changes})
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(f"line {number} of {HISTORY} is damaged: {shortened(error, quoted=False)}") from error
    for field, kind in _KINDS.items():
        if not isinstance(getattr(entry, field), kind):
            raise InputError(f"line {number} of {HISTORY} is damaged: {field} is {shortened(getattr(entry, field))}")
    if entry.number != number:
        raise InputError(f"line {number} of {HISTORY} is damaged: its number is {shortened(entry.number)}")
    return entry


def _state(given: dict[str, Any]) -> State:
    state = State(**given)
    if state.part not in (*PARTS, None) or not isinstance(state.label, str | None):
        raise ValueError(f"no state of a node: {given}")
    return state


def _check_leads_to(entries: Sequence[Entry], graph: Graph) -> None:
    last = {change.node: change.becomes for entry in entries for change in entry.changes}
    for node, state in last.items():
        if state_of(graph, graph.node_id(node)) != state:
            raise InputError(
                f"{HISTORY} does not lead to the labels of the model: node {node!r} should be {state.label!r}"
            )
