"""The explained node's local graph beside those of its nearest labeled nodes, matched edges numbered alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from se_gnn.explain import Explanation
from se_gnn.graph import UNKNOWN, AttributedGraph
from se_gnn.graph.attributed import FloatArray
from se_gnn.optional import require
from se_gnn.plot.layout import Points, layout, turned_to
from se_gnn.plot.local_view import LocalView, neighbor_view, target_view
from se_gnn.plot.palette import EDGE_COLOR, FAINT, INK, MATCH_COLORS, NORMAL, SMALL, UNKNOWN_COLOR, class_style
from se_gnn.plot.text import percent, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

MOST_EDGES = 30  # of one local graph; the caption counts the others
MOST_NEIGHBORS = 3
MOST_NODES_WITH_NAMES = 8
NUMBERED = len(MATCH_COLORS)  # size of the crucial subgraph that is drawn bold

READING = (
    "Same number and color: matched edges. Bold: the most important edges of the node to explain, and what they are "
    "matched with. Width: similarity."
)

_THIN, _WIDE, _BOLD = 0.5, 2.0, 1.4  # points; bold comes on top
_BADGE = 0.13  # room that a number takes
_REACH = 1.2  # how far an axis reaches from the center; the layout fills the unit disc


def draw_local_graphs(
    figure: FigureBase,
    explanation: Explanation,
    graph: AttributedGraph,
    *,
    num_neighbors: int = MOST_NEIGHBORS,
    most_edges: int = MOST_EDGES,
) -> None:
    """Fill ``figure`` with one panel a local graph: the explained node's own, then those of its nearest neighbors."""
    neighbors = explanation.neighbors[:num_neighbors]
    target = target_view(explanation, most_edges=most_edges, numbered=NUMBERED)
    views = [target] + [
        neighbor_view(neighbor, explanation, graph, target, most_edges=most_edges) for neighbor in neighbors
    ]
    points = [layout(view.hops, view.ends) for view in views]
    for i, view in enumerate(views[1:], start=1):
        points[i] = turned_to(points[i], *_numbered_middles(view, points[i], target, points[0]))
    label = f"label {_class_name(explanation.label, graph)}"
    titles = [(explanation.name, f"to explain; {label}")] + [
        (neighbor.name, f"{_class_name(neighbor.label, graph)}, weight {percent(neighbor.weight)}")
        for neighbor in neighbors
    ]
    grid = figure.add_gridspec(1, 1 + num_neighbors, left=0.01, right=0.99, bottom=0.2, top=0.87, wspace=0.04)
    for i, (view, positions, title) in enumerate(zip(views, points, titles)):
        axes = figure.add_subplot(grid[0, i])
        draw_local_graph(axes, view, positions, graph)
        axes.set_title(f"{show(title[0])}\n{title[1]}", fontsize=NORMAL, color=INK, linespacing=1.3)
    _legend(figure, views, graph)


def draw_local_graph(axes: Axes, view: LocalView, points: Points, graph: AttributedGraph) -> None:
    """One local graph; ``points`` [P, 2] are the positions of ``view.nodes``."""
    axes.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    axes.set_axis_off()
    _draw_edges(axes, view, points)
    _draw_nodes(axes, view, points, graph)
    _draw_numbers(axes, view, points)
    axes.text(0.5, -0.01, _caption(view), transform=axes.transAxes, ha="center", va="top", fontsize=SMALL, color=FAINT)


def _draw_edges(axes: Axes, view: LocalView, points: Points) -> None:
    collections: Any = require("matplotlib.collections", extra="plot", feature="pictures")
    segments, widths, colors = [], [], []
    for (start, end), numbers, width in zip(points[view.ends], view.numbers, _widths(view.similarity)):
        parts = max(len(numbers), 1)  # an edge that several are matched with has a part in the color of each
        stops = np.linspace(start, end, parts + 1)
        segments += [stops[i : i + 2] for i in range(parts)]
        widths += [width + _BOLD if numbers else width] * parts
        colors += [MATCH_COLORS[number - 1] for number in numbers] or [EDGE_COLOR]
    lines = collections.LineCollection(
        segments, linewidths=widths, colors=colors, capstyle="butt", zorder=1, gid="edges"
    )
    axes.add_collection(lines)


def _draw_nodes(axes: Axes, view: LocalView, points: Points, graph: AttributedGraph) -> None:
    labels = graph.labels[view.nodes]
    labeled = np.isin(view.nodes, graph.train)
    size = _node_size(len(view.nodes))
    short = max(len(name) for name in graph.class_names) <= 2
    axes.scatter(
        *points[0], s=size * 3.6, marker="o", facecolors="white", edgecolors=INK, linewidths=1.6, zorder=2, gid="center"
    )
    for i, label in enumerate(labels):
        style = class_style(int(label))
        axes.scatter(
            *points[i], s=size * (1.5 if i == 0 else 1), marker=style.marker, color=style.color,
            edgecolors=INK if labeled[i] else "white", linewidths=1.2 if labeled[i] else 0.6, zorder=3, gid="node",
        )  # fmt: skip
        if short and label != UNKNOWN:
            axes.annotate(
                show(graph.class_names[label]), points[i], ha="center", va="center_baseline",
                fontsize=0.62 * size**0.5 if i else 0.75 * size**0.5, color=style.ink, zorder=4,
            )  # fmt: skip
    if len(view.nodes) <= MOST_NODES_WITH_NAMES:
        for node, point in zip(view.nodes[1:], points[1:]):
            outward = 1 if point[1] > 0.05 else -1
            axes.annotate(
                show(graph.node_names[node], 14), point, (0, outward * (0.6 * size**0.5 + 1)),
                textcoords="offset points", ha="center", va="bottom" if outward > 0 else "top", fontsize=SMALL - 1,
                color=FAINT, zorder=4,
            )  # fmt: skip


