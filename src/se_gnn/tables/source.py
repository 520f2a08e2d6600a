"""Tables as they are given: a CSV or Parquet file, a pandas DataFrame, an Arrow table.

The columns of a CSV file stay text: what they mean is found out later, where an error can name the row. A table that
does not fit into memory is a Parquet file on disk, read one column or some rows at a time; callers of
:class:`Table` do not see the difference.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pyarrow.types as pt

from se_gnn.display.text import MARK, MARKED, from_csv_cell
from se_gnn.errors import InputError, did_you_mean
from se_gnn.files.writing import nameless_file, room_for_scratch
from se_gnn.graph.streaming import MOST
from se_gnn.tables.settings import ImportSettings

SEPARATORS = (",", ";", "\t", "|")
CSV_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
HEAD = 1 << 16  # bytes that are looked at
LOOKED_AT = 2000  # rows, to see how a table writes its numbers
LONGEST_HEADER = 1 << 24  # bytes
BLOCK = 1 << 20  # bytes that Arrow reads at once
EXPANSION = 6  # bytes of memory that a table takes for each of its bytes, with what is made of it
ROWS_SHARE = 32  # a batch of rows takes about this part of the memory
FIXED_BYTES = 64  # per node, that are in memory all the time: ids, order, label, part, degrees
COLUMN_COPIES = 4  # of a column, while it is fitted
BYTES_A_CELL = 64
_SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"\x1f\x8b": "compressed by gzip",
    b"ARROW1": "an Arrow file",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database",
    b"\x93NUMPY": "a NumPy file",
}
_PROPER = re.compile("[^\x00-\x7f\udc80-\udcff]")  # beyond ASCII, in a file that is read as UTF-8
_BROKEN = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8
_UNDEFINED = re.compile("[\udc81\udc8d\udc8f\udc90\udc9d]")  # bytes that cp1252 has no sign for


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table, or some of its rows, and the name that errors call it by."""

    name: str  # its file, or what it holds
    columns: tuple[str, ...]
    data: pa.Table | None = None  # its rows in memory; None: they are in ``file``
    file: Any = None  # an open Parquet file
    separator: tuple[str, str] | None = None  # that it was read with, and the one that looks right
    commas: frozenset[str] = frozenset()  # columns whose numbers have a decimal comma; those of others have a point
    missing: frozenset[str] = frozenset()  # words that mean "no value" in every column but names, besides the empty one
    of_edges: bool = False  # the options that errors name are those of edge columns
    first: int | None = None  # of a block: position of its first row in the whole table; None: it is the whole table
    notes: tuple[str, ...] = ()  # what people should know about how it was read
    given: bool = False  # as an object, in Python or over HTTP: errors name no options of the command line
    parsed: dict[Any, Any] = field(default_factory=dict)  # columns as values, where they were read before

    def __len__(self) -> int:
        return int(self.file.metadata.num_rows if self.data is None else self.data.num_rows)

    def decimal_of(self, name: str) -> str:
        """The decimal point of the numbers in a column."""
        return "," if name in self.commas else "."

    def column(self, name: str) -> pa.ChunkedArray:
        """A column by its name, in memory."""
        self.check_has(name)
        return self.select([name]).column(0)

    @property
    def largest_column(self) -> int:
        """Bytes of its largest column."""
        if self.data is not None:
            return max(int(column.nbytes) for column in self.data.columns)
        groups = [self.file.metadata.row_group(i) for i in range(self.file.num_row_groups)]
        sizes = [[group.column(i).total_uncompressed_size for i in range(len(self.columns))] for group in groups]
        return int(np.sum(sizes, axis=0).max())

    def head(self, count: int) -> Table:
        """The first rows."""
        if self.data is not None:
            return dataclasses.replace(self, data=self.data.slice(0, count), parsed={})
        return next(self.blocks(count), self)

    def blocks(self, rows: int | None) -> Iterator[Table]:
        """All rows, some at a time, each checked by Arrow; None: the table itself."""
        if rows is None:
            yield self
            return
        if self.data is not None:
            batches = iter(self.data.to_batches(max_chunksize=rows))
        else:
            batches = self.file.iter_batches(batch_size=rows, columns=list(self.columns))
        first = 0
        while True:
            with _damage(self.name):
                batch = next(batches, None)
                if batch is None:
                    break
                batch.validate(full=True)  # texts that are no UTF-8, and what else Parquet does not check
            data = pa.Table.from_batches([batch])
            yield dataclasses.replace(self, data=data, file=None, first=first, parsed={})
            first += len(data)
        pa.default_memory_pool().release_unused()

    def select(self, names: Sequence[str] | None = None, rows: Any = None) -> pa.Table:
        """Some columns and rows in memory, in the order asked for; None: all."""
        wanted = list(self.columns if names is None else names)
        if self.data is not None:
            whole = self.data.select(wanted)
        else:
            with _damage(self.name):
                whole = self.file.read(columns=wanted)
                whole.validate(full=True)
        return whole if rows is None else whole.take(pa.array(rows))

    def option(self, column: str, role: str) -> str:
        """What to write to give a column of this table a role: on the command line, or in Python."""
        if self.given:
            prefix, name = "edge_" if self.of_edges else "", f"{role}=[{column!r}]"
            return prefix + (name if role in ("ignore", "keep") else f"kinds={{{column!r}: {role!r}}}")
        return f"--{'edge-' if self.of_edges else ''}column {shlex.quote(f'{column}={role}')}"

    def no_value(self, word: str) -> str:
        """What to write to have a word mean "no value": on the command line, or in Python."""
        return f"missing=[{word!r}]" if self.given else f"--set {shlex.quote(f'missing={word}')}"

    def check_has(self, *names: str | None) -> None:
        """Refuse the name of a column that is not there."""
        for name in names:
            if name is None or name in self.columns:
                continue
            hint = did_you_mean(name, self.columns)
            if self.separator is not None and len(set(self.separator)) == 2:
                hint = f"; it was read with the separator {self.separator[0]!r}, {self.separator[1]!r} looks right"
            raise InputError(f"{self.name} has no column {name!r}{hint}; it has: {', '.join(map(repr, self.columns))}")

    def number(self, row: int) -> int:
        """A row as people count it, from 1, in the whole table; ``row`` is an index from 0."""
        return (self.first or 0) + row + 1

    def error(self, column: str, row: int, text: str) -> InputError:
        """An error that names file, column and row."""
        return InputError(f"{self.name}, column {column!r}, row {self.number(row)} (the header not counted): {text}")


