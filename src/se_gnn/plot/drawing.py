"""A local graph as it is drawn, whatever draws it: lines, arrows, marks, names and numbers with places and colors.

Colors are those of classes, numbers or edge types; directions are arrows. Places are in units of the layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from se_gnn.explain import EdgeInfo, Explanation, NodeInfo
from se_gnn.graph import UNKNOWN
from se_gnn.graph.arrays import IntArray
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.placement import (
    CENTER_RADIUS,
    NODE_RADIUS,
    Points,
    edge_paths,
    edge_strengths,
    name_place,
    number_places,
    path_length,
    pieces,
    point_after,
)
from se_gnn.plot.style import (
    EDGE_COLOR,
    TYPE_COLORS,
    TYPE_DASHES,
    ClassStyle,
    class_style,
    match_color,
    number_style,
    readable,
    shorten,
)

HEAD_LENGTH, HEAD_WIDTH = 0.1, 0.075  # of an arrow
MOST_NODES_WITH_NAMES = 8
Dash = tuple[float, ...]  # lengths of strokes and gaps; empty: none


class Stroke(NamedTuple):
    """A part of a line, or the head of an arrow: its points, and the number of the match that it stands for, if any."""

    points: Points
    color: str
    number: int | None


@dataclass(frozen=True, slots=True, eq=False)
class DrawnEdge:
    """An edge: a part in the color of each edge that it is matched with, and where their numbers stand."""

    info: EdgeInfo
    similarity: float
    strength: float  # 0 to 1
    numbers: tuple[int, ...]
    strokes: list[Stroke]
    head: Stroke | None  # None: it leads nowhere
    dash: Dash
    badges: Points  # of the numbers


@dataclass(frozen=True, slots=True, eq=False)
class DrawnNode:
    """A node, the letter on it, and the name beside it; both may be empty."""

    info: NodeInfo
    style: ClassStyle
    place: Points
    letter: str
    name: str
    name_place: Points


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A local graph; the first node is its center."""

    edges: list[DrawnEdge]
    nodes: list[DrawnNode]


def draw(view: LocalView, points: Points, explanation: Explanation, *, names: bool = True) -> Drawing:
    """What is drawn of a local graph whose nodes stand at ``points`` [P, 2]; ``names`` are written if nodes are few."""
    infos, paths = [explanation.nodes[node] for node in view.nodes.tolist()], edge_paths(view, points)
    names = names and len(infos) <= MOST_NODES_WITH_NAMES
    written = ["", *(shorten(readable(info.caption), 14) if names else "" for info in infos[1:])]
    letters = any(info.label != UNKNOWN for info in infos) and max(map(len, explanation.class_names)) <= 2
    nodes = [
        DrawnNode(
            info,
            style,
            place,
            explanation.class_names[info.label] if letters and info.label != UNKNOWN else "",
            name,
            name_place(place, name),
        )
        for info, style, place, name in zip(infos, node_styles(explanation, view.nodes), points, written)
    ]
    badges = number_places(view, points, paths, written[1:] if names else ())
    every = zip(
        view.edge_ids.tolist(), view.ends, paths, view.numbers, badges, view.similarity.tolist(),
        edge_strengths(view.similarity).tolist(),
    )  # fmt: skip
    edges = []
    for edge, ends, path, numbers, places, similarity, strength in every:
        info = explanation.edges[edge]
        color, dash = (EDGE_COLOR, ()) if info.type is None else type_look(explanation.edge_types.index(info.type))
        looks = [(match_color(number), number) for number in numbers] or [(color, None)]
        strokes = [Stroke(piece, *look) for piece, look in zip(pieces(path, len(looks)), looks)]
        head = None
        if info.directed:
            forward = info.start == info.ends[0]
            into = int(ends[1 if forward else 0])  # position among the nodes; 0 is the center
            triangle = _arrow_head(path if forward else path[::-1], CENTER_RADIUS if into == 0 else NODE_RADIUS)
            head = Stroke(triangle, *looks[-1 if forward else 0])  # of the part where the arrow is
        edges.append(DrawnEdge(info, similarity, strength, numbers, strokes, head, dash, places))
    return Drawing(edges, nodes)


def node_styles(explanation: Explanation, nodes: IntArray) -> list[ClassStyle]:
    """How nodes look: by their class, or by their number, the lowest that is mentioned light and the highest dark."""
    infos = [explanation.nodes[node] for node in nodes.tolist()]
    if all(info.number is None for info in infos):
        return [class_style(info.label) for info in infos]
    numbers = [info.number for info in explanation.nodes.values() if info.number is not None]
    low, span = min(numbers), (max(numbers) - min(numbers)) or 1.0
    return [class_style(UNKNOWN) if info.number is None else number_style((info.number - low) / span) for info in infos]


def type_look(number: int) -> tuple[str, Dash]:
    """Color and dash of a type; beyond six they come again, with other dashes."""
    dash = TYPE_DASHES[(number + number // len(TYPE_COLORS)) % len(TYPE_DASHES)]
    return TYPE_COLORS[number % len(TYPE_COLORS)], dash


def shown_types(explanation: Explanation, *edge_ids: IntArray) -> dict[int, str]:
    """The types of some edges with their names; none where edges have no type."""
    present = {explanation.edges[edge].type for ids in edge_ids for edge in ids.tolist()}
    return {number: name for number, name in enumerate(explanation.edge_types) if name in present}


def _arrow_head(way: Points, radius: float) -> Points:
    """The triangle of an arrow [3, 2] at the end of a way, whose tip touches a node of that radius."""
    reach = path_length(way) - radius
    tip, back = (point_after(way, max(place, 0.0)) for place in (reach, reach - HEAD_LENGTH))
    along = (tip - back) / max(float(np.linalg.norm(tip - back)), 1e-9)
    across = np.array([-along[1], along[0]]) * HEAD_WIDTH / 2
    return np.array([tip, back + across, back - across])
