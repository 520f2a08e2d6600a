"""Long names in little space."""

from __future__ import annotations

import itertools
import unicodedata


def shorten(text: str, limit: int) -> str:
    """Cut out the middle: names that begin alike often differ at the end. A wide character counts as two.

    >>> shorten("Probabilistic Methods", 12), shorten("paper-identifier-0074", 12)
    ('Probab…thods', 'paper-…-0074')
    """
    widths = [2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text]
    if sum(widths) <= limit:
        return text
    head = _how_many(widths, limit // 2)
    tail = _how_many(widths[::-1], limit - limit // 2 - 1)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def _how_many(widths: list[int], room: int) -> int:
    """How many of the first characters fit."""
    return sum(total <= room for total in itertools.accumulate(widths))
