"""The explained node's local graph beside those of the nearest cases, matched edges numbered alike."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from se_gnn.explain import CRUCIAL_EDGES, Explanation, NodeInfo
from se_gnn.explain.explanation import NumberAnswer
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.number_format import percent
from se_gnn.optional import require
from se_gnn.plot.edge_style import READING as LEADS
from se_gnn.plot.edge_style import (
    Mentioned,
    arrow_head,
    edge_style,
    has_letters,
    node_names,
    node_styles,
    shown_types,
    type_look,
)
from se_gnn.plot.local_view import MOST_EDGES, LocalView, local_views
from se_gnn.plot.placement import Points, edge_paths, edge_strengths, laid_out, name_place, number_places, pieces
from se_gnn.plot.projection import placed_by_features
from se_gnn.plot.style import FAINT, INK, NORMAL, SMALL, class_style, legend_marks, match_color, number_style, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

Arrangement = Literal["structure", "features"]

MOST_CASES = 3  # unless more are asked for
COLUMNS = 4
PANEL_INCHES, ABOVE_INCHES, BELOW_INCHES, BETWEEN_INCHES = 2.4, 0.45, 0.95, 0.72
MOST_TYPES = 6  # of the legend

READING = (
    "Same number and color: matched edges. Bold: the most important edges of the node to explain, and what they are "
    "matched with. Width: similarity."
)

BY_FEATURES = " Places: t-SNE of the attributes."

NOTHING_MATCHED = "Without edges to match, the nodes were compared by their own attributes alone."

_THIN, _WIDE, _BOLD = 0.5, 2.0, 1.4  # points; bold comes on top
_REACH = 1.2  # how far an axis reaches from the center; the layout fills the unit disc


def draw_local_graphs(
    figure: FigureBase,
    explanation: Explanation,
    *,
    num_cases: int = MOST_CASES,
    most_edges: int = MOST_EDGES,
    crucial_edges: int = CRUCIAL_EDGES,
    arrangement: Arrangement = "structure",
    graph: Graph | None = None,
) -> None:
    """Fill ``figure`` with one panel per local graph: the explained node's own, then those of the nearest cases.

    Nodes stand on the ring of their hops (``structure``), or where t-SNE puts their attributes (``features``): then the
    same node stands in the same place of every panel.
    """
    votes = explanation.full[:num_cases]
    views = local_views(explanation, num_cases=num_cases, most_edges=most_edges, crucial_edges=crucial_edges)
    points = laid_out(views) if graph is None or arrangement == "structure" else placed_by_features(views, graph)
    captions = [show(explanation.caption(int(view.nodes[0])), 18 if i == 0 else 24) for i, view in enumerate(views)]
    word = "known value" if isinstance(explanation.answer, NumberAnswer) else "label"
    titles = [f"to explain: {captions[0]}\n{word} {known_text(explanation.query, explanation)}"] + [
        f"{caption}\n{known_text(explanation.nodes[vote.node], explanation)}, weight {percent(vote.weight)}"
        for vote, caption in zip(votes, captions[1:])
    ]
    height, rows = graphs_height(len(votes)), -(-len(views) // COLUMNS)
    grid = figure.add_gridspec(
        rows, COLUMNS, left=0.01, right=0.99, bottom=BELOW_INCHES / height, top=1 - ABOVE_INCHES / height, wspace=0.04,
        hspace=BETWEEN_INCHES / PANEL_INCHES,
    )  # fmt: skip
    for i, (view, positions, title) in enumerate(zip(views, points, titles)):
        axes = figure.add_subplot(grid[divmod(i, COLUMNS)])
        draw_local_graph(axes, view, positions, explanation)
        axes.set_title(title, fontsize=NORMAL, color=INK, linespacing=1.3)
    _legend(figure, views, explanation, arrangement, height)


def graphs_height(num_cases: int) -> float:
    """Inches that :func:`draw_local_graphs` needs."""
    rows = -(-(1 + num_cases) // COLUMNS)
    return ABOVE_INCHES + BELOW_INCHES + rows * PANEL_INCHES + (rows - 1) * BETWEEN_INCHES


def draw_local_graph(axes: Axes, view: LocalView, points: Points, explanation: Mentioned) -> None:
    """One local graph; ``points`` [P, 2] are the positions of ``view.nodes``."""
    axes.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    axes.set_axis_off()
    paths = edge_paths(view, points)
    _draw_edges(axes, view, paths, explanation)
    _draw_nodes(axes, view, points, explanation)
    _draw_numbers(axes, view, number_places(view, points, paths, node_names(view, explanation)))
    axes.text(0.5, -0.01, _caption(view), transform=axes.transAxes, ha="center", va="top", fontsize=SMALL, color=FAINT)


def _draw_edges(axes: Axes, view: LocalView, paths: list[Points], explanation: Mentioned) -> None:
    collections: Any = require("matplotlib.collections", extra="plot", feature="pictures")
    segments, widths, colors, dashes = [], [], [], []
    heads, head_colors = [], []
    every_width = _THIN + (_WIDE - _THIN) * edge_strengths(view.similarity)
    lines = zip(view.edge_ids.tolist(), view.ends, paths, view.numbers, every_width)
    for edge, ends, path, numbers, width in lines:
        style = edge_style(explanation, edge)
        parts = max(len(numbers), 1)  # an edge that several are matched with has a part in the color of each
        segments += pieces(path, parts)
        widths += [width + _BOLD if numbers else width] * parts
        colors += [match_color(number) for number in numbers] or [style.color]
        dashes += [(0, style.dash) if style.dash else "solid"] * parts
        head = arrow_head(path, ends, style.leads)
        if head is not None:
            heads.append(head)
            head_colors.append(colors[-1 if style.leads > 0 else -parts])  # of the part where the arrow is
    drawn = collections.LineCollection(
        segments, linewidths=widths, colors=colors, linestyles=dashes, capstyle="butt", zorder=1, gid="edges"
    )
    axes.add_collection(drawn)
    if heads:
        axes.add_collection(collections.PolyCollection(heads, facecolors=head_colors, zorder=1.5, gid="arrows"))


def _draw_nodes(axes: Axes, view: LocalView, points: Points, explanation: Mentioned) -> None:
    nodes = [explanation.nodes[node] for node in view.nodes.tolist()]
    size = _node_size(len(view.nodes))
    letters = has_letters(explanation, nodes)
    axes.scatter(
        points[0, 0], points[0, 1], s=size * 3.6, marker="o", facecolors="white", edgecolors=INK, linewidths=1.6,
        zorder=2, gid="center",
    )  # fmt: skip
    for i, (node, style) in enumerate(zip(nodes, node_styles(explanation, view.nodes))):
        axes.scatter(
            points[i, 0], points[i, 1], s=size * (1.5 if i == 0 else 1), marker=style.marker, color=style.color,
            edgecolors=INK if node.case else "white", linewidths=1.2 if node.case else 0.6, zorder=3, gid="node",
        )  # fmt: skip
        if letters and node.label != UNKNOWN:
            axes.annotate(
                show(explanation.class_names[node.label]), points[i], ha="center", va="center_baseline",
                fontsize=0.62 * size**0.5 if i else 0.75 * size**0.5, color=style.ink, zorder=4,
            )  # fmt: skip
    for name, point in zip(node_names(view, explanation), points[1:]):
        x, y = name_place(point, name)
        axes.text(x, y, show(name), ha="center", va="center", fontsize=SMALL - 1, color=FAINT, zorder=4, gid="name")


def _draw_numbers(axes: Axes, view: LocalView, spots: list[Points]) -> None:
    for places, numbers in zip(spots, view.numbers):
        for place, number in zip(places, numbers):
            box = {"boxstyle": "round,pad=0.18", "fc": match_color(number), "ec": "white", "lw": 0.6}
            axes.text(
                place[0], place[1], str(number), ha="center", va="center_baseline", fontsize=SMALL, fontweight="bold",
                color="white", zorder=5, gid="number", bbox=box,
            )  # fmt: skip


def _node_size(num_nodes: int) -> float:
    """Area in points squared."""
    return 130.0 if num_nodes <= 16 else 90.0 if num_nodes <= 30 else 65.0


def _caption(view: LocalView) -> str:
    shown = len(view.edges)
    if not shown:
        return "no edges: compared by\nits own attributes alone"
    noun = "edge" if shown == 1 else "edges"
    return f"{shown} of {shown + view.hidden:,} edges drawn" if view.hidden else f"{shown} {noun}"


def known_text(node: NodeInfo, explanation: Explanation, limit: int = 20) -> str:
    """The known class or number of a node, in words."""
    known = show(explanation.answer_of(node), limit)
    return (known if explanation.answer.kind == "number" else f"‘{known}’") if known else "not known"


def _legend(
    figure: FigureBase, views: list[LocalView], explanation: Explanation, arrangement: Arrangement, height: float
) -> None:
    lines: Any = require("matplotlib.lines", extra="plot", feature="pictures")
    shown = [explanation.nodes[node] for view in views for node in view.nodes.tolist()]
    counts = Counter(node.label for node in shown)
    unknown = [(class_style(UNKNOWN), "gray: unknown", counts.pop(UNKNOWN))] if UNKNOWN in counts else []
    if isinstance(explanation.answer, NumberAnswer):
        unknown = [one for one in unknown if any(node.number is None for node in shown)]
        looks = [(number_style(0), "light: low", 1), (number_style(1), "dark: high", 1)]
    else:
        longest = 24 if len(counts) + len(unknown) <= 5 else 16
        looks = [
            (class_style(label), show(explanation.class_names[label], longest), counts[label])
            for label in sorted(counts)
        ]
    handles, names = legend_marks([*unknown, *looks])
    for number, name in list(shown_types(explanation, *(view.edge_ids for view in views)).items())[:MOST_TYPES]:
        color, dash = type_look(number)
        handles.append(lines.Line2D([], [], color=color, linestyle=(0, dash) if dash else "solid", linewidth=1.6))
        names.append(show(name, 20))
    matched = any(numbers for view in views for numbers in view.numbers)
    reading = (READING if matched else NOTHING_MATCHED) + (BY_FEATURES if arrangement == "features" else "")
    if any(explanation.edges[edge].directed for view in views for edge in view.edge_ids.tolist()):
        reading += LEADS
    figure.text(0.5, 0.56 / height, reading, ha="center", fontsize=SMALL, color=INK)
    figure.legend(
        handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.54 / height), ncols=7 if len(names) <= 14 else 8,
        frameon=False, fontsize=SMALL, handletextpad=0.2, columnspacing=1.2, borderpad=0.2,
    )  # fmt: skip
