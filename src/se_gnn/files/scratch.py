"""Files that are there only while something is computed: new, no link is followed, nothing is synced."""

from __future__ import annotations

import os
import tempfile
from io import BufferedRandom
from pathlib import Path
from typing import Any, BinaryIO, cast

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def scratch_file(path: Path) -> BinaryIO:
    """A new file to write to and read from, in a folder that is removed with all that is in it."""
    return os.fdopen(os.open(path, _CREATE, 0o600), "w+b")


def nameless_file() -> BufferedRandom:
    """A new file to write to and read from, in the system's folder for such; a kill leaves nothing of it."""
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who asked for it
    return cast(BufferedRandom, file)
