"""How nodes and edges look: the color of a class or a number, arrows for directions, dash and color for edge types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from se_gnn.explain import EdgeInfo, NodeInfo
from se_gnn.graph import UNKNOWN
from se_gnn.graph.arrays import IntArray
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.placement import CENTER_RADIUS, NODE_RADIUS, Points, path_length, point_after
from se_gnn.plot.style import (
    EDGE_COLOR,
    TYPE_COLORS,
    TYPE_DASHES,
    ClassStyle,
    class_style,
    number_style,
    readable,
    shorten,
)

HEAD_LENGTH, HEAD_WIDTH = 0.1, 0.075  # of an arrow, in units of the layout
MOST_NODES_WITH_NAMES = 8
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


def arrow_head(path: Points, ends: IntArray, leads: int) -> Points | None:
    """The triangle of an arrow [3, 2] whose tip touches the node it leads to; None where it leads nowhere."""
    if not leads:
        return None
    way = path if leads > 0 else path[::-1]
    into = int(ends[1] if leads > 0 else ends[0])  # position among the nodes; 0 is the center
    reach = path_length(way) - (CENTER_RADIUS if into == 0 else NODE_RADIUS)
    tip, back = (point_after(way, max(place, 0.0)) for place in (reach, reach - HEAD_LENGTH))
    along = (tip - back) / max(float(np.linalg.norm(tip - back)), 1e-9)
    across = np.array([-along[1], along[0]]) * HEAD_WIDTH / 2
    return np.array([tip, back + across, back - across])


def node_names(view: LocalView, explanation: Mentioned) -> list[str]:
    """What is written at the nodes but the center; nothing where there are many."""
    if len(view.nodes) > MOST_NODES_WITH_NAMES:
        return []
    return [shorten(readable(explanation.nodes[node].caption), 14) for node in view.nodes[1:].tolist()]


def has_letters(explanation: Mentioned, nodes: Sequence[NodeInfo]) -> bool:
    """Whether the names of the classes of these nodes are short enough to be written on them."""
    return any(node.label != UNKNOWN for node in nodes) and max(map(len, explanation.class_names)) <= 2
