"""Cells of CSV files that spreadsheets open: a text that begins like a formula is written so that none is run.

Spreadsheets run a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, also in their full-width forms and
behind a tab or a carriage return. Such a text gets an apostrophe in front, which is what people type there to say "this
is text"; numbers stay numbers. Reading takes the apostrophe off again where it stands before such a text, and nowhere
else.
"""

from __future__ import annotations

import re

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
