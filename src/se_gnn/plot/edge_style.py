"""How nodes and edges look: the color of a class or a number, arrows for directions, dash and color for edge types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol
from xml.etree import ElementTree

import numpy as np

from se_gnn.explain import EdgeInfo, NodeInfo
from se_gnn.graph import UNKNOWN
from se_gnn.graph.arrays import IntArray
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.placement import CENTER_RADIUS, NODE_RADIUS, Points
from se_gnn.plot.style import EDGE_COLOR, TYPE_COLORS, TYPE_DASHES, ClassStyle, class_style, number_style

HEAD_LENGTH, HEAD_WIDTH = 0.1, 0.075  # of an arrow, in units of the layout
READING = " Arrows: where an edge leads."


class Mentioned(Protocol):
    """What pictures of local graphs read of an explanation."""

    @property
    def nodes(self) -> Mapping[int, NodeInfo]:
        """All nodes that are drawn, by id."""

    @property
    def edges(self) -> Mapping[int, EdgeInfo]:
        """All edges that are drawn, by id."""

    @property
    def edge_types(self) -> tuple[str, ...]:
        """The types that edges have."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes that nodes are labeled with."""


def node_styles(explanation: Mentioned, nodes: IntArray) -> list[ClassStyle]:
    """How nodes look: by their class, or by their number, the lowest that is mentioned light and the highest dark."""
    infos = [explanation.nodes[node] for node in nodes.tolist()]
    if all(info.number is None for info in infos):
        return [class_style(info.label) for info in infos]
    numbers = [info.number for info in explanation.nodes.values() if info.number is not None]
    low, span = min(numbers), (max(numbers) - min(numbers)) or 1.0
    return [class_style(UNKNOWN) if info.number is None else number_style((info.number - low) / span) for info in infos]


class EdgeStyle(NamedTuple):
    """Color of an edge that is not numbered, its dash (lengths of strokes and gaps, empty: none), where it leads."""

    color: str
    dash: tuple[float, ...]
    leads: int  # 1: to its second end, -1: to its first, 0: nowhere


def edge_style(explanation: Mentioned, edge: int) -> EdgeStyle:
    """How an edge looks."""
    info = explanation.edges[edge]
    leads = 0 if not info.directed else 1 if info.start == info.ends[0] else -1
    if info.type is None:
        return EdgeStyle(EDGE_COLOR, (), leads)
    return EdgeStyle(*type_look(explanation.edge_types.index(info.type)), leads)


def type_look(number: int) -> tuple[str, tuple[float, ...]]:
    """Color and dash of a type; beyond six they come again, with other dashes."""
    dash = TYPE_DASHES[(number + number // len(TYPE_COLORS)) % len(TYPE_DASHES)]
    return TYPE_COLORS[number % len(TYPE_COLORS)], dash


def shown_types(explanation: Mentioned, *edge_ids: IntArray) -> dict[int, str]:
    """The types of some edges with their names; none where edges have no type."""
    present = {explanation.edges[edge].type for ids in edge_ids for edge in ids.tolist()}
    return {number: name for number, name in enumerate(explanation.edge_types) if name in present}


def arrow_head(view: LocalView, path: Points, ends: IntArray, leads: int) -> Points | None:
    """The triangle of an arrow [3, 2] whose tip touches the node it leads to; None where it leads nowhere."""
    if not leads:
        return None
    way = path if leads > 0 else path[::-1]
    into = int(ends[1] if leads > 0 else ends[0])  # position among the nodes; 0 is the center
    steps = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    reach = steps[-1] - (CENTER_RADIUS if into == 0 else NODE_RADIUS)
    tip, back = (
        np.array([np.interp(max(place, 0.0), steps, way[:, axis]) for axis in range(2)])
        for place in (reach, reach - HEAD_LENGTH)
    )
    along = (tip - back) / max(float(np.linalg.norm(tip - back)), 1e-9)
    across = np.array([-along[1], along[0]]) * HEAD_WIDTH / 2
    return np.array([tip, back + across, back - across])


def head_number(numbers: tuple[int, ...], leads: int) -> int:
    """Of the numbers of an edge, whose parts lie one after the other, that of the part where its arrow is."""
    return numbers[-1] if leads > 0 else numbers[0]


def type_mark(number: int) -> str:
    """The line of a type, for legends of pages."""
    color, dash = type_look(number)
    root = ElementTree.Element("svg", {"class": "type-mark", "viewBox": "0 0 34 8", "aria-hidden": "true"})
    look = {"x1": "0", "y1": "4", "x2": "34", "y2": "4", "stroke": color, "stroke-width": "2.4"}
    if dash:
        look["stroke-dasharray"] = " ".join(f"{2 * length:g}" for length in dash)
    ElementTree.SubElement(root, "line", look)
    return ElementTree.tostring(root, encoding="unicode")
