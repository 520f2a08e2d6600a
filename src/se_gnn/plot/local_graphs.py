"""The explained node's local graph beside those of the nearest cases, matched edges numbered alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from se_gnn.explain import Explanation, NodeInfo
from se_gnn.explain.explanation import NumberAnswer
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.number_format import percent
from se_gnn.optional import require
from se_gnn.plot.drawing import Drawing, draw, shown_types, type_look
from se_gnn.plot.local_view import LocalView, local_views
from se_gnn.plot.placement import Points, laid_out
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

LEADS = " Arrows: where an edge leads."

NOTHING_MATCHED = "Without edges to match, the nodes were compared by their own attributes alone."

_THIN, _WIDE, _BOLD = 0.5, 2.0, 1.4  # points; bold comes on top
_REACH = 1.2  # how far an axis reaches from the center; the layout fills the unit disc


def local_graphs(
    explanation: Explanation, *, num_cases: int, crucial_edges: int, by_features: Graph | None
) -> tuple[float, Callable[[FigureBase], None]]:
    """One panel per local graph, the node's own and those of the nearest cases: inches, and what fills them.

    Nodes stand on the ring of their hops; or, with a graph, where t-SNE puts their attributes (``by_features``): then
    the same node stands in the same place of every panel.
    """
    views = local_views(explanation, num_cases=num_cases, crucial_edges=crucial_edges)
    points = laid_out(views) if by_features is None else placed_by_features(views, by_features)
    captions = [show(explanation.caption(int(view.nodes[0])), 18 if i == 0 else 24) for i, view in enumerate(views)]
    word = "known value" if isinstance(explanation.answer, NumberAnswer) else "label"
    titles = [f"to explain: {captions[0]}\n{word} {known_text(explanation.query, explanation)}"] + [
        f"{caption}\n{known_text(explanation.nodes[vote.node], explanation)}, weight {percent(vote.weight)}"
        for vote, caption in zip(explanation.full, captions[1:])
    ]
    rows = -(-len(views) // COLUMNS)
    height = ABOVE_INCHES + BELOW_INCHES + rows * PANEL_INCHES + (rows - 1) * BETWEEN_INCHES

    def fill(figure: FigureBase) -> None:
        grid = figure.add_gridspec(
            rows, COLUMNS, left=0.01, right=0.99, bottom=BELOW_INCHES / height, top=1 - ABOVE_INCHES / height,
            wspace=0.04, hspace=BETWEEN_INCHES / PANEL_INCHES,
        )  # fmt: skip
        for i, (view, positions, title) in enumerate(zip(views, points, titles)):
            axes = figure.add_subplot(grid[divmod(i, COLUMNS)])
            draw_local_graph(axes, view, positions, explanation)
            axes.set_title(title, fontsize=NORMAL, color=INK, linespacing=1.3)
        _legend(figure, views, explanation, BY_FEATURES if by_features is not None else "", height)

    return height, fill


def draw_local_graph(axes: Axes, view: LocalView, points: Points, explanation: Explanation) -> None:
    """One local graph; ``points`` [P, 2] are the positions of ``view.nodes``."""
    axes.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    axes.set_axis_off()
    drawing = draw(view, points, explanation)
    _draw_edges(axes, drawing)
    _draw_nodes(axes, drawing)
    axes.text(0.5, -0.01, _caption(view), transform=axes.transAxes, ha="center", va="top", fontsize=SMALL, color=FAINT)


def _draw_edges(axes: Axes, drawing: Drawing) -> None:
    collections: Any = require("matplotlib.collections", extra="plot", feature="pictures")
    lines = [(edge, stroke) for edge in drawing.edges for stroke in edge.strokes]
    drawn = collections.LineCollection(
        [stroke.points for _, stroke in lines],
        linewidths=[_THIN + (_WIDE - _THIN) * edge.strength + (_BOLD if edge.numbers else 0) for edge, _ in lines],
        colors=[stroke.color for _, stroke in lines],
        linestyles=[(0, edge.dash) if edge.dash else "solid" for edge, _ in lines],
        capstyle="butt", zorder=1, gid="edges",
    )  # fmt: skip
    axes.add_collection(drawn)
    heads = [edge.head for edge in drawing.edges if edge.head is not None]
    if heads:
        corners, colors = [head.points for head in heads], [head.color for head in heads]
        axes.add_collection(collections.PolyCollection(corners, facecolors=colors, zorder=1.5, gid="arrows"))
    for edge in drawing.edges:
        for (x, y), number in zip(edge.badges, edge.numbers):
            box = {"boxstyle": "round,pad=0.18", "fc": match_color(number), "ec": "white", "lw": 0.6}
            axes.text(
                x, y, str(number), ha="center", va="center_baseline", fontsize=SMALL, fontweight="bold", color="white",
                zorder=5, gid="number", bbox=box,
            )  # fmt: skip


def _draw_nodes(axes: Axes, drawing: Drawing) -> None:
    count = len(drawing.nodes)
    size = 130.0 if count <= 16 else 90.0 if count <= 30 else 65.0  # area in points squared
    x, y = drawing.nodes[0].place
    ring: dict[str, Any] = {"facecolors": "white", "edgecolors": INK, "linewidths": 1.6, "zorder": 2, "gid": "center"}
    axes.scatter(x, y, s=size * 3.6, marker="o", **ring)
    for i, node in enumerate(drawing.nodes):
        x, y = node.place
        axes.scatter(
            x, y, s=size * (1.5 if i == 0 else 1), marker=node.style.marker, color=node.style.color,
            edgecolors=INK if node.info.case else "white", linewidths=1.2 if node.info.case else 0.6, zorder=3,
            gid="node",
        )  # fmt: skip
        if node.letter:
            axes.annotate(
                show(node.letter), (x, y), ha="center", va="center_baseline",
                fontsize=0.62 * size**0.5 if i else 0.75 * size**0.5, color=node.style.ink, zorder=4,
            )  # fmt: skip
        if node.name:
            x, y = node.name_place
            look: dict[str, Any] = {"fontsize": SMALL - 1, "color": FAINT, "zorder": 4, "gid": "name"}
            axes.text(x, y, show(node.name), ha="center", va="center", **look)


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


def _legend(figure: FigureBase, views: list[LocalView], explanation: Explanation, places: str, height: float) -> None:
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
    reading = (READING if matched else NOTHING_MATCHED) + places
    if any(explanation.edges[edge].directed for view in views for edge in view.edge_ids.tolist()):
        reading += LEADS
    figure.text(0.5, 0.56 / height, reading, ha="center", fontsize=SMALL, color=INK)
    figure.legend(
        handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.54 / height), ncols=7 if len(names) <= 14 else 8,
        frameon=False, fontsize=SMALL, handletextpad=0.2, columnspacing=1.2, borderpad=0.2,
    )  # fmt: skip