@contextlib.contextmanager
def _damage(name: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(f"{name} is damaged: {error}") from error


def such_rows(count: int) -> str:
    """How many rows an error is about.

    >>> such_rows(1), such_rows(1200)
    ('1 such row', '1,200 such rows')
    """
    return f"{count:,} such {'row' if count == 1 else 'rows'}"


def read_table(
    source: Any,
    settings: ImportSettings | None = None,
    *,
    what: str,
    of_edges: bool = False,
    work: contextlib.ExitStack | None = None,
) -> Table:
    """Read a table: the path of a CSV or Parquet file, a pandas DataFrame, or anything that gives Arrow data.

    ``what`` is what to call a table that has no file name. With ``work`` it need not fit into memory: a file for its
    rows is open as long as the work takes. Without ``settings``, everything about the way that it is written is
    detected.
    """
    separator, encoding, decimal, missing = (
        (None, None, None, ())
        if settings is None
        else (settings.separator, settings.encoding, settings.decimal, settings.missing)
    )
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        head = _check_content(path)
        if path.suffix.lower() in PARQUET_ENDINGS:
            with _damage(str(path)):
                file = pa_parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
                table = Table(str(path), tuple(file.schema_arrow.names), file=file)
            _check_names(table.columns, table.name)
            table = table if work is not None else dataclasses.replace(table, data=table.select(), file=None)
        else:
            table = _CsvFile(path, head, separator, encoding).read(work)
    else:
        data = _from_memory(source, what)
        _check_names(data.column_names, what)
        table = Table(what, tuple(data.column_names), data, given=True)
    if not len(table):
        raise InputError(f"{table.name} has no rows")
    if decimal not in (".", ",", None):
        raise InputError(f"decimal must be '.' or ',', got {decimal!r}")
    commas = find_commas(table) if decimal is None else frozenset(table.columns if decimal == "," else ())
    return dataclasses.replace(table, commas=commas, missing=frozenset(missing), of_edges=of_edges)


def find_commas(table: Table) -> frozenset[str]:
    """The columns of a table of texts that have a decimal comma.

    These have numbers such as 3,5 and none such as 3.5. If no column has a decimal point, the comma is that of all.
    """
    columns: dict[str, set[str]] = {".": set(), ",": set()}
    head = table.head(LOOKED_AT)
    for name in head.columns:
        column = head.column(name)
        if pt.is_string(column.type):
            for point, other in ((".", ","), (",", ".")):
                clear = rf"^[+-]?(\d+|\d{{1,3}}(\{other}\d{{3}})+)\{point}(\d{{1,2}}|\d{{4,}})$"
                if pc.any(pc.match_substring_regex(pc.utf8_trim_whitespace(column), clear)).as_py():
                    columns[point].add(name)
    commas = frozenset(columns[","] - columns["."])
    return commas if columns["."] or not commas else frozenset(table.columns)


def memory_of(source: Any) -> int:
    """About how many bytes of memory a table takes, with what is made of it; 0 where it is in memory already."""
    if not isinstance(source, str | os.PathLike):
        return 0
    path = Path(source)
    with contextlib.suppress(OSError, pa.ArrowException, UnicodeError):
        if path.suffix.lower() in PARQUET_ENDINGS:
            about = pa_parquet.read_metadata(path)
            return EXPANSION * int(sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups)))
        return EXPANSION * path.stat().st_size
    return 0  # reading it says what is wrong


