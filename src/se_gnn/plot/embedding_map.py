"""All nodes by their embeddings in one picture, with the explained node and its labeled neighbors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.explain import Explanation
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.number_format import percent
from se_gnn.optional import require
from se_gnn.plot.palette import FAINT, INK, LARGE, NORMAL, SMALL, class_style
from se_gnn.plot.projection import Method, project
from se_gnn.plot.settings import blank_figure, neutral
from se_gnn.plot.text import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NODES = 1000
MOST_CLASSES = 12  # of the legend


def embedding_figure(explanation: Explanation, *, method: Method = "tsne", most_nodes: int = MOST_NODES) -> Figure:
    """A map of the embeddings: near on the map means similar by themselves; lines lead to the labeled neighbors.

    The node and all labeled nodes are on it, and as many others, drawn at random, as there is room for.

    Args:
        explanation: of one node of the model.
        method: ``tsne`` or ``pca``.
        most_nodes: how many nodes are shown at most.
    """
    if most_nodes < 1:
        raise InputError(f"most_nodes must be at least 1, got {most_nodes}")
    graph = explanation.graph
    voters = [neighbor.node for neighbor in explanation.neighbors]
    nodes = _shown(graph, [explanation.node, *voters], most_nodes)
    points = project(explanation.trained.embeddings[nodes].cpu().numpy(), method)
    where = {int(node): point for node, point in zip(nodes, points)}
    with neutral():
        figure = blank_figure(7.0, 6.4)
        axes = figure.add_axes((0.02, 0.1, 0.96, 0.77))
        axes.set(aspect="equal")
        axes.margins(0.06)
        axes.set_axis_off()
        _draw_nodes(axes, graph, nodes, points)
        strongest = max(neighbor.weight for neighbor in explanation.neighbors)
        for neighbor in explanation.neighbors:
            ends = np.stack([where[explanation.node], where[neighbor.node]])
            width = 0.4 + 2.2 * neighbor.weight / strongest
            axes.plot(*ends.T, color=INK, linewidth=width, alpha=0.55, zorder=3, gid="vote")
            _ringed(axes, where[neighbor.node], graph, neighbor.node, size=70, gid="neighbor")
        _ringed(axes, where[explanation.node], graph, explanation.node, size=190, gid="target")
        predicted = (
            f"‘{show(explanation.predicted_name)}’ ({percent(explanation.probabilities[explanation.predicted])})"
        )
        title = f"{show(explanation.caption(explanation.node), 32)} is predicted {predicted}"
        figure.text(0.02, 0.955, title, fontsize=LARGE, fontweight="bold", color=INK, va="center")
        figure.text(0.02, 0.93, _caption(graph, len(nodes), len(voters), method), fontsize=NORMAL, color=INK, va="top")
        _legend(figure, graph, nodes)
    return figure


def _shown(graph: Graph, first: list[int], most: int) -> IntArray:
    """The nodes that must be there, all labeled ones, then others at random, ascending."""
    kept = np.unique([*first, *graph.train[: max(0, most - len(first))].tolist()])
    others = np.setdiff1d(np.arange(graph.num_nodes), kept)
    room = max(0, min(most - len(kept), len(others)))
    drawn = np.random.default_rng(0).choice(others, room, replace=False) if room else others[:0]
    return np.sort(np.concatenate([kept, drawn]))


def _draw_nodes(axes: Axes, graph: Graph, nodes: IntArray, points: Any) -> None:
    labels, labeled = graph.labels[nodes], np.isin(nodes, graph.train)
    for label in np.unique(labels).tolist():
        style = class_style(label)
        for rim, width, chosen in (("none", 0.0, ~labeled), (INK, 0.9, labeled)):
            mine = (labels == label) & chosen
            if mine.any():
                axes.scatter(
                    points[mine, 0], points[mine, 1], s=16 if rim == "none" else 26, marker=style.marker,
                    color=style.color, alpha=0.6 if rim == "none" else 1.0, edgecolors=rim, linewidths=width, zorder=2,
                    gid="nodes",
                )  # fmt: skip


def _ringed(axes: Axes, point: Any, graph: Graph, node: int, *, size: float, gid: str) -> None:
    style = class_style(int(graph.labels[node]))
    axes.scatter(
        point[0], point[1], s=size, marker="o", facecolors="white", edgecolors=INK, linewidths=1.4, zorder=4, gid=gid
    )
    axes.scatter(point[0], point[1], s=size * 0.4, marker=style.marker, color=style.color, zorder=5)


def _caption(graph: Graph, shown: int, voters: int, method: Method) -> str:
    part = f"{shown:,} of {graph.num_nodes:,} nodes" if shown < graph.num_nodes else f"all {shown:,} nodes"
    how = "t-SNE" if method == "tsne" else "principal components"
    nearest = "line to its nearest labeled node"
    lines = nearest if voters == 1 else f"lines to its {voters} nearest labeled nodes, as wide as they count"
    return f"{part} by their embeddings ({how}); large ring: the node;\n{lines}"


def _legend(figure: Figure, graph: Graph, nodes: IntArray) -> None:
    lines: Any = require("matplotlib.lines", extra="plot", feature="pictures")
    present, counts = np.unique(graph.labels[nodes], return_counts=True)
    often = np.sort(present[np.argsort(-counts, kind="stable")][:MOST_CLASSES]).tolist()
    handles, names = [], []
    for label in often:
        style = class_style(label)
        handles.append(lines.Line2D([], [], linestyle="", marker=style.marker, color=style.color, markersize=6))
        names.append(show(graph.class_names[label]) if label != UNKNOWN else "class not known")
    if len(present) > MOST_CLASSES:
        handles.append(lines.Line2D([], [], linestyle=""))
        names.append(f"and {len(present) - MOST_CLASSES} more classes")
    rim = lines.Line2D([], [], linestyle="", marker="o", color="white", markersize=6, markeredgecolor=FAINT)
    figure.legend(
        [*handles, rim], [*names, "dark rim: labeled"], loc="lower center", ncols=4, frameon=False, fontsize=SMALL,
        handletextpad=0.2, columnspacing=1.2,
    )  # fmt: skip
