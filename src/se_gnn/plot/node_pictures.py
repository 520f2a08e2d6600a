"""Nodes that are pictures themselves: the explained one and its nearest labeled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from se_gnn.explain import Explanation
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.number_format import percent
from se_gnn.plot.palette import FAINT, INK, NORMAL, SMALL, class_style
from se_gnn.plot.text import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

MOST_PICTURES = 10


def draw_node_pictures(figure: FigureBase, explanation: Explanation) -> None:
    """Fill ``figure`` with the node's picture and those of its nearest labeled nodes, framed in their class color."""
    graph, neighbors = explanation.graph, explanation.neighbors[:MOST_PICTURES]
    nodes = [explanation.node, *(neighbor.node for neighbor in neighbors)]
    pictures = [_pixels(graph, node) for node in nodes]
    low, high = min(p.min() for p in pictures), max(p.max() for p in pictures)
    grid = figure.add_gridspec(
        1, 1 + MOST_PICTURES, left=0.015, right=0.985, bottom=0.2, top=0.8, wspace=0.18,
        width_ratios=(1.6,) + (1.0,) * MOST_PICTURES,
    )  # fmt: skip
    for i, (node, picture) in enumerate(zip(nodes, pictures)):
        axes = figure.add_subplot(grid[0, i])
        axes.imshow(picture, cmap="gray_r", vmin=low, vmax=high, interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        label = int(graph.labels[node])
        _frame(axes, INK if i == 0 else class_style(label).color)
        if i == 0:
            text = f"label ‘{show(graph.class_names[label])}’" if label != UNKNOWN else "label not known"
            axes.set_title("to explain", fontsize=NORMAL, color=INK, pad=4)
        else:
            text = f"‘{show(graph.class_names[label], 10)}’  {percent(neighbors[i - 1].weight)}"
        axes.set_xlabel(text, fontsize=NORMAL, color=INK, labelpad=3)
        if i == 1:
            axes.set_title("nearest labeled, with their weights", fontsize=NORMAL, color=INK, loc="left", pad=4)
    hidden = len(explanation.neighbors) - len(neighbors)
    if hidden:
        figure.text(0.985, 0.02, f"and {hidden} more", ha="right", va="bottom", fontsize=SMALL, color=FAINT)


def _pixels(graph: Graph, node: int) -> FloatArray:
    assert graph.image_shape is not None
    row = graph.features[[node]]
    dense: FloatArray = row if isinstance(row, np.ndarray) else row.toarray()
    return dense.reshape(graph.image_shape)


def _frame(axes: Axes, color: str) -> None:
    for spine in axes.spines.values():
        spine.set(color=color, linewidth=2.5)
