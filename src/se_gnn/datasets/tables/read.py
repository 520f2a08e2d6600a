"""Tables as they are given: a CSV or Parquet file, a pandas DataFrame, an Arrow table.

The columns of a CSV file stay text: what they mean is found out later, where an error can name the row.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from se_gnn.datasets.tables.file_kind import PARQUET_ENDINGS, Header, check_content, find_separator, read_header
from se_gnn.display.cells import MARK, MARKED
from se_gnn.errors import InputError, did_you_mean

BLOCK = 1 << 20  # bytes that Arrow reads at once


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table and the name that errors call it by."""

    name: str
    data: pa.Table
    columns: tuple[str, ...]  # all that are there; `data` may hold some of them
    separator: str | None = None
    likely_separator: str | None = None
    of_edges: bool = False  # the options that errors name are those of edge columns

    def option(self, column: str, role: str) -> str:
        """What to write on the command line to give a column of this table a role."""
        return f"--{'edge-' if self.of_edges else ''}column {column}={role}"

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column by its name."""
        self.check_has(name)
        return self.data.column(name)

    def check_has(self, name: str) -> None:
        """Refuse the name of a column that is not there."""
        if name in self.columns:
            return
        hint = did_you_mean(name, self.columns)
        if self.separator is not None and self.separator != self.likely_separator:
            hint = f"; it was read with the separator {self.separator!r}, {self.likely_separator!r} looks right"
        raise InputError(f"{self.name} has no column {name!r}{hint}; it has: {', '.join(map(repr, self.columns))}")

    def error(self, column: str, row: int, text: str) -> InputError:
        """An error that names file, column and row; ``row`` is an index from 0, people count from 1."""
        return InputError(f"{self.name}, column {column!r}, row {row + 1} (the header not counted): {text}")


def such_rows(count: int) -> str:
    """How many rows an error is about.

    >>> such_rows(1), such_rows(1200)
    ('1 such row', '1,200 such rows')
    """
    return f"{count:,} such {'row' if count == 1 else 'rows'}"


def read_table(
    source: Any,
    *,
    what: str,
    separator: str | None = None,
    only: Collection[str] | None = None,
    of_edges: bool = False,
) -> Table:
    """Read a table.

    Args:
        source: path of a CSV or Parquet file, a pandas DataFrame, or anything that gives Arrow data.
        what: what to call a table that has no file name, as "nodes".
        separator: between the columns of a CSV file; None: found out.
        only: the columns that are needed; None: all.
        of_edges: it is a table of edges.
    """
    if isinstance(source, str | os.PathLike):
        table = _read_file(Path(source), separator, only)
    else:
        data = _from_memory(source, what)
        check_names(data.column_names, what)
        table = Table(what, data if only is None else data.select(_known(data.column_names, only)),
                      tuple(data.column_names))  # fmt: skip
    for name in only or ():
        table.check_has(name)
    if not len(table):
        raise InputError(f"{table.name} has no rows")
    return dataclasses.replace(table, of_edges=of_edges)


def _read_file(path: Path, separator: str | None, only: Collection[str] | None) -> Table:
    head = check_content(path)
    if path.suffix.lower() in PARQUET_ENDINGS:
        try:
            names = pa_parquet.read_schema(path).names
            check_names(names, str(path))
            data = pa_parquet.read_table(path, columns=None if only is None else _known(names, only))
            data.validate(full=True)  # texts that are no UTF-8, and what else Parquet does not check
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path} is damaged: {error}") from error
        return Table(str(path), data, tuple(names))
    likely = "\t" if path.suffix.lower() == ".tsv" else find_separator(head)
    used = separator or likely
    if len(used) != 1:
        raise InputError(f"the separator must be one character, got {used!r}")
    header = read_header(path, used)
    wanted = header.names if only is None else _known(header.names, only)
    return Table(str(path), _read_csv(path, used, header, wanted), tuple(header.names), used, likely)


def _read_csv(path: Path, separator: str, header: Header, wanted: list[str]) -> pa.Table:
    names = header.names
    convert = pa_csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        include_columns=wanted,
        null_values=[""],
        strings_can_be_null=True,
    )
    try:
        table = pa_csv.read_csv(
            path,
            read_options=_read_options(header),
            parse_options=pa_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=convert,
        )
    except pa.ArrowInvalid as error:
        raise _csv_error(path, separator, header, str(error)) from error
    return pa.table({name: _without_marks(table.column(name)) for name in table.column_names})


def _read_options(header: Header, **options: Any) -> Any:
    """Blank lines and the header are not data; a row is in one block, and may be as long as the header, or longer."""
    return pa_csv.ReadOptions(
        column_names=header.names,
        skip_rows=header.blank_lines,
        skip_rows_after_names=1,
        block_size=max(BLOCK, 8 * header.num_bytes),
        **options,
    )


def _without_marks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as they were before an apostrophe kept spreadsheets from running them: `se_gnn.display.cells`."""
    if not pc.any(pc.starts_with(column, MARK)).as_py():
        return column
    return pc.replace_substring_regex(column, MARKED, r"\1")


