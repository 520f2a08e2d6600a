"""What a column holds: numbers, booleans, dates, categories or short text. Shapes: N rows.

Text is parsed once for each distinct value. Numbers are read as people write them: with thousands separators, a percent
sign, a currency. A column that is mostly numbers (or dates) and holds something else is an error that names the row,
not a column of categories.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from se_gnn.errors import InputError
from se_gnn.graph.arrays import LARGEST_WHOLE, BoolArray, Float64Array, IntArray
from se_gnn.graph.columns import TABLE_KINDS
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.tables.source import Table

MOSTLY = 0.8  # share of numbers from which on anything else in a column is a mistake
HALF = 0.5  # share of numbers from which on categories may be meant as numbers
FEW = 20  # distinct values that are categories in a table of any size
MOST_DECIMALS = 6
SECONDS_A_DAY = 86_400
MOSTLY_DISTINCT = 0.95  # share of different whole numbers above which a column is a key
FEWEST_KEYS = 50  # fewest rows for that decision

# missing where a number, a boolean or a date is expected; among names "NA" may be Namibia
NO_VALUE = frozenset({"na", "n/a", "nan", "null", "none", "nil", "-", "?"})
BOOLEANS = {"true": 1, "false": 0, "yes": 1, "no": 0, "t": 1, "f": 0, "y": 1, "n": 0, "1": 1, "0": 0}

_WHOLE = re.compile(r"\d+")
_CODE = re.compile(r"0\d+")  # a number does not begin with 0, a postcode does
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_PATTERNS = ("%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
LARGEST = 1e30  # largest number that float32 can work with
LATEST = 100_000_000_000  # seconds, in the year 5138: what lies beyond is counted in something smaller than seconds

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_POINTS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")  # beside a decimal comma: 1.234 is a thousand and more
_UNIT = r"%|[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
_DRESSED = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+\-−])?\s*(?P<before>{_UNIT})?\s*(?P<inner>[+\-−])?"
    rf"(?P<body>\d[\d.,\s'’]*|\.\d+)\s*(?P<after>{_UNIT})?\s*(?P<close>\))?"
)
_GROUPS = {
    ".": re.compile(r"\d{1,3}(?:([,\s'’])\d{3}(?:\1\d{3})*)?(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+"),
    ",": re.compile(r"\d{1,3}(?:([.\s'’])\d{3}(?:\1\d{3})*)?(?:,\d*)?|\d+(?:,\d*)?|,\d+"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Parsed:
    """A column as values of one kind."""

    kind: str  # one of `se_gnn.graph.columns.TABLE_KINDS`
    numbers: Float64Array | None = None  # numbers, 0 and 1, or days since 1970, [N]; NaN where missing
    texts: pa.Array | None = None  # categories or texts, [N]; None where missing
    details: dict[str, Any] = field(default_factory=dict)  # what an encoding keeps of the way the table writes it
    whole: bool = False  # numbers that are counted, not measured: written or stored as whole numbers from 0 on
    identifier: bool = False  # the values tell rows apart and say nothing about them
    note: str | None = None  # what people should know about how it was read

    @cached_property
    def missing(self) -> BoolArray:
        """Rows without a value, [N]."""
        if self.texts is not None:
            return np.asarray(self.texts.is_null(), bool)
        return np.isnan(np.asarray(self.numbers, np.float64))

    def take(self, rows: IntArray) -> Parsed:
        """The values of some rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        texts = None if self.texts is None else self.texts.take(pa.array(rows))
        return dataclasses.replace(self, numbers=numbers, texts=texts)


def parse_column(
    table: Table, name: str, *, kind: str | None = None, pattern: str | None = None, decimal: str | None = None
) -> Parsed:
    """Understand a column, or read it as the ``kind`` that was asked for; each is read once where it is in memory.

    ``pattern`` of dates and ``decimal`` point of numbers are given where they are known already.
    """
    point = decimal or table.decimal_of(name)
    found: Parsed | None = table.parsed.get((name, kind, pattern, point))
    if found is None:
        found = _parse(table, name, kind, pattern, point)
        if table.data is not None:
            table.parsed[name, kind, pattern, point] = found
            table.parsed[name, found.kind, found.details.get("pattern"), point] = found
    return found


