"""All nodes by their embeddings in one picture, with the explained node and its cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from se_gnn.errors import InputError
from se_gnn.explain import Explanation
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import BoolArray, IntArray
from se_gnn.model import Model
from se_gnn.plot.figure import title_of
from se_gnn.plot.projection import Method, project
from se_gnn.plot.style import (
    INK,
    LARGE,
    NORMAL,
    SMALL,
    ClassStyle,
    blank_figure,
    class_style,
    legend_marks,
    neutral,
    number_style,
    show,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NODES = 1000
SHADES = 6  # of numbers
UNSURE = "gray: unknown"


def embedding_figure(
    explanation: Explanation, trained: Model, *, method: Method = "tsne", most_nodes: int = MOST_NODES
) -> Figure:
    """A map of the embeddings: near on the map means similar by themselves; lines lead to the cases that vote.

    The node and all labeled nodes are on it, and as many others, drawn at random, as there is room for.

    Args:
        explanation: of one node.
        trained: the model that explained it.
        method: ``tsne`` or ``pca``.
        most_nodes: how many nodes are shown at most.
    """
    if most_nodes < 1:
        raise InputError(f"most_nodes must be at least 1, got {most_nodes}")
    graph = trained.graph
    voters = [vote.node for vote in explanation.votes]
    nodes = _shown(graph, [explanation.node, *voters], most_nodes)
    points = project(trained.embedded.rows(np.asarray(nodes)).cpu().numpy(), method)
    where = {int(node): point for node, point in zip(nodes, points)}
    with neutral():
        figure = blank_figure(7.0, 6.4)
        axes = figure.add_axes((0.02, 0.1, 0.96, 0.77))
        axes.set(aspect="equal")
        axes.margins(0.06)
        axes.set_axis_off()
        groups = _groups(graph, nodes)
        _draw_nodes(axes, groups, np.isin(nodes, graph.train), points)
        styles = {int(nodes[i]): group.style for group in groups for i in np.flatnonzero(group.members)}
        strongest = max(vote.weight for vote in explanation.votes)
        for vote in explanation.votes:
            ends = np.stack([where[explanation.node], where[vote.node]])
            width = 0.4 + 2.2 * vote.weight / strongest
            axes.plot(*ends.T, color=INK, linewidth=width, alpha=0.55, zorder=3, gid="vote")
            _ringed(axes, where[vote.node], styles[vote.node], size=70, gid="case")
        _ringed(axes, where[explanation.node], styles[explanation.node], size=190, gid="target")
        figure.text(0.02, 0.955, title_of(explanation), fontsize=LARGE, fontweight="bold", color=INK, va="center")
        figure.text(0.02, 0.93, _caption(graph, len(nodes), len(voters), method), fontsize=NORMAL, color=INK, va="top")
        figure.legend(
            *legend_marks([(group.style, group.name, int(group.members.sum())) for group in groups]),
            loc="lower center", ncols=4, frameon=False, fontsize=SMALL, handletextpad=0.2, columnspacing=1.2,
        )  # fmt: skip
    return figure


def _shown(graph: Graph, first: list[int], most: int) -> IntArray:
    """The nodes that must be there, all labeled ones, then others at random, ascending."""
    kept = np.unique([*first, *graph.train[: max(0, most - len(first))].tolist()])
    others = np.setdiff1d(np.arange(graph.num_nodes), kept)
    room = max(0, min(most - len(kept), len(others)))
    drawn = np.random.default_rng(0).choice(others, room, replace=False) if room else others[:0]
    return np.sort(np.concatenate([kept, drawn]))


class Group(NamedTuple):
    """Nodes that look alike: of one class, or with numbers of one range."""

    style: ClassStyle
    name: str
    members: BoolArray  # which of the nodes


def _groups(graph: Graph, nodes: IntArray) -> list[Group]:
    """The nodes by their known class, or by their known number in ranges of equal width."""
    if not graph.predicts_numbers:
        labels = graph.labels[nodes]
        return [
            Group(class_style(label), show(graph.class_names[label]) if label != UNKNOWN else UNSURE, labels == label)
            for label in np.unique(labels).tolist()
        ]
    values, text = graph.values[nodes], graph.numbers.text
    ends = np.linspace(np.nanmin(graph.values), np.nanmax(graph.values), SHADES + 1)
    shade = np.where(np.isnan(values), UNKNOWN, np.clip(np.searchsorted(ends, values, side="right") - 1, 0, SHADES - 1))
    looks = {UNKNOWN: (class_style(UNKNOWN), UNSURE)}
    looks |= {i: (number_style(i / (SHADES - 1)), show(f"from {text(float(ends[i]))}")) for i in range(SHADES)}
    return [Group(*looks[one], shade == one) for one in np.unique(shade).tolist()]


def _draw_nodes(axes: Axes, groups: list[Group], labeled: BoolArray, points: Any) -> None:
    for group in groups:
        for rim, width, chosen in (("none", 0.0, ~labeled), (INK, 0.9, labeled)):
            mine = group.members & chosen
            if mine.any():
                axes.scatter(
                    points[mine, 0], points[mine, 1], s=16 if rim == "none" else 26, marker=group.style.marker,
                    color=group.style.color, alpha=0.6 if rim == "none" else 1.0, edgecolors=rim, linewidths=width,
                    zorder=2, gid="nodes",
                )  # fmt: skip


def _ringed(axes: Axes, point: Any, style: ClassStyle, *, size: float, gid: str) -> None:
    axes.scatter(
        point[0], point[1], s=size, marker="o", facecolors="white", edgecolors=INK, linewidths=1.4, zorder=4, gid=gid
    )
    axes.scatter(point[0], point[1], s=size * 0.4, marker=style.marker, color=style.color, zorder=5)


def _caption(graph: Graph, shown: int, voters: int, method: Method) -> str:
    part = f"{shown:,} of {graph.num_nodes:,} nodes" if shown < graph.num_nodes else f"all {shown:,} nodes"
    how = "t-SNE" if method == "tsne" else "principal components"
    nearest = "line to the nearest case"
    lines = nearest if voters == 1 else f"lines to the {voters} nearest cases, as wide as they count"
    return f"{part} by their embeddings ({how}); large ring: the node;\n{lines}"
