"""Colors, sizes, names and files of all pictures: the same input, the same bytes.

Colors can be distinguished with any color vision, names are harmless text whatever is in them, and matplotlib keeps its
defaults whatever style a person works in.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from se_gnn.display.text import shorten as shorten
from se_gnn.errors import InputError
from se_gnn.files import replace_file, writing_to
from se_gnn.graph import UNKNOWN
from se_gnn.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Contrast with white at least 3 : 1, and distinguishable with any color vision: found by a search over sRGB for the
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
TYPE_COLORS = ("#6B6B6B", "#1F7A8C", "#A0611A", "#6A4C93", "#3F7D3F", "#A23B4A")
TYPE_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.6), (1.2, 1.4), (6, 1.6, 1.2, 1.6), (2.4, 1.2), (8, 2))

INK = "#222222"
FAINT = "#666666"
NODE_TERM_COLOR = "#555555"
STRUCTURE_TERM_COLOR = "#BDBDBD"

SMALL, NORMAL, LARGE = 7.5, 8.5, 11.0  # font sizes in points


class ClassStyle(NamedTuple):
    """How a class looks."""

    color: str
    marker: str = "o"

    @property
    def ink(self) -> str:
        """The color of text on it."""
        return "white" if _luminance(self.color) < 0.213 else INK


def class_style(label: int) -> ClassStyle:
    """Color and shape of a class; grey where it is not known."""
    if label == UNKNOWN:
        return ClassStyle(UNKNOWN_COLOR)
    marker = CLASS_MARKERS[label // len(CLASS_COLORS) % len(CLASS_MARKERS)]
    return ClassStyle(CLASS_COLORS[label % len(CLASS_COLORS)], marker)


LOW_NUMBER, HIGH_NUMBER = (198, 219, 239), (8, 48, 107)  # light to dark blue, in RGB


def number_style(share: float) -> ClassStyle:
    """How a number looks that lies at this share of the way from the lowest to the highest that is shown."""
    mixed = [round(low + (high - low) * min(max(share, 0), 1)) for low, high in zip(LOW_NUMBER, HIGH_NUMBER)]
    return ClassStyle("#{:02X}{:02X}{:02X}".format(*mixed))


MOST_CLASSES = 12  # of a legend


def legend_marks(looks: Sequence[tuple[ClassStyle, str, int]]) -> tuple[list[Any], list[str]]:
    """Marks and names of a legend: of classes with their number of nodes the most frequent, and the rim of cases."""
    lines: Any = require("matplotlib.lines", extra="plot", feature="pictures")

    def mark(color: str, marker: str, rim: str) -> Any:
        return lines.Line2D([], [], linestyle="", marker=marker, color=color, markersize=7, markeredgecolor=rim)

    often = sorted(sorted(range(len(looks)), key=lambda i: -looks[i][2])[:MOST_CLASSES])
    marks = [mark(looks[i][0].color, looks[i][0].marker, "white") for i in often]
    names = [looks[i][1] for i in often]
    if len(looks) > MOST_CLASSES:
        marks.append(mark("none", "", "none"))
        names.append(f"and {len(looks) - MOST_CLASSES} more classes")
    return [*marks, mark(UNKNOWN_COLOR, "o", INK)], [*names, "dark rim: labeled, can vote"]


def match_color(number: int) -> str:
    """Color of the matched edges with a number, 1 and up; beyond five the colors come again."""
    return MATCH_COLORS[(number - 1) % len(MATCH_COLORS)]


def _luminance(color: str) -> float:
    """Relative luminance of ``#RRGGBB``, 0 to 1, as the web's accessibility guidelines define it."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":  # joiners and marks that turn the direction of all that follows
        return ""
    if category in _NOT_SHOWN:
        return " " if character in "\t\n\r\u2028\u2029" else "\ufffd"
    return character


_PINNED = (
    "axes", "figure", "grid", "hatch", "image", "legend", "lines", "patch", "path", "savefig", "scatter", "svg", "text",
    "xtick", "ytick",
)  # fmt: skip


def neutral(**changes: Any) -> AbstractContextManager[None]:
    """The same picture and the same bytes under any style; ``changes`` name settings with ``__`` for the dot."""
    matplotlib: Any = require("matplotlib", extra="plot", feature="pictures")
    pinned = {name: value for name, value in matplotlib.rcParamsDefault.items() if name.split(".")[0] in _PINNED}
    context: AbstractContextManager[None] = matplotlib.rc_context(
        {**pinned, **{name.replace("__", "."): value for name, value in changes.items()}}
    )
    return context


def blank_figure(width: float, height: float) -> Figure:
    """A white figure of that many inches that belongs to no window."""
    figures: Any = require("matplotlib.figure", extra="plot", feature="pictures")
    agg: Any = require("matplotlib.backends.backend_agg", extra="plot", feature="pictures")
    figure: Figure = figures.Figure(figsize=(width, height), facecolor="white")
    agg.FigureCanvasAgg(figure)
    return figure


# no date, and ids that do not depend on the run
_METADATA: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def save_figure(figure: Figure, path: str | Path, *, dots_per_inch: int = 150) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of ``path``, over a file that is there."""
    target = Path(path)
    with writing_to(target.parent):
        replace_file(target, figure_bytes(figure, target.suffix.removeprefix("."), dots_per_inch=dots_per_inch))


def figure_bytes(figure: Figure, kind: str, *, dots_per_inch: int = 150) -> bytes:
    """A figure as the content of a ``png``, ``svg`` or ``pdf`` file."""
    kind = kind.lower()
    if kind not in _METADATA:
        raise InputError(f"a picture must end in .png, .svg or .pdf, got {f'.{kind}' if kind else 'no ending'}")
    content = io.BytesIO()
    # fonts of type 42: journals refuse type 3
    with neutral(svg__hashsalt="se-gnn", pdf__fonttype=42), warnings.catch_warnings():
        # a name in a script that the font does not have is drawn as boxes
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support")
        figure.savefig(content, format=kind, dpi=dots_per_inch, metadata=_METADATA[kind])
    return content.getvalue()