def check_memory(tables: Iterable[Table], budget: int) -> None:
    """Refuse tables of which one column does not fit into memory, or the ids of all nodes."""
    for table in tables:
        needed = max(FIXED_BYTES * len(table) * (not table.of_edges), COLUMN_COPIES * table.largest_column)
        if len(table) > MOST:
            raise InputError(f"{table.name} must have at most {MOST:,} rows, got {len(table):,}")
        if needed > budget:
            raise InputError(
                f"max_memory must be at least {needed / 2**20:,.0f}M for {len(table):,} rows of {table.name}, whose "
                f"columns are fitted one at a time, got {budget / 2**20:,.0f}M"
            )


def rows_within(budget: int | None, bytes_a_row: int) -> int | None:
    """How many rows are read at a time within a budget; None: all of them."""
    return None if budget is None else max(1, budget // ROWS_SHARE // bytes_a_row)


def _check_content(path: Path) -> bytes:
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
            kind = found or ("text" if b"\0" not in head else "something else")
            raise InputError(f"{path} is not a Parquet file, whatever its name says: it is {kind}")
    elif found is not None:
        raise InputError(f"{path} is not text, whatever its name says: it is {found}")
    return head


def _detect_encoding(path: Path, head: bytes) -> str:
    """UTF-8 unless the first bytes say otherwise, or the file is not UTF-8 and not merely damaged."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) > 10 * min(even, odd) + len(head) // 8:  # every second byte, as in UTF-16
            return "utf-16-le" if odd > even else "utf-16-be"
        raise InputError(f"{path} is not text, whatever its name says: it holds zero bytes")
    return "utf-8" if head.isascii() else _other_encoding(path) or "utf-8"


def _other_encoding(path: Path) -> str | None:
    """The encoding of a file that is not UTF-8; None if it is UTF-8, also if it is damaged."""
    proper = broken = undefined = 0
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        while text := file.read(1 << 20):
            if not text.isascii():
                proper += len(_PROPER.findall(text))
                broken += len(_BROKEN.findall(text))
                undefined += len(_UNDEFINED.findall(text))
    if proper >= broken:
        return None
    return "latin-1" if undefined else "cp1252"


def find_separator(text: str) -> str:
    r"""The character that cuts the first lines into the most columns, as many as the header has.

    >>> find_separator("id;name;amount\n1;a, b;2,5\n2;c;3,5\n")
    ';'
    """
    lines = [line for line in text.splitlines() if line.strip()]

    def steady_columns(separator: str) -> float:
        try:
            rows = [len(row) for row in csv.reader(lines[:200], delimiter=separator) if row]
        except csv.Error:  # a quote that is never closed makes one value of all
            return 0.0
        return (rows[0] - 1) * rows.count(rows[0]) / len(rows) if rows else 0.0

    return max(SEPARATORS, key=steady_columns)  # the first of equals: a comma


class _CsvFile:
    """A CSV file, how it is written, and its header."""

    def __init__(self, path: Path, head: bytes, separator: str | None, encoding: str | None) -> None:
        if encoding is not None and "16" in encoding and b"\0" not in head:
            encoding = None  # of the other file: this one cannot be UTF-16
        self.path, self.detected = path, encoding is None
        self.encoding = encoding or _detect_encoding(path, head)
        try:
            text = head.decode("utf-8-sig" if self.encoding == "utf-8" else self.encoding, errors="replace")
        except LookupError as error:
            raise InputError(
                f"encoding must be one that Python knows, as cp1252 or utf-16, got {encoding!r}"
            ) from error
        if len(head) == HEAD:
            text = text[: text.rfind("\n") + 1] or text  # the last line is cut
        self.likely = "\t" if path.suffix.lower() == ".tsv" else find_separator(text)
        self.separator = separator or self.likely
        if len(self.separator) != 1:
            raise InputError(f"the separator must be one character, got {self.separator!r}")
        self.names, self.blank_lines, self.num_bytes = self._read_header()

    def read(self, work: contextlib.ExitStack | None) -> Table:
        """The table in memory, or copied to a Parquet file without a name, some rows at a time."""
        file, data = None, None
        try:
            if work is None:
                data = _without_marks(pa_csv.read_csv(self.path, **self._options()))
            else:
                copy = work.enter_context(nameless_file())
                self._copy(copy)
                file = pa_parquet.ParquetFile(copy, memory_map=False, pre_buffer=False)
        except (pa.ArrowInvalid, UnicodeError) as error:
            other = _other_encoding(self.path) if self.detected and self.encoding == "utf-8" else None
            if other is not None:  # beyond the first bytes
                self.encoding = other
                return self.read(work)
            raise self._error(str(error)) from error
        message = f"{self.path} is not UTF-8 and was read as {self.encoding}; if that is wrong, use --set encoding=NAME"
        notes = (message,) if self.detected and self.encoding != "utf-8" else ()
        return Table(str(self.path), tuple(self.names), data, file, (self.separator, self.likely), notes=notes)

    def _read_header(self) -> tuple[list[str], int, int]:
        """The names in the first line that is not blank, the lines above it, and how many bytes it takes.

        Lines of separators only, as spreadsheets write them for empty rows, are blank. A column without a name gets its
        number.
        """
        found: list[str] = []
        blank, encoding = 0, "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        limit = csv.field_size_limit(LONGEST_HEADER)
        try:
            with self.path.open(encoding=encoding, errors="surrogateescape", newline="") as file:
                rows = csv.reader(iter(lambda: file.readline(2 * LONGEST_HEADER), ""), delimiter=self.separator)
                while not any(cell.strip() for cell in found):
                    blank, found = rows.line_num, next(rows)
        except (csv.Error, UnicodeError, StopIteration) as error:
            raise InputError(
                f"{self.path}: its first line, the names of the columns, cannot be read: {error}"
            ) from error
        finally:
            csv.field_size_limit(limit)
        taken = len(self.separator.join(found).encode(errors="surrogateescape"))
        if taken > LONGEST_HEADER:
            raise InputError(f"{self.path} has a first line of more than {LONGEST_HEADER >> 20} MiB: is it a table?")
        if any(_BROKEN.search(name) for name in found):
            raise InputError(
                f"{self.path} is not {self.encoding}: its first line, the names of the columns, cannot be read"
            )
        names = [from_csv_cell(name).strip() or f"column {i}" for i, name in enumerate(found, 1)]
        _check_names(names, str(self.path))
        return names, blank, taken

    def _copy(self, file: Any) -> None:
        with (
            room_for_scratch(),
            pa_csv.open_csv(self.path, **self._options()) as rows,
            pa_parquet.ParquetWriter(file, rows.schema, compression="snappy") as writer,
        ):
            for batch in rows:
                writer.write_table(_without_marks(pa.Table.from_batches([batch])))

    def _options(self, **more: Any) -> dict[str, Any]:
        """Blank lines and the header are not data; a row is in one block, and may be as long as the header, or more."""
        return {
            "read_options": pa_csv.ReadOptions(
                column_names=self.names,
                skip_rows=self.blank_lines,
                skip_rows_after_names=1,
                block_size=max(BLOCK, 8 * self.num_bytes),
                encoding="utf8" if self.encoding == "utf-8" else self.encoding,
                use_threads=not more,
            ),
            "parse_options": pa_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True, **more),
            "convert_options": pa_csv.ConvertOptions(
                column_types={name: pa.binary() if more else pa.string() for name in self.names},
                null_values=[""],
                strings_can_be_null=True,
            ),
        }

    def _error(self, text: str) -> InputError:
        """Say what is wrong with a file that did not parse, and where."""
        if self.encoding == "utf-8" and ("UTF8" in text or "utf-8" in text.lower()):
            return self._not_utf8()
        uneven: list[Any] = []

        def keep(row: Any) -> str:
            uneven.append(row)
            return "skip"

        with contextlib.suppress(pa.ArrowInvalid, UnicodeError):  # the first error is the one to report
            pa_csv.read_csv(self.path, **self._options(invalid_row_handler=keep))
        if not uneven:
            how = f"the separator {self.separator!r} and the encoding {self.encoding}"
            return InputError(f"{self.path} cannot be read as a table with {how}: {text}")
        first = uneven[0]
        start = first.text if len(first.text) <= 60 else first.text[:57] + "..."
        row = first.number - 1 - self.blank_lines
        return InputError(
            f"{self.path}, row {row} (the header not counted): {first.actual_columns} values where the header has "
            f"{first.expected_columns}, at the separator {self.separator!r}: {start!r} ({such_rows(len(uneven))}); "
            "is it the right separator (--set separator=...), or is a quote missing?"
        )

    def _not_utf8(self) -> InputError:
        """The first line with bytes that are not UTF-8, and the column they lie in."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    place = line[: error.start].decode("utf-8").count(self.separator)
                    column = self.names[min(place, len(self.names) - 1)]
                    seen = line[max(0, error.start - 10) : error.start + 10].decode("latin-1").strip()
                    row = number - 1 - self.blank_lines
                    return InputError(
                        f"{self.path}, column {column!r}, row {row} (line {number}) is not UTF-8: byte "
                        f"{line[error.start]:#04x} in {seen!r} (read as Latin-1), while other characters are; correct "
                        "it, or name the encoding: --set encoding=cp1252"
                    )
        return InputError(f"{self.path} is not UTF-8")


def _without_marks(table: pa.Table) -> pa.Table:
    """Texts as they were before an apostrophe kept spreadsheets from running them: `se_gnn.display.text`."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if pc.any(pc.starts_with(column, MARK)).as_py():
            table = table.set_column(place, name, pc.replace_substring_regex(column, MARKED, r"\1"))
    return table


def _from_memory(source: Any, what: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if type(source).__module__.partition(".")[0] == "pandas":
        frame = source.reset_index() if source.index.name is not None else source
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # values of several types are read as those of a file are
            mixed = [name for name in frame if frame[name].dtype == object]
            texts = {name: frame[name].map(str, na_action="ignore") for name in mixed}
            return pa.Table.from_pandas(frame.assign(**texts), preserve_index=False)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__dataframe__"):
        return pa.table(source)
    raise InputError(
        f"{what} must be the path of a CSV or Parquet file, a pandas DataFrame or an Arrow table, "
        f"got {type(source).__name__}"
    )


def _check_names(names: Sequence[str], what: str) -> None:
    """Refuse a table in which a name means two columns."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{what} has two columns named {twice[0]!r}")
