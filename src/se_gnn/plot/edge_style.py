"""How an edge that carries something looks: an arrow for its direction, dash and color for its type."""

from __future__ import annotations

from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.plot.layout import Points
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.palette import EDGE_COLOR, KIND_COLORS, KIND_DASHES
from se_gnn.plot.placement import CENTER_RADIUS, NODE_RADIUS

HEAD_LENGTH, HEAD_WIDTH = 0.1, 0.075  # of an arrow, in units of the layout
READING = " Arrows: where an edge leads."


class EdgeStyle(NamedTuple):
    """Color of an edge that is not numbered, its dash (lengths of strokes and gaps, empty: none), where it leads."""

    color: str
    dash: tuple[float, ...]
    leads: int  # 1: to its second end, -1: to its first, 0: nowhere


def edge_style(graph: Graph, edge: int) -> EdgeStyle:
    """How an edge looks."""
    values = graph.edge_values
    if values is None:
        return EdgeStyle(EDGE_COLOR, (), 0)
    leads = 0 if values.direction is None else int(values.direction[edge])
    if values.type is None:
        return EdgeStyle(EDGE_COLOR, (), leads)
    return EdgeStyle(*kind_look(int(values.type[edge])), leads)


def kind_look(kind: int) -> tuple[str, tuple[float, ...]]:
    """Color and dash of a type; beyond six they come again, with other dashes."""
    dash = KIND_DASHES[(kind + kind // len(KIND_COLORS)) % len(KIND_DASHES)]
    return KIND_COLORS[kind % len(KIND_COLORS)], dash


def shown_kinds(graph: Graph, *edge_ids: IntArray) -> dict[int, str]:
    """The types of some edges with their names; none where edges have no type."""
    values = graph.edge_values
    if values is None or values.type is None or not edge_ids:
        return {}
    present = np.unique(values.type[np.concatenate(edge_ids)]).tolist()
    return {kind: values.type_names[kind] for kind in present}


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


def kind_mark(kind: int) -> str:
    """The line of a type, for legends of pages."""
    color, dash = kind_look(kind)
    root = ElementTree.Element("svg", {"class": "kind-mark", "viewBox": "0 0 34 8", "aria-hidden": "true"})
    look = {"x1": "0", "y1": "4", "x2": "34", "y2": "4", "stroke": color, "stroke-width": "2.4"}
    if dash:
        look["stroke-dasharray"] = " ".join(f"{2 * length:g}" for length in dash)
    ElementTree.SubElement(root, "line", look)
    return ElementTree.tostring(root, encoding="unicode")
