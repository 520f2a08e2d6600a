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
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.style import FAINT, INK, NORMAL, SMALL, class_style, legend_marks, number_style, show
from se_gnn.plot.svg import Svg, local_graph_pictures, shown_types, type_look

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

_LENGTHS = ("x", "y", "cx", "cy", "r", "rx", "width", "height", "font-size")


def local_graphs(
    explanation: Explanation, *, num_cases: int, crucial_edges: int, by_features: Graph | None
) -> tuple[float, Callable[[FigureBase], None]]:
    """One panel per local graph, the node's own and those of the nearest cases: inches, and what fills them.

    Nodes stand on the ring of their hops; or, with a graph, where t-SNE puts their attributes (``by_features``): then
    the same node stands in the same place of every panel.
    """
    pictures = local_graph_pictures(
        explanation, num_cases=num_cases, crucial_edges=crucial_edges, by_features=by_features
    )
    views = [one.view for one in pictures]
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
        for i, (picture, title) in enumerate(zip(pictures, titles)):
            axes = figure.add_subplot(grid[divmod(i, COLUMNS)])
            paint(axes, picture.root)
            axes.set_title(title, fontsize=NORMAL, color=INK, linespacing=1.3)
            below: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "top", "fontsize": SMALL}
            axes.text(0.5, -0.01, _caption(picture.view), color=FAINT, **below)
        _legend(figure, views, explanation, BY_FEATURES if by_features is not None else "", height)

    return height, fill


def paint(axes: Axes, root: Svg) -> None:
    """A picture on axes, which take its coordinates; its lengths are scaled to the room that there is."""
    left, top, width, height = map(float, root.get("viewBox", "").split())
    axes.set(xlim=(left, left + width), ylim=(top + height, top), aspect="equal")
    axes.set_axis_off()
    box = axes.get_window_extent()
    _paint(axes, root, {}, min(box.width / width, box.height / height) * 72 / axes.figure.dpi)


def _paint(axes: Axes, parent: Svg, inherited: dict[str, str], points: float) -> None:
    """The elements in another one; a unit of the picture is that many points."""
    lines: Any = require("matplotlib.lines", extra="plot", feature="pictures")
    patches: Any = require("matplotlib.patches", extra="plot", feature="pictures")
    for element in parent:
        look = inherited | element.attrib
        at = {name: float(value) for name, value in element.attrib.items() if name in _LENGTHS}
        corners = [tuple(map(float, corner.split(","))) for corner in element.get("points", "").split()]
        common: dict[str, Any] = {"zorder": 2, "gid": look.get("class")}
        width = float(look.get("stroke-width", 1))
        drawn = common | {"facecolor": look.get("fill"), "edgecolor": look.get("stroke"), "linewidth": width * points}
        if element.tag == "polyline":
            dash = [float(length) / width for length in look.get("stroke-dasharray", "").split()]
            common |= {"linestyle": (0, dash) if dash else "-", "dash_capstyle": "butt", "solid_capstyle": "round"}
            axes.add_line(lines.Line2D(*zip(*corners), color=look["stroke"], linewidth=width * points, **common))
        elif element.tag == "polygon":
            axes.add_patch(patches.Polygon(corners, **drawn))
        elif element.tag == "circle":
            axes.add_patch(patches.Circle((at["cx"], at["cy"]), at["r"], **drawn))
        elif element.tag == "rect":
            round_ = f"round,pad=0,rounding_size={at['rx']}"
            axes.add_patch(patches.FancyBboxPatch((at["x"], at["y"]), at["width"], at["height"], round_, **drawn))
        elif element.tag == "text":
            common |= {"size": at["font-size"] * points, "weight": look.get("font-weight", "normal")}
            axes.text(at["x"], at["y"], element.text or "", ha="center", color=look["fill"], parse_math=False, **common)
        else:
            _paint(axes, element, look, points)


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
    for number, name in list(shown_types(explanation, views).items())[:MOST_TYPES]:
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