def _parse(table: Table, name: str, kind: str | None, pattern: str | None, point: str) -> Parsed:
    column = table.column(name)
    if kind in ("category", "text"):
        return Parsed(kind=kind, texts=as_texts(table, name))
    data_type = column.type.value_type if pt.is_dictionary(column.type) else column.type
    if (
        pt.is_string(data_type)
        or pt.is_large_string(data_type)
        or pt.is_string_view(data_type)
        or pt.is_null(data_type)
    ):
        return _Text(table, name, point).parse(kind, pattern)
    if pt.is_boolean(data_type):
        parsed = Parsed(kind="boolean", numbers=_floats(column.cast(pa.int8())), details={"words": ("false", "true")})
    elif pt.is_integer(data_type) or pt.is_floating(data_type) or pt.is_decimal(data_type):
        parsed = _numbers(table, name, column, kind)
    elif pt.is_temporal(data_type) and not (pt.is_duration(data_type) or pt.is_time(data_type)):
        parsed = _dates(column)
    else:
        raise InputError(
            f"{table.name}, column {name!r} holds values of type {data_type}, which cannot become features; "
            f"leave it out: {table.option(name, 'ignore')}"
        )
    if kind not in (None, parsed.kind):
        raise InputError(f"{table.name}, column {name!r} holds values of type {data_type}, not a {kind}")
    return parsed


def as_texts(table: Table, name: str, missing: Collection[str] | None = None) -> pa.Array:
    """A column as text, as names and categories are compared; whole numbers have no decimals. None where missing.

    ``missing`` are the words that mean "no value"; None: those of the table.
    """
    column = table.column(name)
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pt.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
        _check_nameable(table, name, column)
        whole = pc.equal(pc.floor(column), column)
        if pc.all(whole).as_py() is not False:
            column = column.cast(pa.int64())
    elif pt.is_nested(kind) or pt.is_binary(kind) or pt.is_large_binary(kind):
        raise InputError(f"{table.name}, column {name!r} holds values of type {kind}, which cannot be names")
    texts = column.cast(pa.string()).combine_chunks()
    words = sorted(table.missing if missing is None else missing)
    return pc.if_else(pc.is_in(texts, value_set=pa.array(["", *words], pa.string())), None, texts)


def as_names(table: Table, name: str, missing: Collection[str] | None = None) -> pa.Array:
    """The same without spaces around the texts and in Unicode's composed form (NFC), as ids and classes are compared.

    Two forms of one text look the same to everybody.
    """
    texts = pc.utf8_normalize(pc.utf8_trim_whitespace(as_texts(table, name, missing)), form="NFC")
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _check_nameable(table: Table, name: str, column: pa.ChunkedArray) -> None:
    """Refuse floats that name nothing: infinities, and those so large that several whole numbers are one of them."""
    numbers = _floats(column)
    wrong = np.flatnonzero(np.abs(numbers) >= LARGEST_WHOLE)
    if len(wrong):
        number = numbers[wrong[0]]
        why = "is not finite" if np.isinf(number) else "is a float beyond 2^53, which no longer holds every digit"
        raise table.error(name, int(wrong[0]), f"{number} {why}; store the column as whole numbers or as text")


