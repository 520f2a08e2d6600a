"""A kill at every operation of an edit of the memory leaves the old memory or the new one, with its history."""

from __future__ import annotations

import warnings

import pytest

from faults.commands import copy_of, run
from faults.injector import KilledError, watching
from se_gnn.labels import Memory
from se_gnn.model.folder import load_model

pytestmark = pytest.mark.filterwarnings("default")  # what was found is said as a warning

EDIT = ("remove", "3", "--reason", "why", "-q")


def look(folder):
    """How many labeled nodes and edits a reader finds; both must fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = Memory(load_model(folder))
    return len(memory), len(memory.history)


def test_a_kill_at_any_operation_of_an_edit_leaves_the_old_memory_or_the_new_one(prepared, tmp_path):
    root = copy_of(prepared, tmp_path / "undisturbed")
    with watching(root) as seen:
        assert run("labels", "edit", root / "old-model", *EDIT).exit_code == 0
    operations = len(seen.seen)
    assert operations > 10
    found = set()
    for at in range(1, operations + 1, 2):
        root = copy_of(prepared, tmp_path / "run")
        with pytest.raises(KilledError), watching(root, at):
            run("labels", "edit", root / "old-model", *EDIT)
        state = look(root / "old-model")
        assert state in ((8, 0), (7, 1))
        found.add(state)
        if state == (8, 0):
            assert run("labels", "edit", root / "old-model", *EDIT).exit_code == 0
            assert look(root / "old-model") == (7, 1)
    assert found == {(8, 0), (7, 1)}
