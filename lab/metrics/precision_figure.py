"""Precision@k of several methods as curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.plot.curves import LINE_STYLES, bare_axes, line_color
from se_gnn.plot.style import CLASS_MARKERS, SMALL, blank_figure, neutral, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def precision_figure(
    precision: Mapping[str, Sequence[float] | npt.NDArray[Any]],
    *,
    ks: Sequence[int] | None = None,
    spread: Mapping[str, Sequence[float] | npt.NDArray[Any]] | None = None,
) -> Figure:
    """Precision@k, the share of the k nearest labeled nodes that have the target's class, of several methods.

    Args:
        precision: the precision of each method at each k, 0 to 1.
        ks: the numbers of nearest labeled nodes; 1, 2, ... if not given.
        spread: standard deviation of each method at each k, drawn as a band.
    """
    if not precision:
        raise InputError("precision_figure needs at least one method")
    lengths = {name: len(values) for name, values in precision.items()}
    at = list(ks) if ks is not None else list(range(1, max(lengths.values()) + 1))
    wrong = [name for name, length in lengths.items() if length != len(at)]
    if wrong or not at:
        name = wrong[0] if wrong else next(iter(lengths))
        raise InputError(f"each method needs a precision for each of the {len(at)} k, {name!r} has {lengths[name]}")
    with neutral():
        figure = blank_figure(5.2, 3.2)
        axes = figure.subplots(gridspec_kw={"left": 0.12, "right": 0.97, "bottom": 0.16, "top": 0.9})
        for i, (name, given) in enumerate(precision.items()):
            values = 100 * np.asarray(given, dtype=np.float64)
            marker = CLASS_MARKERS[i % len(CLASS_MARKERS)]
            axes.plot(
                at, values, LINE_STYLES[i % len(LINE_STYLES)], color=line_color(i), marker=marker, markersize=4,
                linewidth=1.4, label=show(name, 32),
            )  # fmt: skip
            if spread is not None and name in spread:
                band = 100 * np.asarray(spread[name], dtype=np.float64)
                axes.fill_between(at, values - band, values + band, color=line_color(i), alpha=0.2, linewidth=0)
        axes.legend(fontsize=SMALL, frameon=False)
        bare_axes(axes, "precision@k, %", "k, nearest labeled nodes")
        axes.set_xticks(at if len(at) <= 12 else at[:: -(-len(at) // 12)])
    return figure
