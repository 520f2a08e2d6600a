"""Texts on their way to people: cells of CSV files, long names in little space, and terminals.

Spreadsheets run a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, also in their full-width forms and
behind a tab or a carriage return. Such a text gets an apostrophe in front, which is what people type there to say "this
is text"; numbers stay numbers. Reading takes the apostrophe off again where it stands before such a text, and nowhere
else. On a terminal, what would move the cursor or change colors is shown, not done.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

MARK = "'"
# written out: engines do not agree on what `\s` is
_SPACE = " \t\n\r\f\v\x1c-\x1f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
_BEGIN = f"(?:[{_SPACE}]*[{_SIGNS}]|[\t\r])"
_FORMULA = re.compile(_BEGIN)
MARKED = rf"^'('*{_BEGIN})"  # the text behind one mark; also for engines that know no look-ahead
_MARKED = re.compile(MARKED)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def to_csv_cell(text: str) -> str:
    """A text as it is written into a CSV file.

    >>> to_csv_cell("=SUM(A1)"), to_csv_cell("-12.5"), to_csv_cell("Ann")
    ("'=SUM(A1)", '-12.5', 'Ann')
    """
    if _NUMBER.fullmatch(text) or not (_FORMULA.match(text) or _MARKED.match(text)):
        return text
    return MARK + text


def from_csv_cell(text: str) -> str:
    """The text that :func:`to_csv_cell` wrote.

    >>> from_csv_cell("'=SUM(A1)"), from_csv_cell("'quoted'")
    ('=SUM(A1)', "'quoted'")
    """
    return text[1:] if _MARKED.match(text) else text


def width(text: str) -> int:
    r"""Columns of a terminal that a text takes: a wide character two, an accent that joins the letter before it none.

    >>> width("Ann"), width("東京"), width("e\u0301")
    (3, 4, 1)
    """
    return sum(_widths(text))


def pad(text: str, columns: int) -> str:
    """With spaces behind it, so that the next column of a table begins where it does in other rows.

    >>> pad("東京", 6) + "|"
    '東京  |'
    """
    return text + " " * (columns - width(text))


def shorten(text: str, limit: int) -> str:
    """Cut out the middle: names that begin alike often differ at the end. The limit is a :func:`width`.

    >>> shorten("Probabilistic Methods", 12), shorten("paper-identifier-0074", 12)
    ('Probab…thods', 'paper-…-0074')
    """
    widths = _widths(text)
    if sum(widths) <= limit:
        return text
    head = _how_many(widths, limit // 2)
    tail = _how_many(widths[::-1], limit - limit // 2 - 1)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def cut(text: str, limit: int) -> str:
    """Cut off the end of a text that is wider than the limit.

    >>> cut("a pays b (amount 118)", 14), cut("a pays b", 14)
    ('a pays b (amo…', 'a pays b')
    """
    widths = _widths(text)
    return text if sum(widths) <= limit else f"{text[: _how_many(widths, limit - 1)]}…"


def shorten_pair(first: str, second: str, limit: int) -> tuple[str, str]:
    """Two names for ``limit`` columns in all: each may take half, and what the other does not need.

    >>> shorten_pair("account-0001", "b", 10), shorten_pair("account-0001", "account-0002", 16)
    (('acco…0001', 'b'), ('acco…001', 'acco…002'))
    """
    half = limit // 2
    rooms = max(limit - half, limit - width(second)), max(half, limit - width(first))
    return shorten(first, rooms[0]), shorten(second, rooms[1])


def _widths(text: str) -> list[int]:
    return [
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    ]


def _how_many(widths: list[int], room: int) -> int:
    """How many of the first characters fit."""
    return sum(total <= room for total in itertools.accumulate(widths))


_KEPT = "\n\t"
# bidirectional controls reorder what stands around them: a name could rewrite the sentence it is in
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    r"""The text with control characters escaped; line breaks and tabs stay, because our own texts have them.

    >>> printable("a\x1b[31mred\x07")
    'a\\u001b[31mred\\u0007'
    """
    if text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else _escaped(character) for character in text)


def printable_name(name: str) -> str:
    r"""The same for a name inside a line: a line break or a tab is escaped as well.

    >>> printable_name("two\nlines")
    'two\\nlines'
    """
    return printable(name).replace("\n", "\\n").replace("\t", "\\t")


def _is_harmless(character: str) -> bool:
    if character in _KEPT:
        return True
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") and character not in _REORDERING


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"  # which JSON knows as well, so that escaped JSON is the same JSON
