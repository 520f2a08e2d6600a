"""Local graphs as SVG for pages: the explained node's beside those of the nearest cases.

Colors are attributes, so that a picture looks right alone; a page may override them by class (`m1`: the first matched
edge). Elements that stand for the same edge of the explained node share its id in `data-m`, so that a page can light
them together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from se_gnn.explain import CRUCIAL_EDGES, CaseVote, Explanation
from se_gnn.explain.text import edge_in_words
from se_gnn.number_format import decimal
from se_gnn.plot.drawing import DrawnEdge, DrawnNode, draw, type_look
from se_gnn.plot.local_view import LocalView, chosen_cases, local_views
from se_gnn.plot.placement import Points, laid_out
from se_gnn.plot.style import EDGE_COLOR, FAINT, INK, MATCH_COLORS, class_style, isolated, match_color, readable

_DOWN = np.array([100.0, -100.0])  # the layout fills the unit disc; the page's y axis points down
_REACH = 122
_THIN, _WIDE, _BOLD = 0.8, 3.4, 2.0  # bold comes on top
_DASH = 3.0  # length of a unit of a dash
_BADGE = 6.5  # half the height of a number's box

Svg = ElementTree.Element
Href = Callable[[int], str | None]
Links = dict[int, list[tuple[int, float]]]  # edge id -> edges of the explained node that it stands for, similarities


@dataclass(frozen=True, slots=True, eq=False)
class LocalGraphPicture:
    """A local graph: what is shown of it, and the picture."""

    view: LocalView
    svg: str


def local_graph_pictures(
    explanation: Explanation,
    *,
    num_cases: int | Sequence[int],
    crucial_edges: int = CRUCIAL_EDGES,
    href: Href | None = None,
) -> list[LocalGraphPicture]:
    """The explained node's local graph, then those of the nearest cases; edges matched alike lie alike.

    Args:
        explanation: whose local graphs are drawn.
        num_cases: how many of the nearest, or the ranks of some (0: the nearest).
        crucial_edges: that are numbered.
        href: address that a node leads to, or None; None: no node is a link.
    """
    views = local_views(explanation, num_cases=num_cases, crucial_edges=crucial_edges)
    cases = chosen_cases(explanation, num_cases)
    linked = [_own_links(views[0]), *(_case_links(one, explanation, views[0]) for one in cases)]
    centers = [explanation.node, *(one.node for one in cases)]
    return [
        LocalGraphPicture(view, _draw(view, points, links, explanation, center, own=view is views[0], href=href))
        for view, points, links, center in zip(views, laid_out(views), linked, centers)
    ]


def plain_picture(
    view: LocalView, points: Points, explanation: Explanation, href: Href | None = None
) -> LocalGraphPicture:
    """A local graph, nodes at given places, without similarities; with names if nodes are links."""
    svg = _draw(view, points, {}, explanation, int(view.nodes[0]), own=None, href=href)
    return LocalGraphPicture(view, svg)


def picture(kind: str, view_box: tuple[float, float, float, float], label: str) -> Svg:
    """An empty picture of a CSS class, with a description for screen readers."""
    return Svg("svg", {"class": kind, "viewBox": " ".join(map(_at, view_box)), "role": "img", "aria-label": label})


def add(parent: Svg, tag: str, text: str | None = None, /, **attributes: float | str) -> Svg:
    """A new element in another one; ``class_`` stands for ``class``, ``stroke_width`` for ``stroke-width``."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    found = ElementTree.SubElement(
        parent, tag, {name: value if isinstance(value, str) else _at(value) for name, value in named.items()}
    )
    found.text = text
    return found


def as_text(root: Svg) -> str:
    """An element as a page holds it."""
    return ElementTree.tostring(root, encoding="unicode")


def class_mark(label: int) -> str:
    """The mark of a class, for legends."""
    root = Svg("svg", {"class": "class-mark", "viewBox": "-12 -12 24 24", "aria-hidden": "true"})
    style = class_style(label)
    _shape(root, style.marker, 0, 0, 8, fill=style.color, stroke=INK, stroke_width=0.8)
    return as_text(root)


def type_mark(number: int) -> str:
    """The line of a type of edges, for legends."""
    root = Svg("svg", {"class": "type-mark", "viewBox": "0 0 34 8", "aria-hidden": "true"})
    color, dash = type_look(number)
    line = add(root, "line", x1=0, y1=4, x2=34, y2=4, stroke=color, stroke_width=2.4)
    if dash:
        line.set("stroke-dasharray", " ".join(_at(2 * length) for length in dash))
    return as_text(root)


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


def _draw(
    view: LocalView,
    points: Points,
    links: Links,
    explanation: Explanation,
    center: int,
    *,
    own: bool | None,
    href: Href | None,
) -> str:
    box = (-_REACH, -_REACH, 2 * _REACH, 2 * _REACH)
    root = picture("local-graph", box, _in_words(view, explanation.caption(center)))
    drawing = draw(view, points, explanation, names=own is not None or href is not None)
    edges = add(root, "g", class_="edges", stroke=EDGE_COLOR, stroke_linecap="round")
    for edge in drawing.edges:
        _draw_edge(edges, edge, links.get(edge.info.id, []), explanation, own=own)
    _draw_nodes(root, drawing.nodes, explanation, href)
    for edge in drawing.edges:
        for (x, y), number in zip((edge.badges * _DOWN).tolist(), edge.numbers):
            group = _linked(add(root, "g", class_="number"), links.get(edge.info.id, []))
            badge = {"x": x - _BADGE, "y": y - _BADGE, "width": 2 * _BADGE, "height": 2 * _BADGE, "rx": 3.5}
            add(group, "rect", **badge, class_=match_class(number), fill=match_color(number), stroke="white")
            _text(group, str(number), x, y + 3.6, 10, "white", "digit")
    return as_text(root)


