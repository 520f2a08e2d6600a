"""Reading a file that somebody else may have made: a regular file, of a size that is allowed; and digests of files."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from se_gnn.errors import InputError

SMALL = 16 << 20  # bytes: settings, manifests and the like
LARGE = 64 << 30  # bytes: arrays and tables, which take as much memory as the file is long


def read_file(path: Path, *, limit: int = LARGE) -> bytes:
    """The content of a file that has to be there.

    A pipe, a device or a folder in its place is refused, and so is a file of more than ``limit`` bytes: nothing of it
    is read.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # a pipe must not keep us waiting
            kind = "a folder" if stat.S_ISDIR(about.st_mode) else "a pipe, a socket or a device"
            raise InputError(f"{path} must be a regular file, got {kind}")
        if about.st_size > limit:
            raise InputError(f"{path} must have at most {limit:,} bytes, got {about.st_size:,}")
        with path.open("rb") as file:
            return file.read(about.st_size)  # what is written behind the end meanwhile is not read
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)!r} cannot be the name of a file: {error}") from error  # holds a zero byte


def file_digest(path: Path) -> str:
    """SHA-256 of the content of a file of our own, of any size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256(content: bytes) -> str:
    """Digest of a content, in hexadecimal.

    >>> sha256(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(content).hexdigest()
