"""Rows in a file, one JSON object per line. A row is appended in one durable write: a kill leaves it out or whole."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from se_gnn.files import parse_json, read_file, replace_file, writing_to
from se_gnn.files.json_text import APPENDING
from se_gnn.files.writing import write_all

Row = dict[str, Any]
BLOCK = 1 << 16


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, none where there is no file; a last line without its end was never finished, and is no row.

    Raises:
        InputError: another line is damaged; the text names file and line.
    """
    if not path.exists():
        return []
    lines = read_file(path).split(b"\n")[:-1]
    return [parse_json(line, Path(f"{path}:{number}")) for number, line in enumerate(lines, start=1) if line.strip()]


def append_row(path: Path, row: Row) -> None:
    """Add a row and wait until the disk has it; several processes may do so at the same time.

    What a killed writer left behind the last line end is cut off first, and so is what could not be written whole.
    """
    with writing_to(path.parent):
        descriptor = os.open(path, APPENDING, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            end = _end_of_lines(descriptor)
            try:
                write_all(descriptor, _line(row))
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Replace all rows of a file in one step; without any the file goes."""
    content = b"".join(map(_line, rows))
    with writing_to(path.parent):
        if content:
            replace_file(path, content)
        else:
            path.unlink(missing_ok=True)


def _line(row: Row) -> bytes:
    return (json.dumps(row, allow_nan=False, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _end_of_lines(descriptor: int) -> int:
    """Position at which the last complete line ends; the rest is cut off."""
    size = start = os.fstat(descriptor).st_size
    end = 0
    while start and not end:
        stop, start = start, max(0, start - BLOCK)
        end = os.pread(descriptor, stop - start, start).rfind(b"\n") + 1
    end = start + end if end else 0
    if end < size:
        os.ftruncate(descriptor, end)
    return end
