"""Counts every operation that changes a file below a folder, and ends or disturbs the one that is asked for.

Whoever writes, by whatever means, is seen: opening, renaming, removing and making folders by Python's audit events,
writing and syncing by standing in for `os.write` and `os.fsync`. A kill is an exception that nothing may swallow; after
it no operation does anything any more, as no clean-up runs in a process that is gone. A write is cut in half by it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class KilledError(BaseException):
    """Not an Exception: nothing may swallow it, as nothing swallows a kill."""


Disturbance = Callable[[str], None]  # gets what is about to happen; raises, or does something


class Injector:
    """The one that is active; see :func:`watching`."""

    def __init__(self, root: Path, at: int | None, disturb: Disturbance | None, *, lasting: bool) -> None:
        self.root, self.at, self.disturb, self.lasting = os.path.realpath(root), at, disturb, lasting
        self.seen: list[str] = []
        self.dead = False

    def before(self, kind: str, path: Any, folder: int = -1) -> bool:
        """Called before an operation; True where it is the one that is killed."""
        name = self._name(path, folder)
        if name is None:
            return False
        if self.dead:
            raise KilledError
        self.seen.append(f"{kind} {name}")
        due = self.at is not None and (len(self.seen) == self.at or (self.lasting and len(self.seen) > self.at))
        if due and self.disturb is not None:
            with paused():
                self.disturb(self.seen[-1])
            return False
        self.dead = due
        return due

    def _name(self, path: Any, folder: int) -> str | None:
        """Where it is below the root; None for anything else."""
        try:
            if isinstance(path, int):
                place = Path(f"/proc/self/fd/{path}").readlink()
            else:
                start = Path() if folder in (-1, None) else Path(f"/proc/self/fd/{folder}").readlink()
                place = start / os.fsdecode(path)
            whole = str(place.absolute())
        except (OSError, TypeError):
            return None
        return os.path.relpath(whole, self.root) if whole.startswith(self.root + os.sep) else None


_active: Injector | None = None
_write, _fsync = os.write, os.fsync


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _active is None:
        return
    if event == "open":
        if args[2] & _WRITING and _active.before("open", args[0]):
            raise KilledError
    elif event in _EVENTS:
        folder = args[-1] if event in ("os.remove", "os.rmdir", "os.mkdir") else -1
        if _active.before(event.removeprefix("os."), args[0], folder):
            raise KilledError


def _watched_write(descriptor: int, content: Any) -> int:
    if _active is not None and _active.before("write", descriptor):
        _write(descriptor, bytes(content)[: len(content) // 2])
        raise KilledError
    return _write(descriptor, content)


def _watched_fsync(descriptor: int) -> None:
    if _active is not None and _active.before("fsync", descriptor):
        raise KilledError
    _fsync(descriptor)


@contextmanager
def paused() -> Iterator[None]:
    """Do something without being watched."""
    global _active
    before, _active = _active, None
    try:
        yield
    finally:
        _active = before


@contextmanager
def watching(
    root: Path, at: int | None = None, disturb: Disturbance | None = None, *, lasting: bool = False
) -> Iterator[Injector]:
    """Watch the operations below ``root``; kill or disturb the one with number ``at``, from 1 on.

    Args:
        root: folder.
        at: which operation; None: only count.
        disturb: what happens then; None: a kill.
        lasting: all operations after it are disturbed, too: a disk stays full.
    """
    global _active
    if not getattr(sys, "_se_gnn_audited", False):
        sys.addaudithook(_audit)  # stays, and does nothing while nothing is watched
        sys._se_gnn_audited = True
    _active = injector = Injector(root, at, disturb, lasting=lasting)
    os.write, os.fsync = _watched_write, _watched_fsync
    try:
        yield injector
    finally:
        _active = None
        os.write, os.fsync = _write, _fsync