def _draw_numbers(axes: Axes, view: LocalView, points: Points) -> None:
    taken = points
    for (start, end), numbers in zip(points[view.ends], view.numbers):
        if not numbers:
            continue
        middle = _free_place(start, end, taken)
        step = _BADGE * (end - start) / np.linalg.norm(end - start)
        places = middle + (np.arange(len(numbers)) - (len(numbers) - 1) / 2)[:, None] * step
        taken = np.concatenate([taken, places])
        for place, number in zip(places, numbers):
            box = {"boxstyle": "round,pad=0.18", "fc": MATCH_COLORS[number - 1], "ec": "white", "lw": 0.6}
            axes.text(
                *place, str(number), ha="center", va="center_baseline", fontsize=SMALL, fontweight="bold",
                color="white", zorder=5, gid="number", bbox=box,
            )  # fmt: skip


def _free_place(start: Points, end: Points, taken: Points) -> Points:
    """The point on an edge's inner part that is farthest from nodes and other numbers, the middle if equal."""
    shares = np.array([0.5, 0.45, 0.55, 0.4, 0.6, 0.35, 0.65])
    places = start + shares[:, None] * (end - start)  # [7, 2]
    room = np.linalg.norm(places[:, None] - taken[None], axis=2).min(axis=1)
    best: Points = places[np.argmax(np.round(room, 2))]
    return best


def _numbered_middles(
    view: LocalView, points: Points, target: LocalView, target_points: Points
) -> tuple[Points, Points]:
    """The middles of the edges that carry a number, in a neighbor's picture and in the target's, [R, 2] each."""
    middles = target_points[target.ends].mean(axis=1)
    theirs = {number: middle for numbers, middle in zip(target.numbers, middles) for number in numbers}
    pairs = [
        (middle, theirs[number])
        for numbers, middle in zip(view.numbers, points[view.ends].mean(axis=1))
        for number in numbers
        if number in theirs
    ]
    stacked = np.array(pairs).reshape(-1, 2, 2)
    return stacked[:, 0], stacked[:, 1]


def _widths(similarity: FloatArray) -> FloatArray:
    """Line widths: the more similar, the wider; an edge without a match is thin."""
    known = np.isfinite(similarity)
    if not known.any():
        return np.full(len(similarity), _THIN, dtype=np.float32)
    low, high = similarity[known].min(), similarity[known].max()
    share = (similarity - low) / (high - low) if high > low else np.ones_like(similarity)
    widths: FloatArray = np.where(known, _THIN + 0.3 + (_WIDE - _THIN - 0.3) * share, _THIN)
    return widths


def _node_size(num_nodes: int) -> float:
    """Area in points squared."""
    return 130.0 if num_nodes <= 16 else 90.0 if num_nodes <= 30 else 65.0


def _caption(view: LocalView) -> str:
    shown = len(view.edges)
    if not shown:
        return "no edges: compared by\nits own attributes alone"
    noun = "edge" if shown == 1 else "edges"
    return f"{shown} {noun}, and {view.hidden:,} more" if view.hidden else f"{shown} {noun}"


def _class_name(label: int, graph: AttributedGraph) -> str:
    return f"‘{show(graph.class_names[label])}’" if label != UNKNOWN else "unknown"


def _legend(figure: FigureBase, views: list[LocalView], graph: AttributedGraph) -> None:
    lines: Any = require("matplotlib.lines", extra="plot", feature="pictures")
    present = np.unique(graph.labels[np.concatenate([view.nodes for view in views])]).tolist()

    def dot(label: int) -> Any:
        style = class_style(label)
        return lines.Line2D([], [], ls="", marker=style.marker, color=style.color, ms=7, mec="white")

    handles = [dot(label) for label in present if label != UNKNOWN]
    names = [show(graph.class_names[label]) for label in present if label != UNKNOWN]
    if UNKNOWN in present:
        handles.append(dot(UNKNOWN))
        names.append("class not known")
    handles.append(lines.Line2D([], [], ls="", marker="o", mfc=UNKNOWN_COLOR, mec=INK, mew=1.2, ms=7))
    names.append("dark rim: labeled, can vote")
    figure.text(0.5, 0.085, READING, ha="center", va="center", fontsize=SMALL, color=INK)
    figure.legend(
        handles, names, loc="lower center", bbox_to_anchor=(0.5, 0.0), ncols=8, frameon=False, fontsize=SMALL,
        handletextpad=0.2, columnspacing=1.2,
    )  # fmt: skip
