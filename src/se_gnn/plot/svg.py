"""Local graphs as SVG: the explained node's beside those of the nearest cases. Pages hold them, figures paint them.

Colors are attributes, so that a picture looks right alone; a page may override them by class (`m1`: the first matched
edge). Elements that stand for the same edge of the explained node share its id in `data-m`, so that a page can light
them together. Colors are those of classes, numbers or edge types; directions are arrows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from se_gnn.explain import CRUCIAL_EDGES, CaseVote, EdgeInfo, Explanation, NodeInfo
from se_gnn.explain.text import edge_in_words
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.number_format import decimal
from se_gnn.optional import require
from se_gnn.plot.local_view import LocalView, chosen_cases, local_views
from se_gnn.plot.placement import (
    CENTER_RADIUS,
    NODE_RADIUS,
    Points,
    edge_paths,
    edge_strengths,
    laid_out,
    name_place,
    number_places,
    path_length,
    pieces,
    point_after,
)
from se_gnn.plot.projection import placed_by_features
from se_gnn.plot.style import (
    EDGE_COLOR,
    FAINT,
    INK,
    MATCH_COLORS,
    TYPE_COLORS,
    TYPE_DASHES,
    ClassStyle,
    class_style,
    isolated,
    match_color,
    number_style,
    readable,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOWN = np.array([100.0, -100.0])  # the layout fills the unit disc; the page's y axis points down
_REACH = 122
_THIN, _WIDE, _BOLD = 0.8, 3.4, 2.0  # bold comes on top
_DASH = 3.0  # length of a unit of a dash
_BADGE = 6.5  # half the height of a number's box
_HEAD_LENGTH, _HEAD_WIDTH = 0.1, 0.075  # of an arrow, in units of the layout
MOST_NODES_WITH_NAMES = 8

Svg = ElementTree.Element
Href = Callable[[int], str | None]
Links = dict[int, list[tuple[int, float]]]  # edge id -> edges of the explained node that it stands for, similarities


class LocalGraphPicture(NamedTuple):
    """A local graph: what is shown of it, and the picture."""

    view: LocalView
    root: Svg

    @property
    def svg(self) -> str:
        """The picture as a page holds it."""
        return as_text(self.root)


def local_graph_pictures(
    explanation: Explanation,
    *,
    num_cases: int | Sequence[int],
    crucial_edges: int = CRUCIAL_EDGES,
    href: Href | None = None,
    by_features: Graph | None = None,
) -> list[LocalGraphPicture]:
    """The explained node's local graph, then those of the nearest cases, or of some ranks; matched edges lie alike.

    Nodes stand on the ring of their hops; or, with a graph (``by_features``), where t-SNE puts their attributes.
    """
    views = local_views(explanation, num_cases=num_cases, crucial_edges=crucial_edges)
    places = laid_out(views) if by_features is None else placed_by_features(views, by_features)
    cases = chosen_cases(explanation, num_cases)
    linked = [_own_links(views[0]), *(_case_links(one, explanation, views[0]) for one in cases)]
    return [
        LocalGraphPicture(view, draw(view, points, explanation, links, own=view is views[0], href=href))
        for view, points, links in zip(views, places, linked)
    ]


def add(parent: Svg, tag: str, text: str | None = None, /, **attributes: float | str) -> Svg:
    """A new element in another one; ``class_`` stands for ``class``, ``stroke_width`` for ``stroke-width``."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    found = ElementTree.SubElement(
        parent, tag, {name: value if isinstance(value, str) else coordinate(value) for name, value in named.items()}
    )
    found.text = text
    return found


def as_text(root: Svg) -> str:
    """An element as a page holds it."""
    return ElementTree.tostring(root, encoding="unicode")


def node_styles(explanation: Explanation, nodes: IntArray) -> list[ClassStyle]:
    """How nodes look: by their class, or by their number, the lowest that is mentioned light and the highest dark."""
    infos = [explanation.nodes[node] for node in nodes.tolist()]
    if all(info.number is None for info in infos):
        return [class_style(info.label) for info in infos]
    numbers = [info.number for info in explanation.nodes.values() if info.number is not None]
    low, span = min(numbers), (max(numbers) - min(numbers)) or 1.0
    return [class_style(UNKNOWN) if info.number is None else number_style((info.number - low) / span) for info in infos]