def _csv_error(path: Path, separator: str, header: Header, text: str) -> InputError:
    """Say what is wrong with a file that did not parse, and where."""
    if "UTF8" in text or "utf-8" in text.lower() or not _is_utf8(path):
        return _not_utf8(path, separator, header)
    uneven: list[Any] = []

    def keep(row: Any) -> str:
        uneven.append(row)
        return "skip"

    with contextlib.suppress(pa.ArrowInvalid):  # the first error is the one to report
        pa_csv.read_csv(
            path,
            read_options=_read_options(header, use_threads=False),
            parse_options=pa_csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=keep),
            convert_options=pa_csv.ConvertOptions(column_types={name: pa.binary() for name in header.names}),
        )
    if not uneven:
        return InputError(f"{path} cannot be read as a table with the separator {separator!r}: {text}")
    first = uneven[0]
    start = first.text if len(first.text) <= 60 else first.text[:57] + "..."
    row = first.number - 1 - header.blank_lines
    return InputError(
        f"{path}, row {row} (the header not counted): {first.actual_columns} values where the header has "
        f"{first.expected_columns}, at the separator {separator!r}: {start!r} ({such_rows(len(uneven))}); "
        "is it the right separator (--set separator=...), or is a quote missing?"
    )


def _is_utf8(path: Path) -> bool:
    with path.open(encoding="utf-8", newline="") as file:
        try:
            while file.read(1 << 20):
                pass
        except UnicodeDecodeError:
            return False
    return True


def _not_utf8(path: Path, separator: str, header: Header) -> InputError:
    """The first line with bytes that are not UTF-8, and the column they lie in."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                place = line[: error.start].decode("utf-8").count(separator)
                column = header.names[min(place, len(header.names) - 1)]
                seen = line[max(0, error.start - 10) : error.start + 10].decode("latin-1").strip()
                row = number - 1 - header.blank_lines
                return InputError(
                    f"{path}, column {column!r}, row {row} (line {number}) is not UTF-8: byte "
                    f"{line[error.start]:#04x} in {seen!r} (read as Latin-1); save the file as UTF-8"
                )
    return InputError(f"{path} is not UTF-8")


def _from_memory(source: Any, what: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if type(source).__module__.partition(".")[0] == "pandas":
        frame = source.reset_index() if source.index.name is not None else source
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise _mixed_types(frame, what, str(error)) from error
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__"):
        return pa.table(source)
    raise InputError(
        f"{what} must be the path of a CSV or Parquet file, a pandas DataFrame or an Arrow table, "
        f"got {type(source).__name__}"
    )


def _mixed_types(frame: Any, what: str, text: str) -> InputError:
    for name in frame.columns:
        column = frame[name]
        if column.dtype != object:
            continue
        present = [(row, type(value).__name__) for row, value in enumerate(column) if column.notna().iloc[row]]
        other = next(((row, kind) for row, kind in present if kind != present[0][1]), None)
        if other is not None:
            return InputError(
                f"{what}, column {name!r}, row {other[0] + 1} (the header not counted): a value of type {other[1]} in "
                f"a column that begins with {present[0][1]}; a column must hold values of one type"
            )
    return InputError(f"{what} cannot be read: {text}")


def _known(names: Sequence[str], wanted: Collection[str]) -> list[str]:
    return [name for name in names if name in wanted]


def check_names(names: Sequence[str], what: str) -> None:
    """Refuse a table in which a name means two columns."""
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError(f"{what} has two columns named {twice!r}")
