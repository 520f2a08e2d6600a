"""Files that are there only while something is computed: new, no link is followed, nothing is synced."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path
from typing import Any, BinaryIO, cast

from se_gnn.errors import InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def scratch_file(path: Path) -> BinaryIO:
    """A new file to write to and read from, in a folder that is removed with all that is in it."""
    return os.fdopen(os.open(path, _CREATE, 0o600), "w+b")


@contextlib.contextmanager
def room_for_scratch() -> Iterator[None]:
    """Within it a full disk is said of the folder for temporary files, not of whatever else is being written."""
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
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who asked for it
    return cast(BufferedRandom, file)
