"""All that the page says of one node: its explanation, laid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from se_gnn.explain import CRUCIAL_EDGES, Explainer, Explanation, Neighbor
from se_gnn.explain.edge_text import EdgeText, agreeing_facts, edge_text
from se_gnn.explain.side_by_side import SideBySide, side_by_side
from se_gnn.graph.arrays import IntArray
from se_gnn.model import TrainedModel
from se_gnn.plot.edge_style import shown_kinds
from se_gnn.plot.local_view import LocalView, chosen_neighbors
from se_gnn.plot.svg import Href, LocalGraphPicture, local_graph_pictures
from se_gnn.report.vote import Vote, vote_of


class Match(NamedTuple):
    """An edge of a neighbor that one of the node's is matched with."""

    edge: EdgeText | None  # None: the neighbor has none that may match
    alike: tuple[str, ...]  # what both edges carry alike
    similarity: float  # of the two edges, not the best that the neighbor's edge has
    well: bool
    same: bool  # it is the node's own edge: both local graphs hold it


class EdgeRow(NamedTuple):
    """An edge of the node beside its match in each of the shown neighbors."""

    edge_id: int  # what pictures and table are linked by
    number: int | None
    edge: EdgeText
    importance: float
    matches: tuple[Match | None, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodePart:
    """One explained node."""

    explanation: Explanation
    vote: Vote
    shown: tuple[Neighbor, ...]
    pictures: list[LocalGraphPicture]
    edges: list[EdgeRow]
    kinds: dict[int, str]  # types of the edges in the pictures
    values: SideBySide


def node_parts(trained: TrainedModel, nodes: IntArray, k: int, *, progress: bool) -> Iterator[NodePart]:
    """Explain nodes one by one; ``k`` neighbors of each come with their pictures and matched edges."""
    explainer = Explainer(trained)
    for node in tqdm(nodes.tolist(), desc="explaining", unit="node", disable=not progress):
        yield node_part(explainer.explain(node, k), k)


def node_part(
    explanation: Explanation,
    k: int | Sequence[int],
    *,
    crucial_edges: int = CRUCIAL_EDGES,
    href: Href | None = None,
) -> NodePart:
    """Lay out one explanation with its ``k`` nearest labeled nodes, or those of some ranks; they are explained in full.

    ``href`` says where a node in a picture leads.
    """
    shown = chosen_neighbors(explanation, k)
    pictures = local_graph_pictures(explanation, num_neighbors=k, crucial_edges=crucial_edges, href=href)
    return NodePart(
        explanation=explanation,
        vote=vote_of(explanation),
        shown=shown,
        pictures=pictures,
        edges=_edge_rows(explanation, shown, pictures[0].view),
        kinds=shown_kinds(explanation.graph, *(picture.view.edge_ids for picture in pictures)),
        values=side_by_side(explanation.graph, explanation.node, [one.node for one in shown]),
    )


def _edge_rows(explanation: Explanation, shown: Sequence[Neighbor], view: LocalView) -> list[EdgeRow]:
    """The edges in the node's picture, the most important first."""
    rows = []
    for edge, importance, numbers in zip(view.edge_ids.tolist(), view.similarity.tolist(), view.numbers):
        matches = tuple(_match(one, edge, explanation) for one in shown)
        text = edge_text(explanation.graph, edge)
        rows.append(EdgeRow(edge, numbers[0] if numbers else None, text, importance, matches))
    return sorted(rows, key=lambda row: -np.nan_to_num(row.importance, nan=-np.inf))


def _match(neighbor: Neighbor, edge: int, explanation: Explanation) -> Match | None:
    matches = neighbor.matches
    if matches is None or not len(matches):
        return None
    row = int(np.searchsorted(matches.edge_ids, edge))  # ascending, as the local graph is
    matched, graph = int(matches.matched_ids[row]), explanation.graph
    text = edge_text(graph, matched) if matched >= 0 else None
    alike = agreeing_facts(graph, edge, matched) if matched >= 0 else ()
    return Match(text, alike, float(matches.similarity[row]), bool(matches.above_average[row]), matched == edge)
