"""JSON lines: an object per line, so that a file can grow while it is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files.json_text import parse_json
from se_gnn.files.reading import LARGE, read_file


def json_line(record: dict[str, Any]) -> bytes:
    """A record as a line."""
    return (json.dumps(record, allow_nan=False) + "\n").encode()


def append_json_line(path: Path, record: dict[str, Any]) -> None:
    """Write a record behind the others in one write; a symbolic link is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        view = memoryview(json_line(record))
        while len(view):
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def read_json_lines(path: Path, *, limit: int = LARGE) -> list[dict[str, Any]]:
    """The records of a file; an error names the line."""
    records = []
    for number, line in enumerate(read_file(path, limit=limit).split(b"\n"), 1):
        if line.strip():
            try:
                records.append(parse_json(line, path))
            except InputError as error:
                raise InputError(f"line {number} of {error}") from error
    return records
