"""A search for settings as a picture: each trial, and the best so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from se_gnn.errors import InputError
from se_gnn.plot.palette import CLASS_COLORS, CLASS_MARKERS, INK, NORMAL, SMALL
from se_gnn.plot.settings import blank_figure, neutral

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trials_figure(trials: Sequence[tuple[str, float, bool]], figure_of_merit: str) -> Figure:
    """Each trial by its value, its recipe by color and marker; those that were ended early are hollow.

    Args:
        trials: recipe, value on the validation nodes, and whether it was ended early, in the order they were tried.
        figure_of_merit: what the value is, in words.
    """
    if not trials:
        raise InputError("trials_figure needs at least one trial")
    values = np.array([value for _, value, _ in trials])
    with neutral():
        figure = blank_figure(6.4, 3.2)
        axes = figure.subplots(gridspec_kw={"left": 0.11, "right": 0.97, "bottom": 0.16, "top": 0.9})
        for i, recipe in enumerate(sorted({recipe for recipe, _, _ in trials})):
            color, marker = CLASS_COLORS[i % len(CLASS_COLORS)], CLASS_MARKERS[i % len(CLASS_MARKERS)]
            at = [n for n, trial in enumerate(trials) if trial[0] == recipe]
            faces = ["white" if trials[n][2] else color for n in at]
            axes.scatter(at, values[at], c=faces, edgecolors=color, marker=marker, s=28, label=recipe, zorder=3)
        axes.step(range(len(trials)), np.maximum.accumulate(values), where="post", color=INK, linewidth=1)
        axes.set_title(f"{figure_of_merit} on validation nodes", fontsize=NORMAL, color=INK, loc="left")
        axes.set_xlabel("trial (hollow: ended early; line: best so far)", fontsize=SMALL)
        axes.tick_params(labelsize=SMALL)
        axes.locator_params(axis="x", integer=True)
        axes.legend(fontsize=SMALL, frameon=False, loc="lower right")
    return figure
