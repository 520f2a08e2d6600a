"""matplotlib's settings while a picture is made: its defaults, whatever style a person works in; their fonts stay."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from se_gnn.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
