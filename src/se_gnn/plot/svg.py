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

from se_gnn.explain import CRUCIAL_EDGES, CaseVote, Explanation, NodeInfo
from se_gnn.explain.explanation import NumberAnswer
from se_gnn.explain.text import edge_in_words
from se_gnn.graph import UNKNOWN
from se_gnn.number_format import decimal
from se_gnn.plot.edge_style import arrow_head, edge_style, head_number, node_styles
from se_gnn.plot.local_view import MOST_EDGES, LocalView, chosen_cases, local_views
from se_gnn.plot.placement import Points, edge_paths, edge_strengths, laid_out, name_place, number_places, pieces
from se_gnn.plot.style import (
    EDGE_COLOR,
    FAINT,
    INK,
    MATCH_COLORS,
    class_style,
    isolated,
    match_color,
    readable,
    shorten,
)

MOST_NODES_WITH_NAMES = 8

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
    most_edges: int = MOST_EDGES,
    crucial_edges: int = CRUCIAL_EDGES,
    href: Href | None = None,
) -> list[LocalGraphPicture]:
    """The explained node's local graph, then those of the nearest cases; edges matched alike lie alike.

    Args:
        explanation: whose local graphs are drawn.
        num_cases: how many of the nearest, or the ranks of some (0: the nearest).
        most_edges: shown of one local graph.
        crucial_edges: that are numbered.
        href: address that a node leads to, or None; None: no node is a link.
    """
    views = local_views(explanation, num_cases=num_cases, most_edges=most_edges, crucial_edges=crucial_edges)
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


def class_mark(label: int) -> str:
    """The mark of a class, for legends."""
    root = ElementTree.Element("svg", {"class": "class-mark", "viewBox": "-12 -12 24 24", "aria-hidden": "true"})
    style = class_style(label)
    _shape(root, style.marker, 0, 0, 8, {"fill": style.color, "stroke": INK, "stroke-width": "0.8"})
    return ElementTree.tostring(root, encoding="unicode")


def _own_links(target: LocalView) -> Links:
    """Each shown edge of the explained node stands for itself; its similarity is its importance."""
    return {edge: [(edge, value)] for edge, value in zip(target.edge_ids.tolist(), target.similarity.tolist())}


def _case_links(vote: CaseVote, explanation: Explanation, target: LocalView) -> Links:
    """Of each edge of a case, the shown edges of the explained node that are matched with it."""
    links: Links = {}
    if vote.matches is not None:
        shown = set(target.edge_ids.tolist())
        columns = (vote.matches.edge_ids, vote.matches.matched_ids, vote.matches.similarity)
        for edge, matched, value in zip(*(column.tolist() for column in columns)):
            if edge in shown and matched >= 0 and not explanation.touches_query(matched):
                links.setdefault(matched, []).append((edge, value))
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
    root = ElementTree.Element(
        "svg",
        {
            "class": "local-graph",
            "viewBox": f"{-_REACH} {-_REACH} {2 * _REACH} {2 * _REACH}",
            "role": "img",
            "aria-label": _in_words(view, explanation.caption(center)),
        },
    )
    paths = edge_paths(view, points)
    _draw_edges(root, view, paths, links, explanation, own=own)
    names = _names(view, explanation) if own is not None or href is not None else []
    _draw_nodes(root, view, points, explanation, href, names)
    _draw_numbers(root, view, number_places(view, points, paths, names), links)
    return ElementTree.tostring(root, encoding="unicode")


def _in_words(view: LocalView, name: str) -> str:
    """Description for screen readers."""
    if not len(view.edges):
        return f"{isolated(name)} has no edges."
    total = len(view.edges) + view.hidden
    drawn = f"{len(view.edges)} of {total:,} edges" if view.hidden else f"{total} {'edge' if total == 1 else 'edges'}"
    numbers = sorted({number for numbers in view.numbers for number in numbers})
    numbered = f"; numbered: {', '.join(map(str, numbers))}" if numbers else ""
    return f"Local graph of {isolated(name)}: {drawn} drawn{numbered}."