class _Text:
    """A column of text, by its distinct values."""

    def __init__(self, table: Table, name: str, decimal: str) -> None:
        self.table, self.name, self.decimal = table, name, decimal
        self.number = functools.partial(read_number, decimal=decimal)
        self.texts = as_texts(table, name)
        encoded = self.texts.dictionary_encode()
        self.codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)  # [N], -1: missing
        self.distinct: list[str] = [text.strip() for text in encoded.dictionary.to_pylist()]
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.distinct))
        self.counts = np.where([text.lower() in NO_VALUE for text in self.distinct], 0, counts)
        self.present = [text for text, count in zip(self.distinct, self.counts) if count]

    def parse(self, kind: str | None, pattern: str | None) -> Parsed:
        note, details = None, dict[str, Any]()
        if kind == "boolean":
            words = {BOOLEANS[text.lower()]: text for text in reversed(self.distinct) if text.lower() in BOOLEANS}
            details["words"] = words.get(0, "false"), words.get(1, "true")
            numbers = self._read(lambda text: BOOLEANS.get(text.lower()), "true or false")
        elif kind == "number":
            details |= {"decimals": self._decimals(), "decimal_point": self.decimal}
            numbers, note = self._read(self.number, "a finite number"), writing_note(self.present, self.decimal)
        elif kind == "date":
            how, note = (pattern, None) if pattern else self._pattern()
            details |= {"pattern": how, "with_time": any(":" in text for text in self.distinct)}
            numbers = self._read(_date_reader(how), "a date")
        else:
            return self._guess()
        whole = kind == "number" and all(_WHOLE.fullmatch(text) for text in self.present)
        return Parsed(kind=kind, numbers=numbers, details=details, whole=whole, note=note)

    def _guess(self) -> Parsed:
        lower = {text.lower() for text in self.present}
        if any(lower == set(pair) for pair in (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("0", "1"))):
            return self.parse("boolean", None)
        codes, number = any(_CODE.fullmatch(text) for text in self.distinct), self.number
        # infinity cannot be used, but a column with it is meant as numbers: an error names its row
        if not codes and self._share(lambda text: 0.0 if _INFINITE.fullmatch(text) else number(text)) >= MOSTLY:
            return self.parse("number", None)
        if self._share(_date_reader(self._pattern()[0])) >= MOSTLY:
            return self.parse("date", None)
        return self._names()

    def _names(self) -> Parsed:
        """Categories or text: text has several words, and rows seldom share it."""
        words = np.mean([len(text.split()) for text in self.distinct]) if self.distinct else 0
        num_rows, num_distinct = int((self.codes >= 0).sum()), len(self.distinct)
        seldom_shared = num_distinct > num_rows / 2
        few = num_distinct <= max(FEW, num_rows // 10)
        is_text = words >= 2 and (seldom_shared or not few)
        return Parsed(
            kind="text" if is_text else "category",
            texts=self.texts,
            identifier=not is_text and not few and seldom_shared,
            note=self._like_numbers(),
        )

    def _like_numbers(self) -> str | None:
        """What people should know about categories that may be meant as numbers."""
        other = "," if self.decimal == "." else "."
        if self._share(lambda text: read_number(text, other)) >= MOSTLY:
            return f"looks like numbers with a decimal {other!r}: --set decimal={other} reads them so"
        share = self._share(self.number)
        if share < HALF or any(_CODE.fullmatch(text) for text in self.distinct):
            return None
        return (
            f"{share:.0%} of the values are numbers, but not all: they are categories here; correct the others, or "
            "name the words that mean no value: --set missing=WORD"
        )

    def _read(self, read: Callable[[str], float | None], noun: str) -> Float64Array:
        """Every value read as one kind, [N]; the first that cannot be is an error."""
        values = np.array([*map(read, self.distinct), None], dtype=np.float64)  # None is NaN
        wrong = np.isnan(values[:-1]) & (self.counts > 0)
        if wrong.any():
            row = int(np.flatnonzero(np.append(wrong, False)[self.codes])[0])
            total = int(self.counts.sum())
            good = total - int(self.counts[wrong].sum())
            text = (
                f"{self.distinct[self.codes[row]]!r} is not {noun}, {good:,} of the {total:,} values are; correct it, "
                f"say that it means no value: {self.table.no_value(self.distinct[self.codes[row]])}, or say "
                f"what the column is: {self.table.option(self.name, 'category')}, or "
                f"{self.table.option(self.name, 'ignore')}"
            )
            raise self.table.error(self.name, row, text)
        found: Float64Array = values[self.codes]
        return found

    def _share(self, read: Callable[[str], float | None]) -> float:
        total = self.counts.sum()
        good = sum(int(count) for text, count in zip(self.distinct, self.counts) if count and read(text) is not None)
        return good / total if total else 0.0

    def _decimals(self) -> int:
        written = (as_written(text, self.decimal) for text in self.distinct if "e" not in text.lower())
        return min(MOST_DECIMALS, max((len(digits.partition(".")[2]) for digits, _ in written), default=0))

    def _pattern(self) -> tuple[str | None, str | None]:
        """The way of writing dates that reads the most of them, and whether another one reads as many."""
        shares = {pattern: self._share(_date_reader(pattern)) for pattern in (None, *_PATTERNS)}
        best = max(shares, key=lambda pattern: shares[pattern])
        also = best == "%d/%m/%Y" and shares["%m/%d/%Y"] == shares[best] > 0
        return best, "dates read as day/month/year, and could as well be month/day/year" if also else None


def _numbers(table: Table, name: str, column: pa.ChunkedArray, kind: str | None) -> Parsed:
    whole = pt.is_integer(column.type)
    numbers = _floats(column)
    huge = np.flatnonzero(np.abs(numbers) > LARGEST)
    if len(huge):
        raise table.error(name, int(huge[0]), f"{numbers[huge[0]]} is not a finite number below {LARGEST:g}")
    present = numbers[~np.isnan(numbers)]
    if kind == "boolean" or (kind is None and whole and set(np.unique(present)) == {0, 1}):
        wrong = np.flatnonzero(~np.isnan(numbers) & ~np.isin(numbers, (0, 1)))
        if len(wrong):
            raise table.error(name, int(wrong[0]), f"{numbers[wrong[0]]:g} is not 0 or 1")
        return Parsed(kind="boolean", numbers=numbers, details={"words": ("0", "1")})
    decimals = 0 if whole else _decimals_of(present[:10_000])
    counted = whole and bool((present >= 0).all())
    return Parsed(kind="number", numbers=numbers, whole=counted, details={"decimals": decimals})


def _dates(column: pa.ChunkedArray) -> Parsed:
    column = column.cast(pa.timestamp("us", tz=getattr(column.type, "tz", None)), safe=False)
    days = _floats(column.cast(pa.int64())) / 1e6 / SECONDS_A_DAY
    present = days[~np.isnan(days)]
    with_time = bool((present != np.floor(present)).any())
    return Parsed(kind="date", numbers=days, details={"pattern": None, "with_time": with_time})


def is_key(parsed: Parsed) -> bool:
    """Whether whole numbers tell rows apart instead of measuring something.

    They count the rows, each number once and without a gap; or nearly all of them are different, over at least 50 rows.
    """
    if parsed.kind != "number" or parsed.numbers is None:
        return False
    distinct = np.unique(parsed.numbers[~parsed.missing])
    num_present = int((~parsed.missing).sum())
    if num_present == len(distinct) == len(parsed.missing) > FEW and (np.diff(distinct) == 1).all():
        return True
    return parsed.whole and num_present >= FEWEST_KEYS and len(distinct) > MOSTLY_DISTINCT * num_present


def _date_reader(pattern: str | None) -> Callable[[str], float | None]:
    """Days since 1970 of a date as text; dates without a time zone are taken as UTC."""

    def read(text: str) -> float | None:
        try:
            if pattern is not None:
                date = datetime.datetime.strptime(text, pattern)
            elif _ISO.fullmatch(text):
                date = datetime.datetime.fromisoformat(text)
            else:
                return None
        except ValueError:
            return None
        date = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
        return date.timestamp() / SECONDS_A_DAY

    return read


def _floats(column: pa.ChunkedArray) -> Float64Array:
    """Numbers, NaN where missing."""
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _decimals_of(numbers: Float64Array) -> int:
    exact = (n for n in range(MOST_DECIMALS) if (np.round(numbers, n) == numbers).all())
    return next(exact, MOST_DECIMALS)


def check_kinds(table: Table, kinds: Mapping[str, str], used: Sequence[str]) -> None:
    """Refuse kinds of columns that are not there or are not attributes."""
    for name, kind in kinds.items():
        table.check_has(name)
        if kind not in TABLE_KINDS:
            raise InputError(f"the kind of column {name!r} must be one of {', '.join(TABLE_KINDS)}, got {kind!r}")
        if name not in used:
            roles = "an end, the weight, the type, the time" if table.of_edges else "the id, the label, the split"
            raise InputError(f"column {name!r} has a kind, but is {roles}, or ignored")


def read_number(text: str, decimal: str) -> float | None:
    """The number that a text is, however it is written; None where it is none.

    >>> [read_number(text, ".") for text in ("1,234.5", "12%", "-$5", "(1,000)", "1e3", "3,5", "abc")]
    [1234.5, 12.0, -5.0, -1000.0, 1000.0, None, None]
    """
    digits, _ = as_written(text, decimal)
    return float(digits) if digits and abs(float(digits)) <= LARGEST else None


def as_written(text: str, decimal: str) -> tuple[str, str]:
    """Digits of a number with a decimal point, and its unit; empty where the text is no number."""
    plain = text.replace(",", ".") if decimal == "," else text
    if _PLAIN.fullmatch(plain) and not (decimal == "," and _POINTS.fullmatch(text)):
        return plain, ""
    found = _DRESSED.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]) or (found["sign"] and found["inner"]):
        return "", ""
    body = found["body"].strip()
    if not _GROUPS[decimal].fullmatch(body):
        return "", ""
    digits = re.sub(r"[,\s'’]" if decimal == "." else r"[.\s'’]", "", body).replace(",", ".")
    signs = (found["sign"] or "") + (found["inner"] or "") + ("-" if found["open"] else "")
    negative = sum(sign in "-−" for sign in signs) % 2
    return ("-" if negative else "") + digits, found["before"] or found["after"] or ""


