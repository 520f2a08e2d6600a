"""Long names in little space."""

from __future__ import annotations

import itertools
import unicodedata


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
