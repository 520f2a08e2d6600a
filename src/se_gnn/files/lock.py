"""One writer for a folder at a time: the second one is told, and a writer that was killed blocks nobody."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from se_gnn.errors import InputError
from se_gnn.files.flock import same_file, try_lock

LOCK = ".lock"
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(slots=True)
class _Held:
    owner: tuple[int, int]  # process and thread: a forked child does not hold what its parent holds
    count: int = 1


_held: dict[str, _Held] = {}
_guard = threading.Lock()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only one that writes to a folder, which must be there; within itself it may be used again.

    Raises:
        InputError: another process, or another thread of this one, is writing to the folder.
    """
    key, owner = os.path.realpath(folder), (os.getpid(), threading.get_ident())
    with _guard:
        held = _held.get(key)
        inside = held is not None and held.owner == owner
        if held is not None and inside:
            held.count += 1
        elif held is not None and held.owner[0] == owner[0]:
            raise InputError(_in_use(folder, f"{owner[0]}, another thread of it"))
        else:
            descriptor = _acquire(folder)
            held = _held[key] = _Held(owner)
    try:
        yield
    finally:
        with _guard:
            held.count -= 1
            if not held.count:
                _held.pop(key, None)
                _release(folder / LOCK, descriptor)


def _acquire(folder: Path) -> int:
    path = folder / LOCK
    while True:
        descriptor = os.open(path, _OPEN, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InputError(f"{path} must be a regular file; remove it")
            if not try_lock(descriptor):
                raise InputError(_in_use(folder, os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()))
            if same_file(descriptor, path):  # else its holder removed it before we locked it
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _release(path: Path, descriptor: int) -> None:
    try:
        if same_file(descriptor, path):
            with contextlib.suppress(OSError):
                path.unlink()
    finally:
        os.close(descriptor)


def _in_use(folder: Path, process: str) -> str:
    who = f" (process {process})" if process else ""
    return f"{folder} is being written by another se-gnn{who}: wait until it has ended, or name another folder"
