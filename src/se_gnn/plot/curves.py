"""Curves: how a training went, and a search for settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.files import read_json_lines
from se_gnn.number_format import tenths
from se_gnn.plot.style import CLASS_COLORS, FAINT, INK, NORMAL, SMALL, blank_figure, neutral

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LINE_STYLES = ("-", "--", ":", "-.", (0, (1, 1)))  # lines can be distinguished without color
_LOSSES = {
    "loss": "all", "class_loss": "classification", "node_loss": "node contrast", "edge_loss": "edge contrast",
    "consistency_loss": "consistency",
}  # fmt: skip


def training_figure(training: str | Path | Iterable[Mapping[str, Any]]) -> Figure:
    """Loss and validation accuracy of every epoch; the best epoch is marked.

    Args:
        training: a model folder, its ``metrics.jsonl``, or the records in it.
    """
    records = _records(training) if isinstance(training, str | Path) else list(training)
    if not records:
        raise InputError("training_figure needs at least one epoch")
    with neutral():
        figure = blank_figure(8.0, 2.8)
        losses, accuracy = figure.subplots(1, 2, gridspec_kw={"left": 0.08, "right": 0.97, "bottom": 0.2, "top": 0.86})
        several = any("run" in record for record in records)  # runs one after the other
        epochs = [i if several else int(record["epoch"]) for i, record in enumerate(records)]
        for i, (key, name) in enumerate(_LOSSES.items()):
            values = np.array([record.get(key, np.nan) for record in records], dtype=np.float64)
            if i == 0 or np.nan_to_num(values).any():  # a loss of weight 0 is not computed
                losses.plot(epochs, values, LINE_STYLES[i], color=line_color(i), label=name, linewidth=1.4)
        losses.legend(fontsize=SMALL, frameon=False)
        values = np.array([record["val_accuracy"] for record in records], dtype=np.float64)
        accuracy.plot(epochs, 100 * values, color=line_color(0), linewidth=1.4)
        best = _best_epoch(records)
        if best is not None:
            label = f"best: epoch {epochs[best]}, {tenths(values[best])}"
            accuracy.plot(epochs[best], 100 * values[best], "o", color=INK, label=label)
            accuracy.legend(fontsize=SMALL, frameon=False, loc="lower right")
        bare_axes(losses, "training loss", "epoch")
        bare_axes(accuracy, "validation accuracy, %", "epoch")
    return figure


def _records(path: str | Path) -> list[dict[str, Any]]:
    file = Path(path) / "metrics.jsonl" if Path(path).is_dir() else Path(path)
    try:
        return read_json_lines(file)
    except InputError as error:
        raise InputError(f"{file} must hold a record per epoch, as `se-gnn train` writes it: {error}") from error


def _best_epoch(records: Sequence[Mapping[str, Any]]) -> int | None:
    """Highest validation accuracy, ties by the lower validation loss, then the earlier epoch; None without any."""
    known = [i for i, record in enumerate(records) if np.isfinite(float(record["val_accuracy"] or np.nan))]
    return min(known, key=lambda i: (-records[i]["val_accuracy"], records[i]["val_loss"]), default=None)


def line_color(i: int) -> str:
    """The color of the i-th line; thin lines need contrast."""
    dark = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#332288", "#882255", *CLASS_COLORS)
    return dark[i % len(dark)]


def bare_axes(axes: Axes, title: str, label: str) -> None:
    """A title, the name of the horizontal axis, a faint grid."""
    axes.set_title(title, fontsize=NORMAL, color=INK, loc="left")
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel(label, fontsize=SMALL, color=INK)
    axes.tick_params(labelsize=SMALL, colors=FAINT)
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
