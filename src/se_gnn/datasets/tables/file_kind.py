"""What a file is by its content, whatever its name says, and what separates its columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from se_gnn.display import from_csv_cell
from se_gnn.errors import InputError

SEPARATORS = (",", ";", "\t", "|")
CSV_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
HEAD = 1 << 16  # bytes that are looked at
LONGEST_HEADER = 1 << 24  # bytes

_SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"\x1f\x8b": "compressed by gzip",
    b"ARROW1": "an Arrow file",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
    b"\x93NUMPY": "a NumPy file",
}


def check_content(path: Path) -> bytes:
    """The first bytes of a table, after a look at whether the file is what its name says."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if not path.is_file():
        raise InputError(f"{path} is not a file")
    ending = path.suffix.lower()
    if ending not in CSV_ENDINGS + PARQUET_ENDINGS:
        raise InputError(f"{path} must end in {', '.join(CSV_ENDINGS + PARQUET_ENDINGS)}")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    if not head.strip():
        raise InputError(f"{path} is empty")
    found = next((what for signature, what in _SIGNATURES.items() if head.startswith(signature)), None)
    if ending in PARQUET_ENDINGS:
        if found != "a Parquet file":
            raise InputError(f"{path} is not a Parquet file, whatever its name says: it is {found or _text(head)}")
    elif found is not None:
        raise InputError(f"{path} is not text, whatever its name says: it is {found}")
    elif head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is not UTF-8 but UTF-16 (Excel's `Unicode text`); save it as `CSV UTF-8`")
    elif b"\0" in head:
        raise InputError(f"{path} is not text, whatever its name says: it holds zero bytes")
    return head


def find_separator(head: bytes) -> str:
    r"""The character that cuts the first lines into the most columns, as many as the header has.

    >>> find_separator(b"id;name;amount\n1;a, b;2,5\n2;c;3,5\n")
    ';'
    """
    lines = head.decode("utf-8", errors="replace").splitlines()
    lines = lines[:-1] or lines if len(head) == HEAD else lines  # the last one is cut
    lines = [line for line in lines if line.strip()]

    def steady_columns(separator: str) -> float:
        try:
            rows = [len(row) for row in csv.reader(lines[:200], delimiter=separator) if row]
        except csv.Error:  # a quote that is never closed makes one value of all
            return 0.0
        return (rows[0] - 1) * rows.count(rows[0]) / len(rows) if rows else 0.0

    return max(SEPARATORS, key=steady_columns)  # the first of equals: a comma


@dataclass(frozen=True, slots=True)
class Header:
    """Names of the columns, how many blank lines stand above them, and how many bytes the line takes."""

    names: list[str]
    blank_lines: int
    num_bytes: int


def read_header(path: Path, separator: str) -> Header:
    """The first line that is not blank; a column without a name gets its number.

    Lines of separators only, as spreadsheets write them for empty rows, are blank.
    """
    blank, taken = 0, 0
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:

            def lines() -> Iterator[str]:
                nonlocal blank, taken
                begun = False
                while line := file.readline(LONGEST_HEADER):
                    if not begun and not line.strip().strip(separator + '"').strip():
                        blank += 1
                        continue
                    begun = True
                    taken += len(line.encode(errors="surrogateescape"))
                    if taken > LONGEST_HEADER:
                        raise InputError(
                            f"{path} has a first line of more than {LONGEST_HEADER >> 20} MiB: is it a table?"
                        )
                    yield line

            limit = csv.field_size_limit(LONGEST_HEADER)
            try:
                found = next(csv.reader(lines(), delimiter=separator), [])
            finally:
                csv.field_size_limit(limit)
    except csv.Error as error:
        raise InputError(f"{path}: its first line, the names of the columns, cannot be read: {error}") from error
    if any("\udc80" <= character <= "\udcff" for name in found for character in name):
        raise InputError(f"{path} is not UTF-8: its first line, the names of the columns, cannot be read")
    names = [from_csv_cell(name).strip() or f"column {i}" for i, name in enumerate(found, 1)]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path} has two columns named {name!r}")
        seen.add(name)
    return Header(names, blank, taken)


def _text(head: bytes) -> str:
    return "text" if b"\0" not in head else "something else"