def _draw_edges(
    root: Svg, view: LocalView, paths: list[Points], links: Links, explanation: Explanation, *, own: bool | None
) -> None:
    edges = ElementTree.SubElement(root, "g", {"class": "edges", "stroke": EDGE_COLOR, "stroke-linecap": "round"})
    strengths = edge_strengths(view.similarity).tolist()
    ids = zip(view.edge_ids.tolist(), view.edges.tolist())
    lines = zip(ids, view.ends, paths, view.numbers, strengths, view.similarity.tolist())
    for (edge, _), ends, path, numbers, strength, value in lines:
        style = edge_style(explanation, edge)
        width = _THIN + (_WIDE - _THIN) * strength + (_BOLD if numbers else 0)
        look = {"class": "edge", "stroke-width": _at(width), **_linked(links.get(edge))}
        group = ElementTree.SubElement(edges, "g", look)
        title = ElementTree.SubElement(group, "title")
        meaning = "" if own is None else f": {_meaning(value, links.get(edge, []), own=own)}"
        info = explanation.edges[edge]
        title.text = edge_in_words(info, _name(explanation, info.start), _name(explanation, info.end)) + meaning
        if style.dash:
            group.set("stroke-dasharray", " ".join(_at(_DASH * length) for length in style.dash))
            group.set("stroke-linecap", "butt")
        if style.color != EDGE_COLOR:
            group.set("stroke", style.color)
        parts = max(len(numbers), 1)  # an edge that several are matched with has a part in the color of each
        rough = path[::2] if len(path) > 2 else path  # a page holds thousands of edges
        for part, piece in enumerate(pieces(rough * _DOWN, parts)):
            color = {"class": match_class(numbers[part]), "stroke": match_color(numbers[part])} if numbers else {}
            passed = 0.0  # of the path: the dashes of one line go on where those of the last one ended
            for (x1, y1), (x2, y2) in itertools.pairwise(piece.tolist()):
                place = {"x1": _at(x1), "y1": _at(y1), "x2": _at(x2), "y2": _at(y2)}
                if style.dash and passed:
                    place["stroke-dashoffset"] = _at(passed)
                passed += math.hypot(x2 - x1, y2 - y1)
                ElementTree.SubElement(group, "line", place | color)
        head = arrow_head(view, path, ends, style.leads)
        if head is not None:
            corners = " ".join(f"{_at(x)},{_at(y)}" for x, y in (head * _DOWN).tolist())
            look = {"class": "arrow", "fill": style.color}
            if numbers:
                number = head_number(numbers, style.leads)
                look = {"class": f"arrow {match_class(number)}", "fill": match_color(number)}
            ElementTree.SubElement(group, "polygon", {"points": corners, "stroke": "none", **look})


def _draw_nodes(
    root: Svg, view: LocalView, points: Points, explanation: Explanation, href: Href | None, names: list[str]
) -> None:
    places, infos = points * _DOWN, [explanation.nodes[node] for node in view.nodes.tolist()]
    radius = 9.0 if len(view.nodes) <= 16 else 7.5 if len(view.nodes) <= 30 else 6.5
    short = any(info.label != UNKNOWN for info in infos) and max(map(len, explanation.class_names)) <= 2
    x, y = places[0]
    ring = {"cx": _at(x), "cy": _at(y), "r": _at(radius * 1.9), "fill": "white", "stroke": INK, "stroke-width": "2"}
    ElementTree.SubElement(root, "circle", {"class": "center", **ring})
    nodes = ElementTree.SubElement(root, "g", {"class": "nodes", "stroke": "white", "stroke-width": "0.8"})
    for i, (info, style, (x, y)) in enumerate(zip(infos, node_styles(explanation, view.nodes), places)):
        node, size = info.id, radius * (1.25 if i == 0 else 1)
        attributes = {"fill": style.color}
        if info.case:
            attributes |= {"class": "labeled", "stroke": INK, "stroke-width": "1.6"}
        target = href(node) if href is not None else None
        # one stop of the tab key per picture: the table below has the same links
        holder = nodes if target is None else ElementTree.SubElement(nodes, "a", {"href": target, "tabindex": "-1"})
        shape = _shape(holder, style.marker, float(x), float(y), size, attributes)
        title = ElementTree.SubElement(shape, "title")
        title.text = f"{_name(explanation, node)}: {_known(explanation, info)}{', labeled' if info.case else ''}"
        if short and info.label != UNKNOWN:
            letter = readable(explanation.class_names[info.label])
            _text(nodes, letter, x, y + size * 0.36, size, style.ink, "letter")
    for name, point in zip(names, points[1:]):
        x, y = name_place(point, name) * _DOWN
        _text(root, name, x, y + 4, 11.5, FAINT, "name")


