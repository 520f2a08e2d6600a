"""Colors that people of any color vision can tell apart, and the sizes that all pictures share."""

from __future__ import annotations

from typing import NamedTuple

from se_gnn.graph import UNKNOWN

# Contrast with white at least 3 : 1, and told apart by people of any color vision: found by a search over sRGB for the
# largest least distance in CIE L*a*b* as each vision sees the colors. The tests measure both.
CLASS_COLORS = (
    "#0F3CA5", "#D2784B", "#007800", "#D21E5A", "#5A96E1", "#A59600", "#781EE1", "#E12DB4", "#692D5A", "#004B2D",
)  # fmt: skip
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P")  # beyond ten classes the shape tells them apart
UNKNOWN_COLOR = "#878787"

# dark enough for a white number
MATCH_COLORS = ("#5E2CA5", "#C04000", "#004D40", "#AA4499", "#4B0000")
EDGE_COLOR = "#ADADAD"

# of types of edges; the dash tells them apart as well
KIND_COLORS = ("#6B6B6B", "#1F7A8C", "#A0611A", "#6A4C93", "#3F7D3F", "#A23B4A")
KIND_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.6), (1.2, 1.4), (6, 1.6, 1.2, 1.6), (2.4, 1.2), (8, 2))

INK = "#222222"
FAINT = "#666666"
NODE_TERM_COLOR = "#555555"
STRUCTURE_TERM_COLOR = "#BDBDBD"

SMALL, NORMAL, LARGE = 7.5, 8.5, 11.0  # font sizes in points


class ClassStyle(NamedTuple):
    """How a class looks."""

    color: str
    marker: str
    ink: str  # of text on that color


def class_style(label: int) -> ClassStyle:
    """Color and shape of a class; grey where it is not known."""
    if label == UNKNOWN:
        return ClassStyle(UNKNOWN_COLOR, "o", INK)
    color = CLASS_COLORS[label % len(CLASS_COLORS)]
    marker = CLASS_MARKERS[label // len(CLASS_COLORS) % len(CLASS_MARKERS)]
    return ClassStyle(color, marker, "white" if _luminance(color) < 0.213 else INK)


def match_color(number: int) -> str:
    """Color of the matched edges with a number, 1 and up; beyond five the colors come again."""
    return MATCH_COLORS[(number - 1) % len(MATCH_COLORS)]


def _luminance(color: str) -> float:
    """Relative luminance of ``#RRGGBB``, 0 to 1, as the web's accessibility guidelines define it."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
