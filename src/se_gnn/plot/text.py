"""Names of nodes and classes as text that any picture can carry, whatever is in them."""

from __future__ import annotations

import itertools
import math
import unicodedata

NAME_LENGTH = 24

# control, surrogate, private-use and unassigned characters; line and paragraph separators
_NOT_SHOWN = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


def show(name: str, limit: int = NAME_LENGTH) -> str:
    r"""A name as a picture shows it: one line, shortened in the middle, no mathematics, no change of direction.

    >>> show("a_name_of_forty_characters_or_so_in_total")
    'a_name_of_fo…so_in_total'
    >>> print(show("cost: $5 $10"))
    cost: \$5 \$10
    """
    return shorten(readable(name), limit).replace("$", r"\$")  # matplotlib reads what is between two $ as mathematics


def readable(name: str) -> str:
    r"""A name as one line of text: what cannot be seen is taken out or marked, and no direction is changed.

    >>> readable("two\nlines"), readable("evil\u202exe.doc")
    ('two lines', 'evilxe.doc')
    """
    return "".join(_harmless(character) for character in unicodedata.normalize("NFC", name))


def isolated(name: str) -> str:
    """A readable name between the marks U+2068 and U+2069: its direction does not turn the text around it."""
    return f"\u2068{readable(name)}\u2069"


def shorten(text: str, limit: int) -> str:
    """Cut out the middle: names that begin alike often differ at the end. A wide character counts as two."""
    widths = [2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text]
    if sum(widths) <= limit:
        return text
    head = _how_many(widths, limit // 2)
    tail = _how_many(widths[::-1], limit - limit // 2 - 1)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def percent(share: float) -> str:
    """A share with enough digits to tell small ones apart, and never 0% or 100% for what is neither.

    >>> [percent(share) for share in (0, 0.0004, 0.049, 0.81, 0.9996, 1)]
    ['0%', '<0.1%', '4.9%', '81%', '>99%', '100%']
    """
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.995 <= share < 1 - 1e-6:
        return ">99%"
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def tenths(share: float) -> str:
    """A share in percent with one digit after the point, and never 0% or 100% for what is neither.

    >>> [tenths(share) for share in (0, 0.00004, 0.049, 0.8123, 0.9999, 1)]
    ['0%', '<0.1%', '4.9%', '81.2%', '>99.9%', '100%']
    """
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.9995 <= share < 1 - 1e-6:
        return ">99.9%"
    return f"{share:.1%}" if 0 < share < 0.9995 else f"{share:.0%}"


def decimal(value: float) -> str:
    """A number with two digits after the point and a proper minus sign; a dash where there is none.

    >>> [decimal(value) for value in (-1.257, 0.001, -0.001, float("nan"))]
    ['−1.26', '0.00', '0.00', '–']
    """
    if not math.isfinite(value):
        return "–"
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # + 0.0: no "-0.00"


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":  # joiners and marks that turn the direction of all that follows
        return ""
    if category in _NOT_SHOWN:
        return " " if character in "\t\n\r\u2028\u2029" else "\ufffd"
    return character


def _how_many(widths: list[int], room: int) -> int:
    """How many of the first characters fit."""
    return sum(total <= room for total in itertools.accumulate(widths))
