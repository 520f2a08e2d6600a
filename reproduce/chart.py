"""Charts in the paper's manner: one panel a data set, one line or bar a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reproduce.markdown import MISSING
from reproduce.methods import NAMES
from se_gnn.optional import require
from se_gnn.plot.style import CLASS_COLORS, FAINT, INK, NORMAL, SMALL, neutral, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = npt.NDArray[np.float64]

_LOOKS = {
    "gcn": (CLASS_COLORS[1], "s"),
    "pro-gnn": (CLASS_COLORS[2], "^"),
    "mlp-k": (CLASS_COLORS[0], "v"),
    "gcn-k": (CLASS_COLORS[1], "s"),
    "gin-k": (CLASS_COLORS[2], "^"),
    "se-gnn": (CLASS_COLORS[5], "o"),
    "se-gnn-best": (CLASS_COLORS[4], "D"),
}  # color and marker


def panels(
    titles: Sequence[str], *, columns: int, width: float = 3.4, height: float = 2.6
) -> tuple[Figure, list[Axes]]:
    """An empty figure with a panel for each title."""
    figures: Any = require("matplotlib.figure", extra="plot", feature="pictures")
    rows = -(-len(titles) // columns)
    with neutral():
        figure = figures.Figure(figsize=(width * columns, height * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, title in zip(grid, titles):
            axes.set_title(title, fontsize=NORMAL, color=INK)
            axes.tick_params(labelsize=SMALL)
            axes.spines[["top", "right"]].set_visible(False)
        for axes in grid[len(titles) :]:
            axes.set_visible(False)
    return figure, list(grid[: len(titles)])


def draw_lines(axes: Axes, x: Sequence[float], lines: Mapping[str, list[Values]], *, xlabel: str, ylabel: str) -> None:
    """A line for each method: for each x its values over the seeds in percent, [seeds]; where empty, no point."""
    with neutral():
        if not any(len(one) for values in lines.values() for one in values):
            _leave_empty(axes)
            return
        for method, values in lines.items():
            color, marker = _LOOKS[method]
            shown = [(place, one) for place, one in zip(x, values) if len(one)]
            if not shown:
                continue
            axes.errorbar(
                [place for place, _ in shown], [one.mean() for _, one in shown], yerr=[one.std() for _, one in shown],
                label=NAMES[method], color=color, marker=marker, markersize=4, linewidth=1.4, capsize=2, elinewidth=0.8,
            )  # fmt: skip
        axes.set_xlabel(xlabel, fontsize=SMALL)
        axes.set_ylabel(ylabel, fontsize=SMALL)
        axes.set_xticks(x)
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)


def draw_bars(axes: Axes, groups: Sequence[str], bars: Mapping[str, list[Values]], *, ylabel: str) -> None:
    """Groups of bars: for each name a value a group, [seeds] in percent; an empty one has no bar."""
    with neutral():
        lows = [float(one.mean() - one.std()) for values in bars.values() for one in values if len(one)]
        if not lows:
            _leave_empty(axes)
            return
        width = 0.8 / len(bars)
        for i, (name, values) in enumerate(bars.items()):
            shown = [(g, one) for g, one in enumerate(values) if len(one)]
            if not shown:
                continue
            axes.bar(
                [g + (i - (len(bars) - 1) / 2) * width for g, _ in shown], [one.mean() for _, one in shown],
                yerr=[one.std() for _, one in shown], width=0.9 * width, label=name, color=CLASS_COLORS[i],
                error_kw={"elinewidth": 0.8}, capsize=2,
            )  # fmt: skip
        axes.set_xticks(range(len(groups)), groups, fontsize=SMALL)
        axes.set_ylabel(ylabel, fontsize=SMALL)
        # bars that all start at 0 would look alike
        axes.set_ylim(max(0.0, 5 * np.floor(min(lows) / 5) - 5), 100)


def draw_heat(axes: Axes, ticks: Sequence[float], values: Values, *, xlabel: str, ylabel: str) -> None:
    """A table of values in percent [y, x] as colors, each with its number; NaN stays empty."""
    with neutral():
        if not np.isfinite(values).any():
            _leave_empty(axes)
            return
        axes.imshow(values, origin="lower", cmap="cividis", aspect="auto")
        middle = (np.nanmin(values) + np.nanmax(values)) / 2
        for (y, x), value in np.ndenumerate(values):
            if np.isfinite(value):
                axes.text(
                    x, y, f"{value:.1f}", ha="center", va="center", fontsize=SMALL,
                    color="white" if value < middle else INK,
                )  # fmt: skip
        names = [f"{tick:g}" for tick in ticks]
        axes.set_xticks(range(len(ticks)), names, fontsize=SMALL)
        axes.set_yticks(range(len(ticks)), names, fontsize=SMALL)
        axes.set_xlabel(xlabel, fontsize=SMALL)
        axes.set_ylabel(ylabel, fontsize=SMALL)


def finish(figure: Figure, path: Path, *, alt: str) -> str:
    """One legend below all panels, and the file; the link to it, or nothing where nothing was drawn."""
    if not any(axes.has_data() for axes in figure.axes):
        path.unlink(missing_ok=True)
        return ""
    with neutral():
        names = {}
        for axes in figure.axes:
            for handle, name in zip(*axes.get_legend_handles_labels()):
                names.setdefault(name, handle)
        if names:
            figure.legend(
                names.values(), names.keys(), loc="outside lower center", ncols=len(names), frameon=False,
                fontsize=SMALL,
            )  # fmt: skip
    save_figure(figure, path)
    return f"![{alt}]({path.parent.name}/{path.name})"


def _leave_empty(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, MISSING, ha="center", va="center", transform=axes.transAxes, color=FAINT, fontsize=SMALL)