def _in_words(view: LocalView, name: str) -> str:
    """Description for screen readers."""
    if not len(view.edges):
        return f"{isolated(name)} has no edges."
    total = len(view.edges) + view.hidden
    drawn = f"{len(view.edges)} of {total:,} edges" if view.hidden else f"{total} {'edge' if total == 1 else 'edges'}"
    numbers = sorted({number for numbers in view.numbers for number in numbers})
    numbered = f"; numbered: {', '.join(map(str, numbers))}" if numbers else ""
    return f"Local graph of {isolated(name)}: {drawn} drawn{numbered}."


def _draw_edge(
    edges: Svg, edge: DrawnEdge, matches: list[tuple[int, float]], explanation: Explanation, *, own: bool | None
) -> None:
    width = _THIN + (_WIDE - _THIN) * edge.strength + (_BOLD if edge.numbers else 0)
    group = _linked(add(edges, "g", class_="edge", stroke_width=width), matches)
    meaning = "" if own is None else f": {_meaning(edge.similarity, matches, own=own)}"
    ends = (_name(explanation, node) for node in (edge.info.start, edge.info.end))
    add(group, "title", edge_in_words(edge.info, *ends) + meaning)
    if edge.dash:
        group.set("stroke-dasharray", " ".join(_at(_DASH * length) for length in edge.dash))
        group.set("stroke-linecap", "butt")
    if edge.strokes[0].number is None and edge.strokes[0].color != EDGE_COLOR:
        group.set("stroke", edge.strokes[0].color)
    for stroke in edge.strokes:
        look = {} if stroke.number is None else {"class_": match_class(stroke.number), "stroke": stroke.color}
        last = len(stroke.points) - 1
        rough = (stroke.points * _DOWN)[[*range(0, last, 2), last]]  # a page holds thousands of edges
        passed = 0.0  # of the stroke: the dashes of one line go on where those of the last one ended
        for (x1, y1), (x2, y2) in itertools.pairwise(rough.tolist()):
            shift = {"stroke_dashoffset": passed} if edge.dash and passed else {}
            add(group, "line", x1=x1, y1=y1, x2=x2, y2=y2, **shift, **look)
            passed += math.hypot(x2 - x1, y2 - y1)
    if edge.head is not None:
        kind = "arrow" if edge.head.number is None else f"arrow {match_class(edge.head.number)}"
        corners = _corners(edge.head.points * _DOWN)
        add(group, "polygon", points=corners, stroke="none", class_=kind, fill=edge.head.color)


def _draw_nodes(root: Svg, drawn: list[DrawnNode], explanation: Explanation, href: Href | None) -> None:
    radius = 9.0 if len(drawn) <= 16 else 7.5 if len(drawn) <= 30 else 6.5
    x, y = drawn[0].place * _DOWN
    add(root, "circle", class_="center", cx=x, cy=y, r=radius * 1.9, fill="white", stroke=INK, stroke_width=2)
    nodes = add(root, "g", class_="nodes", stroke="white", stroke_width=0.8)
    for i, one in enumerate(drawn):
        info, size, (x, y) = one.info, radius * (1.25 if i == 0 else 1), one.place * _DOWN
        rim = {"class_": "labeled", "stroke": INK, "stroke_width": "1.6"} if info.case else {}
        target = href(info.id) if href is not None else None
        # one stop of the tab key per picture: the table below has the same links
        holder = nodes if target is None else add(nodes, "a", href=target, tabindex="-1")
        shape = _shape(holder, one.style.marker, x, y, size, fill=one.style.color, **rim)
        known = explanation.answer_of(info)
        known_answer = isolated(known) if known else f"{explanation.answer.kind} not known"
        add(shape, "title", f"{_name(explanation, info.id)}: {known_answer}{', labeled' if info.case else ''}")
        if one.letter:
            _text(nodes, readable(one.letter), x, y + size * 0.36, size, one.style.ink, "letter")
    for one in drawn:
        if one.name:
            x, y = one.name_place * _DOWN
            _text(root, one.name, x, y + 4, 11.5, FAINT, "name")


def _shape(root: Svg, marker: str, x: float, y: float, r: float, **attributes: float | str) -> Svg:
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
    return " ".join(f"{_at(x)},{_at(y)}" for x, y in points.tolist())


def _text(root: Svg, text: str, x: float, y: float, size: float, color: str, kind: str) -> None:
    add(root, "text", text, x=x, y=y, font_size=size, text_anchor="middle", class_=kind, fill=color, stroke="none")


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


def _at(value: float) -> str:
    """A length, a tenth of a unit exact: pages hold thousands of them."""
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"
