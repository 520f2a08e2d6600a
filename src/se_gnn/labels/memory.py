"""The labeled memory of a model: look at it, edit it without training, go back.

An edit changes which labeled nodes vote, and for which class. The edited model answers exactly as a vote computed from
nothing. The limit: the encoder learned from the old labels, and similarities stay as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from se_gnn.graph.arrays import IntArray
from se_gnn.labels.edits import Change, adding, relabeling, removing
from se_gnn.labels.history import Entry, new_entry, read_history, undone
from se_gnn.labels.preview import Preview, preview
from se_gnn.model import TrainedModel
from se_gnn.number_format import known


class Memory:
    """The labeled nodes of a trained model, and every edit of them.

    Each edit returns what it changes; with ``dry_run`` nothing else happens. ``reason`` and ``by`` are kept in the
    history.

    Args:
        trained: the model.
        on_edit: called with the edited model after each edit.
    """

    def __init__(self, trained: TrainedModel, *, on_edit: Callable[[TrainedModel], Any] | None = None) -> None:
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
        """Let nodes vote for a class: ``{"node": "class"}``. A validation or test node leaves its part."""
        return self._edit("add", adding(self.trained.graph, labels), reason, by, dry_run)

    def remove(
        self, nodes: Sequence[Any] | IntArray, *, reason: str = "", by: str | None = None, dry_run: bool = False
    ) -> Preview:
        """Let labeled nodes no longer vote: one, a list of them, or what :meth:`Audit.found` returns."""
        return self._edit("remove", removing(self.trained.graph, nodes), reason, by, dry_run)

    def relabel(
        self, labels: Mapping[Any, str], *, reason: str = "", by: str | None = None, dry_run: bool = False
    ) -> Preview:
        """Let labeled nodes vote for another class: ``{"node": "class"}``."""
        return self._edit("relabel", relabeling(self.trained.graph, labels), reason, by, dry_run)

    def restore(self, number: int, *, reason: str = "", by: str | None = None, dry_run: bool = False) -> Preview:
        """Go back to the state after edit ``number``; 0 is the memory as it was trained."""
        changes = undone(self.history, number)
        return self._edit("restore", changes, reason or f"back to state {number}", by, dry_run)

    def _edit(self, action: str, changes: Sequence[Change], reason: str, by: str | None, dry_run: bool) -> Preview:
        _ = self.history  # of this model, or nothing is added to it
        found = preview(self.trained, changes)
        entry = new_entry(
            self.trained,
            action=action,
            reason=reason,
            by=by,
            changes=found.changes,
            accuracy_before=known(found.validation_before.accuracy),
            accuracy_after=known(found.validation_after.accuracy),
            predictions_changed=len(found.changed),
        )
        edited = dataclasses.replace(found.edited, history=(*self.trained.history, entry.to_dict()))
        edited.__dict__["embeddings"] = self.trained.embeddings
        if not dry_run:
            self.trained = edited
            if self._on_edit is not None:
                self._on_edit(edited)
        return dataclasses.replace(found, edited=edited)
