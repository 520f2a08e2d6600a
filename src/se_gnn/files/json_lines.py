"""JSON lines: an object per line, so that a file can grow while it is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files.flock import lock
from se_gnn.files.json_text import parse_json
from se_gnn.files.reading import LARGE, read_file
from se_gnn.files.writing import write_all

BLOCK = 1 << 16


def json_line(record: dict[str, Any]) -> bytes:
    """A record as a line."""
    return (json.dumps(record, allow_nan=False) + "\n").encode()


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Write a line behind the others; a symbolic link is not followed.

    Args:
        path: made where it is missing.
        line: with its end.
        durable: wait until the disk has it; cut off what a killed writer left behind the last line end, and what could
            not be written whole. Several processes may append at the same time.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        if not durable:
            write_all(descriptor, line)
            return
        lock(descriptor)
        end = _end_of_lines(descriptor)
        try:
            write_all(descriptor, line)
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise
    finally:
        os.close(descriptor)


def read_json_lines(path: Path, *, limit: int = LARGE) -> list[dict[str, Any]]:
    """The records of a file; an error names the line."""
    return parse_json_lines(read_file(path, limit=limit), path)


def parse_json_lines(content: bytes, path: Path) -> list[dict[str, Any]]:
    """The records of a content; ``path`` is where it came from. An error names the line."""
    records = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                records.append(parse_json(line, path))
            except InputError as error:
                raise InputError(f"line {number} of {error}") from error
    return records


def _end_of_lines(descriptor: int) -> int:
    """Where the last whole line ends; what is behind it is cut off."""
    size = start = os.fstat(descriptor).st_size
    end = 0
    while start and not end:
        stop, start = start, max(0, start - BLOCK)
        end = os.pread(descriptor, stop - start, start).rfind(b"\n") + 1
    end = start + end if end else 0
    if end < size:
        os.ftruncate(descriptor, end)
    return end
