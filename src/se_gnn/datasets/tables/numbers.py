"""Numbers as people write them: with thousands separators, a percent sign, a currency."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

LARGEST = 1e30  # number; beyond it nothing can be said in float32

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


class Written(NamedTuple):
    """A number as it is written: digits with a decimal point, and its unit."""

    digits: str
    unit: str


def read_number(text: str, decimal: str) -> float | None:
    """The number that a text is, however it is written; None where it is none.

    >>> [read_number(text, ".") for text in ("1,234.5", "12%", "-$5", "(1,000)", "1e3", "3,5", "abc")]
    [1234.5, 12.0, -5.0, -1000.0, 1000.0, None, None]
    """
    written = as_written(text, decimal)
    if written is None:
        return None
    number = float(written.digits)
    return number if abs(number) <= LARGEST else None


def as_written(text: str, decimal: str) -> Written | None:
    """Digits and unit of a number; None where the text is none."""
    plain = text.replace(",", ".") if decimal == "," else text
    if _PLAIN.fullmatch(plain) and not (decimal == "," and _POINTS.fullmatch(text)):
        return Written(plain, "")
    found = _DRESSED.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    body = found["body"].strip()
    if not _GROUPS[decimal].fullmatch(body) or (found["sign"] and found["inner"]):
        return None
    digits = re.sub(r"[,\s'’]" if decimal == "." else r"[.\s'’]", "", body).replace(",", ".")
    signs = (found["sign"] or "") + (found["inner"] or "") + ("-" if found["open"] else "")
    negative = sum(sign in "-−" for sign in signs) % 2
    return Written(("-" if negative else "") + digits, found["before"] or found["after"] or "")


def number_reader(decimal: str) -> Callable[[str], float | None]:
    """:func:`read_number` with a decimal point."""
    return lambda text: read_number(text, decimal)


def writing_note(texts: Iterable[str], decimal: str) -> str | None:
    """What people should know about a column whose numbers are not written plainly; None where they are."""
    read = {text: written for text in texts if (written := as_written(text, decimal)) is not None}
    dressed = [text for text, written in read.items() if written.digits != text.replace(",", ".")]
    if not dressed:
        return None
    example = dressed[0]
    note = f"numbers such as {example!r} are read as {float(read[example].digits):.15g}"
    units = sorted({written.unit for written in read.values()})
    if len(units) > 1:
        named = ", ".join(unit or "none" for unit in units)
        note += f"; they have different units ({named}), which are not converted"
    if decimal == "." and all(re.fullmatch(r"[+-]?\d{1,3},\d{3}", text) for text in dressed):
        note += "; if that comma is a decimal point: --set decimal=,"
    return note
