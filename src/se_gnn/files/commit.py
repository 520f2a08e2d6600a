"""Several files of a folder, replaced in one step.

The new files are written into the folder `.new`, read back and compared with their digests; then `.new` is renamed to
`.commit`: that is the step. From then on the folder is the new one: whoever reads it takes a file from `.commit` where
it lies there. After that the files are moved to where they belong, which changes nothing for a reader. A kill before
the step leaves the old files, one after it the new ones. Reading never changes a folder; the next write finishes the
moves.

The folder itself stays where it is: it may be a mount point, a shell may be in it, and other files may be in it, too.

Only one process writes to a folder at a time: a second one is refused, and a writer that was killed blocks nobody.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
import stat
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from se_gnn.errors import InputError
from se_gnn.files.json_text import check_format, json_bytes, parse_json
from se_gnn.files.reading import LARGE, SMALL, file_digest, read_file
from se_gnn.files.writing import NewFile, is_partial, remove_tree, same_file, sync_folder, try_lock

LOCK = ".lock"
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


_held = threading.local()  # the folders that a thread has locked; none of them is locked in a forked child


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only one that writes to a folder, which must be there; within itself it may be used again.

    Raises:
        InputError: another process, or another thread of this one, is writing to the folder.
    """
    own, key = vars(_held), f"{os.getpid()} {os.path.realpath(folder)}"
    if key in own:
        yield
        return
    descriptor = own[key] = _acquire(folder)
    try:
        yield
    finally:
        del own[key]
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


NEW, COMMIT, RECORD = ".new", ".commit", "commit.json"
FORMAT, VERSION = "se-gnn-commit", 1
Content: TypeAlias = bytes | Iterable[bytes]
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class _Record(NamedTuple):
    """What a commit does: files by their digests, and names that end."""

    files: dict[str, str]
    remove: tuple[str, ...]


def commit_files(folder: Path, files: Mapping[str, Content], *, remove: Iterable[str] = ()) -> None:
    """Replace or add files of a folder, which is made where it is missing, and remove others, all in one step.

    Args:
        folder: where they belong.
        files: what each file is to hold: bytes, or for large files pieces one after the other.
        remove: names of files that end, and patterns of names, as far as they are not among ``files``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        finish_interrupted(folder)
        ended = tuple(sorted(_matching(folder, remove) - files.keys()))
        for name in (*files, *ended):
            if (folder / name).is_dir():
                raise InputError(f"{folder / name} is a folder, where a file is to be written; move it away")
        new = folder / NEW
        try:
            new.mkdir()
            digests = {name: _write(new / name, content) for name, content in files.items()}
            about = {"format": FORMAT, "version": VERSION, "files": digests, "remove": list(ended)}
            _write(new / RECORD, json_bytes(about))
            sync_folder(new)
            _check(new, digests)
            new.rename(folder / COMMIT)  # the step
        except BaseException:
            with contextlib.suppress(OSError):  # the first error is the one to report
                remove_tree(new)
            raise
        sync_folder(folder)
        _move(folder, _Record(digests, ended))


def _matching(folder: Path, names: Iterable[str]) -> set[str]:
    return {path.name for path in folder.iterdir() if any(fnmatch.fnmatchcase(path.name, name) for name in names)}


def _write(path: Path, content: Content) -> str:
    """A new file, and the digest of what it was to hold."""
    digest = hashlib.sha256()
    with contextlib.closing(NewFile(path)) as file:
        for piece in (content,) if isinstance(content, bytes) else content:
            file.write(piece)
            digest.update(piece)
        file.sync()
    return digest.hexdigest()


def finish_interrupted(folder: Path) -> None:
    """Finish, or take away, what a write that was killed left; say so. The caller holds the lock."""
    record = _pending(folder)
    if record is not None:
        _check(folder / COMMIT, record.files)
        _move(folder, record)
        warnings.warn(f"finished an interrupted write of {folder}", stacklevel=3)
    remove_tree(folder / COMMIT)  # all moved, the record goes last; or a link, which is never followed
    if os.path.lexists(folder / NEW):
        remove_tree(folder / NEW)
        text = f"removed the remains of an interrupted write of {folder}; the earlier files are intact"
        warnings.warn(text, stacklevel=3)


def current_path(folder: Path, name: str) -> Path:
    """Where a file of the folder is: where it belongs, or in a commit that was interrupted."""
    record = _pending(folder)
    if record is not None and (name in record.remove or (name in record.files and (folder / COMMIT / name).exists())):
        return folder / COMMIT / name
    return folder / name


def read_current(folder: Path, name: str, *, limit: int = LARGE) -> bytes:
    """The content of a file of the folder that has to be there."""
    path = current_path(folder, name)
    try:
        return read_file(path, limit=limit)
    except InputError:
        if path.parent == folder or path.exists():
            raise
        return read_file(folder / name, limit=limit)  # it was moved meanwhile


def visible_names(folder: Path) -> list[str]:
    """The names in a folder, without those that are there only while something is written."""
    record = _pending(folder)
    names = {path.name for path in folder.iterdir()} - {NEW, COMMIT, LOCK}
    found = {name for name in names if not is_partial(name)}
    return sorted(found if record is None else (found | record.files.keys()) - set(record.remove))


def _pending(folder: Path) -> _Record | None:
    """The record of a commit that was interrupted."""
    path = folder / COMMIT / RECORD
    if (folder / COMMIT).is_symlink() or not os.path.lexists(path):
        return None
    try:
        about = parse_json(read_file(path, limit=SMALL), path)
    except InputError:
        if os.path.lexists(path):
            raise
        return None  # finished meanwhile
    check_format(about, path, expected=FORMAT, newest=VERSION)
    files, remove = about.get("files"), about.get("remove")
    if not isinstance(files, dict) or not isinstance(remove, list):
        raise InputError(f"{path} is damaged: it must name files and what is removed")
    for name in (*files, *remove):
        if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name):  # never a forged path
            raise InputError(f"{path} is damaged: {name!r} is not the name of a file")
    return _Record({name: str(digest) for name, digest in files.items()}, tuple(remove))


def _check(where: Path, digests: Mapping[str, str]) -> None:
    """Every file that is there is the one that was meant."""
    for name, digest in digests.items():
        if os.path.lexists(where / name) and file_digest(where / name) != digest:
            raise InputError(f"{where / name} is damaged: it is not what was written; remove {where}")


def _move(folder: Path, record: _Record) -> None:
    commit = folder / COMMIT
    for name in record.remove:
        (folder / name).unlink(missing_ok=True)
    for name in record.files:
        with contextlib.suppress(FileNotFoundError):  # moved before the kill
            (commit / name).replace(folder / name)
    sync_folder(folder)
    (commit / RECORD).unlink()
    remove_tree(commit)
    sync_folder(folder)
