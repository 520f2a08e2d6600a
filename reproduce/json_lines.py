"""Rows in a file, one JSON object per line. A row is appended in one durable write: a kill leaves it out or whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from se_gnn.files import append_line, parse_json, read_file, replace_file, writing_to

Row = dict[str, Any]


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
    """Add a row; several processes may do so at the same time."""
    with writing_to(path.parent):
        append_line(path, _line(row), durable=True)


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
