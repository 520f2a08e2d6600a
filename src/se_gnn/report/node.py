"""All that the page says of one node: its explanation, laid out; the vote as bars; nodes that are pictures as PNG."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from se_gnn.explain import CRUCIAL_EDGES, CaseVote, EdgeInfo, Explanation
from se_gnn.explain.explanation import MatchedEdge
from se_gnn.graph import Graph
from se_gnn.graph.arrays import dense
from se_gnn.plot.figure import Bar, vote_bars
from se_gnn.plot.local_view import LocalView, chosen_cases
from se_gnn.plot.svg import Href, LocalGraphPicture, local_graph_pictures, shown_types

MOST_VOTES = 15  # single cases; the others are summed up by class


class NodeImages:
    """The pictures of a graph's nodes, all on one scale; None where nodes are no pictures."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.low, self.high = graph, 0.0, 0.0
        for _, rows in graph.nodes.features.blocks() if graph.image_shape is not None else ():
            stored = rows if isinstance(rows, np.ndarray) else rows.data
            self.low = min(self.low, float(stored.min(initial=0)))
            self.high = max(self.high, float(stored.max(initial=0)))

    def uri(self, node: int) -> str | None:
        """The node's pixels as a `data:` address, dark where the values are high."""
        shape = self.graph.image_shape
        if shape is None:
            return None
        share = (dense(self.graph.features[[node]]).reshape(shape) - self.low) / (self.high - self.low or 1)
        content = _png(np.round(255 * (1 - share)).astype(np.uint8))
        return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"


def _png(grey: npt.NDArray[np.uint8]) -> bytes:
    """A grey picture, 8 bits a pixel, in the format of the PNG specification."""
    height, width = grey.shape
    lines = np.hstack([np.zeros((height, 1), np.uint8), grey]).tobytes()  # each line unfiltered
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


class EdgeRow(NamedTuple):
    """An edge of the node beside its match in each of the shown cases."""

    number: int | None
    edge: EdgeInfo  # its id links pictures and table
    importance: float
    matches: tuple[MatchedEdge | None, ...]  # None: the case has no edges


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodePart:
    """One explained node."""

    explanation: Explanation
    vote: list[Bar]
    shown: tuple[CaseVote, ...]
    pictures: list[LocalGraphPicture]
    edges: list[EdgeRow]
    types: dict[int, str]  # types of the edges in the pictures


def node_part(
    explanation: Explanation,
    k: int | Sequence[int],
    *,
    crucial_edges: int = CRUCIAL_EDGES,
    href: Href | None = None,
) -> NodePart:
    """Lay out one explanation with its ``k`` nearest cases, or those of some ranks; they are explained in full.

    ``href`` says where a node in a picture leads.
    """
    shown = chosen_cases(explanation, k)
    pictures = local_graph_pictures(explanation, num_cases=k, crucial_edges=crucial_edges, href=href)
    return NodePart(
        explanation=explanation,
        vote=[bar for bar in vote_bars(explanation, MOST_VOTES) if bar.cases],
        shown=shown,
        pictures=pictures,
        edges=_edge_rows(explanation, shown, pictures[0].view),
        types=shown_types(explanation, [picture.view for picture in pictures]),
    )


def _edge_rows(explanation: Explanation, shown: Sequence[CaseVote], view: LocalView) -> list[EdgeRow]:
    """The edges in the node's picture, the most important first."""
    matched = [{one.edge.id: one for one in explanation.matched_edges(vote)} for vote in shown]
    rows = []
    for edge, importance, numbers in zip(view.edge_ids.tolist(), view.similarity.tolist(), view.numbers):
        matches = tuple(of_case.get(edge) for of_case in matched)
        rows.append(EdgeRow(numbers[0] if numbers else None, explanation.edges[edge], importance, matches))
    return sorted(rows, key=lambda row: -np.nan_to_num(row.importance, nan=-np.inf))