def writing_note(texts: Iterable[str], decimal: str) -> str | None:
    """What people should know about a column whose numbers are not written plainly; None if they are."""
    read = {text: as_written(text, decimal) for text in texts}
    dressed = [text for text, (digits, _) in read.items() if digits not in ("", text.replace(",", "."))]
    if not dressed:
        return None
    note = f"numbers such as {dressed[0]!r} are read as {float(read[dressed[0]][0]):.15g}"
    units = sorted({unit for digits, unit in read.values() if digits})
    if len(units) > 1:
        named = ", ".join(unit or "none" for unit in units)
        note += f"; they have different units ({named}), which are not converted"
    if decimal == "." and all(re.fullmatch(r"[+-]?\d{1,3},\d{3}", text) for text in dressed):
        note += "; if that comma is a decimal point: --set decimal=,"
    return note


def date_form(table: Table, name: str) -> tuple[str, str | None]:
    """How a whole column writes its dates: as seconds (a number) or as a date, and the pattern of a date.

    Blocks of the column are read in the same way.
    """
    parsed = parse_column(table, name)
    return ("number", None) if parsed.kind == "number" else ("date", parsed.details.get("pattern"))


def read_times(table: Table, name: str, form: tuple[str, str | None] | None = None) -> IntArray:
    """Seconds since 1970 of each row, rounded down; `NO_TIME` where there is no date."""
    kind, pattern = form or date_form(table, name)
    parsed = parse_column(table, name, kind=kind, pattern=pattern)
    assert parsed.numbers is not None
    seconds = parsed.numbers * SECONDS_A_DAY if parsed.kind == "date" else parsed.numbers
    wrong = np.flatnonzero(np.abs(seconds) > LATEST)
    if len(wrong):
        row = int(wrong[0])
        raise table.error(
            name, row, f"{seconds[row]:.0f} seconds since 1970 is after the year 5000; are these milliseconds?"
        )
    # a date is a number of days: a thousandth of a second more, so that it is not rounded down to the second before
    whole = np.floor(np.where(parsed.missing, 0, seconds) + 1e-3).astype(np.int64)
    return np.where(parsed.missing, NO_TIME, whole)
