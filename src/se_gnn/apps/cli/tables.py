"""Plain text tables that fit a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from se_gnn.display.short_names import pad, shorten, width
from se_gnn.number_format import tenths

WIDTH = 80
SHORTEST = 8  # no column of names is cut below this


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, names: Sequence[int] = (0,)) -> str:
    """Columns of text; those at ``names`` stand left and are cut where the table is wider than a terminal.

    >>> print(table(["class", "test"], [["base", "30"], ["top", "8"]]))
    class  test
    -----------
    base     30
    top       8
    """
    widths = [max(width(row[i]) for row in (header, *rows)) for i in range(len(header))]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        widest = max(names, key=lambda i: widths[i])
        if widths[widest] <= SHORTEST:
            break
        widths[widest] -= 1

    def line(row: Sequence[str]) -> str:
        cells = (
            pad(shorten(text, w), w) if i in names else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths))
        )
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "-" * (sum(widths) + 2 * (len(widths) - 1)), *map(line, rows)])


def percent(value: float | None) -> str:
    """A share as people read it; a dash where there is none.

    >>> percent(0.8125), percent(None)
    ('81.2%', '-')
    """
    return "-" if value is None or value != value else tenths(value)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> count(1, "edge"), count(2708, "node")
    ('1 edge', '2,708 nodes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