def _names(view: LocalView, explanation: Explanation) -> list[str]:
    """What is written at the nodes but the center; nothing where there are many."""
    if len(view.nodes) > MOST_NODES_WITH_NAMES:
        return []
    return [shorten(readable(explanation.caption(node)), 14) for node in view.nodes[1:].tolist()]


def _draw_numbers(root: Svg, view: LocalView, places: list[Points], links: Links) -> None:
    for edge, spots, numbers in zip(view.edge_ids.tolist(), places, view.numbers):
        for (x, y), number in zip(spots * _DOWN, numbers):
            group = ElementTree.SubElement(root, "g", {"class": "number", **_linked(links.get(edge))})
            box = {"x": _at(x - _BADGE), "y": _at(y - _BADGE), "width": _at(2 * _BADGE), "height": _at(2 * _BADGE)}
            look = {"rx": "3.5", "class": match_class(number), "fill": match_color(number), "stroke": "white"}
            ElementTree.SubElement(group, "rect", {**box, **look})
            _text(group, str(number), x, y + 3.6, 10, "white", "digit")


def _shape(root: Svg, marker: str, x: float, y: float, r: float, attributes: dict[str, str]) -> Svg:
    """The marker of a class, about as large as a circle of radius ``r``."""
    if marker == "o":
        return ElementTree.SubElement(root, "circle", {"cx": _at(x), "cy": _at(y), "r": _at(r), **attributes})
    wide, thin = r * 1.25, r * 0.4
    corners = {
        "s": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "^": [(0, -wide), (wide, r), (-wide, r)],
        "D": [(0, -wide), (wide, 0), (0, wide), (-wide, 0)],
        "v": [(0, wide), (wide, -r), (-wide, -r)],
        "P": [(-thin, -r), (thin, -r), (thin, -thin), (r, -thin), (r, thin), (thin, thin), (thin, r), (-thin, r),
              (-thin, thin), (-r, thin), (-r, -thin), (-thin, -thin)],
    }[marker]  # fmt: skip
    path = " ".join(f"{_at(x + dx)},{_at(y + dy)}" for dx, dy in corners)
    return ElementTree.SubElement(root, "polygon", {"points": path, **attributes})


def _text(root: Svg, text: str, x: float, y: float, size: float, color: str, kind: str) -> None:
    place = {"x": _at(x), "y": _at(y), "font-size": _at(size), "text-anchor": "middle", "class": kind}
    ElementTree.SubElement(root, "text", {**place, "fill": color, "stroke": "none"}).text = text


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


def _linked(matches: list[tuple[int, float]] | None) -> dict[str, str]:
    return {"data-m": " ".join(str(edge) for edge, _ in matches)} if matches else {}


def match_class(number: int) -> str:
    """The CSS class of a number, as many as there are colors."""
    return f"m{(number - 1) % len(MATCH_COLORS) + 1}"


def _name(explanation: Explanation, node: int) -> str:
    return isolated(explanation.caption(node))


def _known(explanation: Explanation, info: NodeInfo) -> str:
    if isinstance(explanation.answer, NumberAnswer):
        return "number not known" if info.number is None else explanation.answer.text(info.number)
    return isolated(explanation.class_names[info.label]) if info.label != UNKNOWN else "class not known"


def _at(value: float) -> str:
    """A coordinate, a tenth of a unit exact: pages hold thousands of them."""
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"
