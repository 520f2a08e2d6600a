"""What the explained node and its nearest labeled nodes have in common, in words, below their local graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from se_gnn.explain import Explanation, Neighbor
from se_gnn.number_format import effect
from se_gnn.plot.local_graphs import COLUMNS
from se_gnn.plot.palette import FAINT, INK, NORMAL, SMALL
from se_gnn.plot.text import show

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

MOST_ATTRIBUTES = 5
ROW_INCHES, MARGIN_INCHES = 0.17, 0.42

HEADING = "shared attributes"
READING = "its value, the neighbor's value\nand what it does for\ntheir node similarity"


def attribute_lines(explanation: Explanation, num_neighbors: int) -> list[list[tuple[str, str]]]:
    """What each neighbor in the first row of local graphs shares, with values and effect; [] where none has any."""
    lines = [_lines(neighbor) for neighbor in explanation.neighbors[: min(num_neighbors, COLUMNS - 1)]]
    return lines if any(lines) else []


def attributes_height(explanation: Explanation, num_neighbors: int) -> float:
    """Inches that :func:`draw_attributes` needs."""
    return MARGIN_INCHES + ROW_INCHES * max(3, *(len(lines) for lines in attribute_lines(explanation, num_neighbors)))


def draw_attributes(figure: FigureBase, explanation: Explanation, num_neighbors: int) -> None:
    """Fill ``figure`` with a list for each neighbor of the first row, in the column of its local graph."""
    height = attributes_height(explanation, num_neighbors)
    width = 0.98 / COLUMNS
    top = 1 - 0.1 / height
    figure.text(0.01 + width / 2, top, HEADING, fontsize=NORMAL, color=INK, ha="center", va="top")
    reading = top - ROW_INCHES / height
    figure.text(0.01 + width / 2, reading, READING, fontsize=SMALL, color=FAINT, ha="center", va="top", linespacing=1.4)
    for i, lines in enumerate(attribute_lines(explanation, num_neighbors), start=1):
        left = 0.01 + i * width
        for row, (name, values) in enumerate(lines or [("nothing in common", "")]):
            place = top - row * ROW_INCHES / height
            figure.text(left + 0.005, place, name, fontsize=SMALL, color=INK, va="top", gid="attribute")
            figure.text(left + width - 0.01, place, values, fontsize=SMALL, color=FAINT, va="top", ha="right")


def _lines(neighbor: Neighbor) -> list[tuple[str, str]]:
    shared = neighbor.shared_attributes
    if shared is None:
        return []
    lines = [
        (show(one.name, 14), f"{show(one.target_value, 9)}, {show(one.neighbor_value, 9)}  {effect(one.effect)}")
        for one in shared.attributes[:MOST_ATTRIBUTES]
    ]
    hidden = shared.num_shared - len(lines)
    return [*lines, (f"and {hidden:,} more", "")] if lines and hidden else lines
