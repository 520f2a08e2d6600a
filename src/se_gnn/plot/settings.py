"""matplotlib's settings while a picture is made: its defaults, whatever style a person works in; their fonts stay."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from se_gnn.optional import require

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
