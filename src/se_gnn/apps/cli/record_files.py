"""Records, one per node, as CSV or JSON lines by the ending of the file's name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from se_gnn.apps.cli.arguments import check_file
from se_gnn.display import to_csv_cell
from se_gnn.errors import InputError

Record = dict[str, Any]
ENDINGS = (".csv", ".jsonl")


def check_record_file(out: Path, *, overwrite: bool) -> None:
    """Refuse a file of another format, and one that would be lost; nothing is written yet."""
    if out.suffix.lower() not in ENDINGS:
        raise InputError(f"--out must end in {', '.join(ENDINGS)}, got {out.name!r}")
    check_file(out, overwrite=overwrite)


def write_records(records: Sequence[Record], out: Path) -> None:
    """Write the records, all with the same keys, in one step."""
    from se_gnn.files import replace_file, writing_to

    content = as_csv(records) if out.suffix.lower() == ".csv" else as_json_lines(records)
    with writing_to(out.parent):
        replace_file(out, content)


def as_json_lines(records: Sequence[Record]) -> bytes:
    """One object per line.

    >>> as_json_lines([{"node": "a", "sizes": [1, 2]}]).splitlines()
    [b'{"node": "a", "sizes": [1, 2]}']
    """
    return "".join(json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n" for one in records).encode()


def as_csv(records: Sequence[Record]) -> bytes:
    """A row per record; several values of a cell have a semicolon between them, and nothing stands for None.

    >>> as_csv([{"node": "a", "sets": ["b", "c"], "size": None}]).splitlines()
    [b'node,sets,size', b'a,b; c,']
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    if records:
        writer.writerow(records[0])
    for one in records:
        writer.writerow([_cell(value) for value in one.values()])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = "; ".join(map(str, value))
    return to_csv_cell(value) if isinstance(value, str) else value
