"""Writing a file in one step: under another name first, then moved in place; and files that exist only for a while.

A kill at any moment leaves the old file or the new one, whole. The other name is new each time and never followed if
somebody put a symbolic link there; what a kill left under it is removed by the next write of the same file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path
from typing import Any, cast

from se_gnn.errors import InputError
from se_gnn.files.reading import sha256

try:
    import fcntl
except ImportError:  # only on systems without it
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}


def try_lock(descriptor: int) -> bool:
    """Lock an open file, unless another process (or another opening of it) has; True also where nothing can lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def same_file(descriptor: int, path: os.PathLike[str]) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


PREFIX, SUFFIX = ".se-gnn-", ".partial"
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NewFile:
    """A file that is being written, byte for byte, without a buffer of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = os.open(path, _CREATE, 0o666)  # less what the umask takes away

    def write(self, content: bytes) -> None:
        """Append all of it."""
        write_all(self.descriptor, content)

    def sync(self) -> None:
        """Wait until the disk has it."""
        os.fsync(self.descriptor)

    def close(self) -> None:
        """End of writing; a second time does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def write_all(descriptor: int, content: bytes) -> None:
    """Write a content to an open file, however many calls it takes."""
    view = memoryview(content)
    while len(view):
        view = view[os.write(descriptor, view) :]


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: a kill at any moment leaves the old one or the new one, whole."""
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[NewFile]:
    """A file to write to that takes the place of ``path`` when the block ends; an error leaves the old one.

    A symbolic link at ``path`` is replaced, not followed. The permissions of the file that is replaced are kept.
    """
    _remove_leftovers(path)
    file = _open_beside(path)
    try:
        yield file
        with contextlib.suppress(FileNotFoundError):
            old = path.lstat().st_mode
            if stat.S_ISREG(old):
                os.fchmod(file.descriptor, stat.S_IMODE(old))
        file.sync()
        file.path.replace(path)
        file.close()  # only now: its lock says that it is in use
        sync_folder(path.parent)
    except BaseException:
        file.close()
        with contextlib.suppress(OSError):  # the first error is the one to report
            file.path.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def writing_to(folder: str | Path) -> Iterator[Path]:
    """Make a folder and write into it; a full disk, a read-only folder and the like become one clear error."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise InputError(f"cannot write to {path}: {error.strerror or error}") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        if "null" not in str(error):
            raise
        raise InputError(f"cannot write to {str(path)!r}: {error}") from error  # a zero byte in the name


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder; not all file systems can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_tree(path: Path) -> None:
    """Remove a folder of our own with all that is in it, or the link in its place; nothing if there is nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_partial(name: str) -> bool:
    """Whether a name is one that a file has while it is written."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def _prefix(path: Path) -> str:
    """Short, however long the name is: 255 bytes are allowed."""
    return f"{PREFIX}{sha256(os.fsencode(path.name))[:12]}-"


def _open_beside(path: Path) -> NewFile:
    while True:
        file = NewFile(path.with_name(f"{_prefix(path)}{secrets.token_hex(8)}{SUFFIX}"))
        try_lock(file.descriptor)
        if os.fstat(file.descriptor).st_nlink:
            return file
        file.close()  # taken for a leftover before it was locked


def _remove_leftovers(path: Path) -> None:
    """What a kill left of earlier writes of this file: nobody holds its lock."""
    for partial in list(path.parent.glob(f"{_prefix(path)}*{SUFFIX}")):
        with contextlib.suppress(OSError):
            _remove_if_left(partial)


def _remove_if_left(partial: Path) -> None:
    descriptor = os.open(partial, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if try_lock(descriptor):
            partial.unlink()
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def room_for_scratch() -> Iterator[None]:
    """Within it, an error about a full disk names the folder for temporary files."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise InputError(
            f"cannot write to {tempfile.gettempdir()}, the folder for temporary files: {error.strerror}; set TMPDIR to "
            "one with more room"
        ) from error


def nameless_file() -> BufferedRandom:
    """A new file to write to and read from, in the system's folder for such; a kill leaves nothing of it."""
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    return cast(BufferedRandom, file)
