"""All that the page says of one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from se_gnn.explain import Explainer, Explanation, Neighbor
from se_gnn.explain.shared_attributes import SharedAttributes, shared_attributes
from se_gnn.graph.attributed import IntArray
from se_gnn.model import TrainedModel
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.svg import LocalGraphPicture, local_graph_pictures, own_links
from se_gnn.report.side_by_side import SideBySide, side_by_side
from se_gnn.report.vote import Vote, vote_of
from se_gnn.report.what_if import Removal, smallest_removal
from se_gnn.report.words import Word, sentence_words
from se_gnn.similarity import compare

SHARED_ATTRIBUTES = 8


class Match(NamedTuple):
    """An edge of a neighbor that one of the node's is matched with."""

    edge: tuple[int, int]
    similarity: float
    well: bool
    same: bool  # it is the node's own edge: both local graphs hold it


class EdgeRow(NamedTuple):
    """An edge of the node beside its match in each of the shown neighbors."""

    position: int  # among the node's edges; what pictures and table are linked by
    number: int | None
    edge: tuple[int, int]
    importance: float
    matches: tuple[Match | None, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodePart:
    """One explained node."""

    explanation: Explanation
    words: list[Word]
    vote: Vote
    shown: tuple[Neighbor, ...]
    pictures: list[LocalGraphPicture]
    edges: list[EdgeRow]
    shared: list[SharedAttributes]  # with each of the shown neighbors
    values: SideBySide
    deciding: list[Neighbor]  # each of them decides the prediction alone
    weightiest: Neighbor  # the one without which the predicted class would be least probable
    removal: Removal | None
    removed: list[int]  # node ids of the removal


def node_parts(trained: TrainedModel, nodes: IntArray, k: int, *, progress: bool) -> Iterator[NodePart]:
    """Explain nodes one by one; ``k`` neighbors of each come with their pictures and matched edges."""
    explainer = Explainer(trained)
    settings, graph = trained.config.similarity, trained.graph
    plan = trained.voter.plan(nodes)
    overall = compare(trained.embeddings, plan, settings, max_memory=trained.max_memory).overall.detach()  # [T, L]
    for i, node in enumerate(tqdm(nodes.tolist(), desc="explaining", unit="node", disable=not progress)):
        explanation = explainer.explain(node, k)
        similar = overall[i].clone()
        similar[graph.train == node] = -np.inf  # a labeled node does not vote for itself
        removal = smallest_removal(similar, trained.voter.labels, graph.num_classes, settings)
        yield _node_part(trained, explanation, k, removal)


def _node_part(trained: TrainedModel, explanation: Explanation, k: int, removal: Removal | None) -> NodePart:
    graph, shown = trained.graph, explanation.neighbors[:k]
    pictures = local_graph_pictures(explanation, graph, num_neighbors=k)
    less = [one.without[explanation.predicted] for one in explanation.neighbors]
    return NodePart(
        explanation=explanation,
        words=sentence_words(explanation),
        vote=vote_of(explanation),
        shown=shown,
        pictures=pictures,
        edges=_edge_rows(explanation, shown, pictures[0].view),
        shared=[shared_attributes(trained, explanation.node, one.node, SHARED_ATTRIBUTES) for one in shown],
        values=side_by_side(graph, explanation.node, [one.node for one in shown]),
        deciding=[
            one
            for one in explanation.neighbors
            if any(one.without) and int(np.argmax(one.without)) != explanation.predicted
        ],
        weightiest=explanation.neighbors[int(np.argmin(less))],
        removal=removal,
        removed=[] if removal is None else graph.train[removal.positions].tolist(),
    )


def _edge_rows(explanation: Explanation, shown: Sequence[Neighbor], view: LocalView) -> list[EdgeRow]:
    """The edges in the node's picture, the most important first."""
    links = own_links(explanation, view)
    rows = []
    for (u, v), numbers in zip(view.edges.tolist(), view.numbers):
        position = links[(u, v)][0]
        matches = tuple(_match(one, (u, v), position) for one in shown)
        importance = float(explanation.importance[position])
        rows.append(EdgeRow(position, numbers[0] if numbers else None, (u, v), importance, matches))
    return sorted(rows, key=lambda row: -np.nan_to_num(row.importance, nan=-np.inf))


def _match(neighbor: Neighbor, edge: tuple[int, int], position: int) -> Match | None:
    matches = neighbor.matches
    if matches is None or not len(matches):
        return None
    u, v = matches.matched[position].tolist()
    return Match((u, v), float(matches.similarity[position]), bool(matches.well[position]), (u, v) == edge)
