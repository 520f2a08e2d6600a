"""Text for a terminal: tables, paragraphs, shares and counts that fit its width."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from se_gnn.display.text import pad, printable_name, shorten, width
from se_gnn.number_format import tenths

if TYPE_CHECKING:
    from se_gnn.graph import Graph

WIDTH = 80  # columns of what is not printed to a terminal
NARROWEST, WIDEST_PARAGRAPH = 40, 100
SHORTEST = 8  # no column of names is cut below this


def room() -> int:
    """The number of columns that a line may fill."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def paragraph(text: str, *, indent: int = 0, label: str = "") -> str:
    """A text in lines that fit the terminal; ``label`` stands before the first of them, in the indentation.

    >>> print(paragraph("one two three " * 6, indent=10, label="  split"))
      split   one two three one two three one two three one two three one two three
              one two three
    """
    first, others = label.ljust(indent), " " * indent
    return textwrap.fill(
        printable_name(text),
        min(room(), WIDEST_PARAGRAPH),
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, names: Sequence[int] = (0,)) -> str:
    """Columns of text, as wide as the terminal allows.

    The columns at ``names`` are aligned to the left, and shortened if the table would be too wide.

    >>> print(table(["class", "test"], [["base", "30"], ["top", "8"]]))
    class  test
    -----------
    base     30
    top       8
    """
    cells = [[printable_name(cell) for cell in row] for row in (header, *rows)]
    widths = [max(width(row[i]) for row in cells) for i in range(len(header))]
    while sum(widths) + 2 * (len(widths) - 1) > room():
        widest = max(names, key=lambda i: widths[i], default=None)
        if widest is None or widths[widest] <= SHORTEST:
            break
        widths[widest] -= 1

    def line(row: Sequence[str]) -> str:
        aligned = (
            pad(_fitted(text, w), w) if i in names else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths))
        )
        return "  ".join(aligned).rstrip()

    return "\n".join([line(cells[0]), "-" * (sum(widths) + 2 * (len(widths) - 1)), *map(line, cells[1:])])


def _fitted(text: str, limit: int) -> str:
    """A text in so many columns; of a caption with a name behind it, the name stays whole: people copy it.

    >>> _fitted("Café Robot 12 (SKU00462)", 19), _fitted("paper-identifier-0074", 12)
    ('Café… 12 (SKU00462)', 'paper-…-0074')
    """
    caption, _, name = text.removesuffix(")").rpartition(" (")
    left = limit - width(name) - len(" ()")
    if width(text) > limit and text.endswith(")") and caption and left >= 3:
        return f"{shorten(caption, left)} ({name})"
    return shorten(text, limit)


def percent(value: float | None) -> str:
    """A share in percent, or a dash if it is not known.

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


def full_name(graph: Graph, node: int | str) -> str:
    """Caption and name of a node, given by position or name; the name alone if it has no caption."""
    position = graph.node_id(node)
    caption, name = graph.caption(position), graph.node_names[position]
    return name if caption == name else f"{caption} ({name})"