def type_look(number: int) -> tuple[str, tuple[float, ...]]:
    """Color and dash of a type; beyond six they come again, with other dashes."""
    dash = TYPE_DASHES[(number + number // len(TYPE_COLORS)) % len(TYPE_DASHES)]
    return TYPE_COLORS[number % len(TYPE_COLORS)], dash


def shown_types(explanation: Explanation, views: Sequence[LocalView]) -> dict[int, str]:
    """The types of the edges of some pictures with their names; none where edges have no type."""
    present = {explanation.edges[edge].type for view in views for edge in view.edge_ids.tolist()}
    return {number: name for number, name in enumerate(explanation.edge_types) if name in present}


def _own_links(target: LocalView) -> Links:
    """Each shown edge of the explained node stands for itself; its similarity is its importance."""
    return {edge: [(edge, value)] for edge, value in zip(target.edge_ids.tolist(), target.similarity.tolist())}


def _case_links(vote: CaseVote, explanation: Explanation, target: LocalView) -> Links:
    """Of each edge of a case, the shown edges of the explained node that are matched with it."""
    links: Links = {}
    shown = set(target.edge_ids.tolist())
    for one in explanation.matched_edges(vote):
        if one.match is not None and not one.own and one.edge.id in shown:
            links.setdefault(one.match.id, []).append((one.edge.id, one.similarity))
    return links


def draw(
    view: LocalView,
    points: Points,
    explanation: Explanation,
    links: Links | None = None,
    *,
    own: bool | None = None,
    names: bool = True,
    href: Href | None = None,
) -> Svg:
    """A local graph whose nodes stand at ``points`` [P, 2]; ``names`` are written if nodes are few.

    It is the ``own`` one of the explained node, or that of a case; None: no similarities are known. ``links`` are the
    edges of the explained node that its edges stand for. ``href`` is the address that a node leads to, or None.
    """
    infos, paths = [explanation.nodes[node] for node in view.nodes.tolist()], edge_paths(view, points)
    names = names and len(infos) <= MOST_NODES_WITH_NAMES
    written = [shorten(readable(info.caption), 14) if names else "" for info in infos[1:]]
    box, words = f"{-_REACH} {-_REACH} {2 * _REACH} {2 * _REACH}", _in_words(view, infos[0].caption)
    root = Svg("svg", {"class": "local-graph", "viewBox": box, "role": "img", "aria-label": words})
    edges = add(root, "g", class_="edges", stroke=EDGE_COLOR, stroke_linecap="round", fill="none")
    badges = number_places(view, points, paths, written if names else ())
    columns = zip(
        view.edge_ids.tolist(), view.ends.tolist(), paths, view.numbers, badges, view.similarity.tolist(),
        edge_strengths(view.similarity).tolist(),
    )  # fmt: skip
    standing = []
    for edge, ends, path, numbers, places, similarity, strength in columns:
        info, matches = explanation.edges[edge], (links or {}).get(edge, [])
        width = _THIN + (_WIDE - _THIN) * strength + (_BOLD if numbers else 0)
        group = _linked(add(edges, "g", class_="edge", stroke_width=width), matches)
        meaning = "" if own is None else f": {_meaning(similarity, matches, own=own)}"
        title = edge_in_words(info, _name(explanation, info.start), _name(explanation, info.end))
        add(group, "title", title + meaning)
        _draw_edge(group, info, ends, path, numbers, explanation)
        standing += [(place, number, matches) for place, number in zip((places * _DOWN).tolist(), numbers)]
    _draw_nodes(root, infos, points * _DOWN, explanation, href)
    for point, name in zip(points[1:], written):
        if name:
            x, y = name_place(point, name) * _DOWN
            _text(root, name, x, y + 4, 11.5, FAINT, "name")
    for (x, y), number, matches in standing:
        group = _linked(add(root, "g", class_="number"), matches)
        badge = {"x": x - _BADGE, "y": y - _BADGE, "width": 2 * _BADGE, "height": 2 * _BADGE, "rx": 3.5}
        add(group, "rect", **badge, class_=match_class(number), fill=match_color(number), stroke="white")
        _text(group, str(number), x, y + 3.6, 10, "white", "digit").set("font-weight", "700")
    return root


def _in_words(view: LocalView, name: str) -> str:
    """Description for screen readers."""
    if not len(view.edges):
        return f"{isolated(name)} has no edges."
    numbers = sorted({number for numbers in view.numbers for number in numbers})
    numbered = f"; numbered: {', '.join(map(str, numbers))}" if numbers else ""
    return f"Local graph of {isolated(name)}: {view.drawn}{numbered}."


def _draw_edge(
    group: Svg, info: EdgeInfo, ends: Sequence[int], path: Points, numbers: tuple[int, ...], explanation: Explanation
) -> None:
    """A line with a part in the color of each edge that it is matched with, and the head of its arrow.

    ``ends`` are positions among the nodes; 0 is the center.
    """
    color = EDGE_COLOR
    if info.type is not None:
        color, dash = type_look(explanation.edge_types.index(info.type))
        if dash:
            group.set("stroke-dasharray", " ".join(coordinate(_DASH * length) for length in dash))
            group.set("stroke-linecap", "butt")
        if not numbers:
            group.set("stroke", color)
    looks = [{"class_": match_class(one), "stroke": match_color(one)} for one in numbers]
    for piece, look in zip(pieces(path, max(1, len(numbers))), looks or [{}]):
        add(group, "polyline", points=_corners(piece * _DOWN), **look)
    if info.directed:
        forward = info.start == info.ends[0]
        radius = CENTER_RADIUS if ends[1 if forward else 0] == 0 else NODE_RADIUS
        head = _arrow_head(path if forward else path[::-1], radius)
        at = looks[-1 if forward else 0] if looks else {"class_": "", "stroke": color}  # of the part that it ends
        kind = f"arrow {at['class_']}".rstrip()
        add(group, "polygon", points=_corners(head * _DOWN), stroke="none", class_=kind, fill=at["stroke"])


def _arrow_head(way: Points, radius: float) -> Points:
    """The triangle of an arrow [3, 2] at the end of a way, whose tip touches a node of that radius."""
    reach = path_length(way) - radius
    tip, back = (point_after(way, max(place, 0.0)) for place in (reach, reach - _HEAD_LENGTH))
    along = (tip - back) / max(float(np.linalg.norm(tip - back)), 1e-9)
    across = np.array([-along[1], along[0]]) * _HEAD_WIDTH / 2
    return np.array([tip, back + across, back - across])


def _draw_nodes(
    root: Svg, infos: Sequence[NodeInfo], places: Points, explanation: Explanation, href: Href | None
) -> None:
    radius = 9.0 if len(infos) <= 16 else 7.5 if len(infos) <= 30 else 6.5
    x, y = places[0]
    add(root, "circle", class_="center", cx=x, cy=y, r=radius * 1.9, fill="white", stroke=INK, stroke_width=2)
    nodes = add(root, "g", class_="nodes", stroke="white", stroke_width=0.8)
    letters = any(info.label != UNKNOWN for info in infos) and max(map(len, explanation.class_names)) <= 2
    styles = node_styles(explanation, np.array([info.id for info in infos]))
    for i, (info, style, (x, y)) in enumerate(zip(infos, styles, places.tolist())):
        size = radius * (1.25 if i == 0 else 1)
        rim = {"class_": "labeled", "stroke": INK, "stroke_width": "1.6"} if info.case else {}
        target = href(info.id) if href is not None else None
        # one stop of the tab key per picture: the table below has the same links
        holder = nodes if target is None else add(nodes, "a", href=target, tabindex="-1")
        mark = shape(holder, style.marker, x, y, size, fill=style.color, **rim)
        known = explanation.answer_of(info)
        known_answer = isolated(known) if known else f"{explanation.answer.kind} not known"
        add(mark, "title", f"{_name(explanation, info.id)}: {known_answer}{', labeled' if info.case else ''}")
        if letters and info.label != UNKNOWN:
            letter = readable(explanation.class_names[info.label])
            _text(nodes, letter, x, y + size * 0.36, size, style.ink, "letter")


def shape(root: Svg, marker: str, x: float, y: float, r: float, **attributes: float | str) -> Svg:
    """The marker of a class, about as large as a circle of radius ``r``."""
    if marker == "o":
        return add(root, "circle", cx=x, cy=y, r=r, **attributes)
    wide, thin = r * 1.25, r * 0.4
    corners = {
        "s": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "^": [(0, -wide), (wide, r), (-wide, r)],
        "D": [(0, -wide), (wide, 0), (0, wide), (-wide, 0)],
        "v": [(0, wide), (wide, -r), (-wide, -r)],
        "P": [(-thin, -r), (thin, -r), (thin, -thin), (r, -thin), (r, thin), (thin, thin), (thin, r), (-thin, r),
              (-thin, thin), (-r, thin), (-r, -thin), (-thin, -thin)],
    }[marker]  # fmt: skip
    return add(root, "polygon", points=_corners(np.add(corners, (x, y))), **attributes)


def _corners(points: Points) -> str:
    return " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points.tolist())


def _text(root: Svg, text: str, x: float, y: float, size: float, color: str, kind: str) -> Svg:
    look = {"text_anchor": "middle", "class_": kind, "fill": color, "stroke": "none"}
    return add(root, "text", text, x=x, y=y, font_size=size, **look)


def _meaning(value: float, matches: list[tuple[int, float]], *, own: bool) -> str:
    """What an edge's number is; an edge that several are matched with has another similarity with each."""
    if not math.isfinite(value):
        return "no edges to compare with" if own else "nothing is matched with it"
    if own:
        return f"importance {decimal(value)}"
    if not matches:
        return f"matched with edges that are not shown, similarity up to {decimal(value)}"
    best = decimal(max(similarity for _, similarity in matches))
    return f"similarity {best}" if len(matches) == 1 else f"matched with {len(matches)} edges, similarity up to {best}"


def _linked(element: Svg, matches: list[tuple[int, float]]) -> Svg:
    """The element with the edges of the explained node that it stands for."""
    if matches:
        element.set("data-m", " ".join(str(edge) for edge, _ in matches))
    return element


def match_class(number: int) -> str:
    """The CSS class of a number, as many as there are colors."""
    return f"m{(number - 1) % len(MATCH_COLORS) + 1}"


def _name(explanation: Explanation, node: int) -> str:
    return isolated(explanation.caption(node))


def coordinate(value: float) -> str:
    """A length, a tenth of a unit exact: pages hold thousands of them."""
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"


_LENGTHS = ("x", "y", "cx", "cy", "r", "rx", "width", "height", "font-size")


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
