"""All that the page says of one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from se_gnn.display import node_values
from se_gnn.explain import Explainer, Explanation, Neighbor
from se_gnn.explain.attributes import attributes_of, has_attribute_names
from se_gnn.explain.shared_attributes import SharedAttributes, shared_attributes
from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import IntArray
from se_gnn.model import TrainedModel
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.svg import LocalGraphPicture, local_graph_pictures, own_links
from se_gnn.report.vote import Vote, vote_of
from se_gnn.report.what_if import Removal, smallest_removal
from se_gnn.report.words import Word, sentence_words
from se_gnn.similarity import compare

SHARED_ATTRIBUTES = 8
OWN_ATTRIBUTES = 12


class Relation(NamedTuple):
    """An edge of a neighbor that one of the node's is matched with."""

    edge: tuple[int, int]
    similarity: float
    well: bool
    same: bool  # it is the node's own edge: both local graphs hold it


class RelationRow(NamedTuple):
    """An edge of the node beside its match in each of the shown neighbors."""

    position: int  # among the node's edges; what pictures and table are linked by
    number: int | None
    edge: tuple[int, int]
    importance: float
    matches: tuple[Relation | None, ...]


class OwnAttribute(NamedTuple):
    """An attribute of a node with its value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NodePart:
    """One explained node."""

    explanation: Explanation
    words: list[Word]
    vote: Vote
    shown: tuple[Neighbor, ...]
    pictures: list[LocalGraphPicture]
    relations: list[RelationRow]
    shared: list[SharedAttributes]  # with each of the shown neighbors
    attributes: list[OwnAttribute]
    more_attributes: int
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
    attributes = _own_attributes(graph, explanation.node)
    less = [one.without[explanation.predicted] for one in explanation.neighbors]
    return NodePart(
        explanation=explanation,
        words=sentence_words(explanation),
        vote=vote_of(explanation),
        shown=shown,
        pictures=pictures,
        relations=_relations(explanation, shown, pictures[0].view),
        shared=[shared_attributes(trained, explanation.node, one.node, SHARED_ATTRIBUTES) for one in shown],
        attributes=attributes[:OWN_ATTRIBUTES],
        more_attributes=max(0, len(attributes) - OWN_ATTRIBUTES),
        deciding=[
            one
            for one in explanation.neighbors
            if any(one.without) and int(np.argmax(one.without)) != explanation.predicted
        ],
        weightiest=explanation.neighbors[int(np.argmin(less))],
        removal=removal,
        removed=[] if removal is None else graph.train[removal.positions].tolist(),
    )


def _relations(explanation: Explanation, shown: Sequence[Neighbor], view: LocalView) -> list[RelationRow]:
    """The edges in the node's picture, the most important first."""
    links = own_links(explanation, view)
    rows = []
    for (u, v), numbers in zip(view.edges.tolist(), view.numbers):
        position = links[(u, v)][0]
        matches = tuple(_match(one, (u, v), position) for one in shown)
        importance = float(explanation.importance[position])
        rows.append(RelationRow(position, numbers[0] if numbers else None, (u, v), importance, matches))
    return sorted(rows, key=lambda row: -np.nan_to_num(row.importance, nan=-np.inf))


def _match(neighbor: Neighbor, edge: tuple[int, int], position: int) -> Relation | None:
    matches = neighbor.matches
    if matches is None or not len(matches):
        return None
    u, v = matches.matched[position].tolist()
    return Relation((u, v), float(matches.similarity[position]), bool(matches.well[position]), (u, v) == edge)


def _own_attributes(graph: AttributedGraph, node: int) -> list[OwnAttribute]:
    """What the data says of a node where its attributes have names; of words, those that are there."""
    if not has_attribute_names(graph) or graph.image_shape is not None:
        return []
    if graph.columns is not None:
        return [OwnAttribute(name, value) for name, value in node_values(graph, node).items()]
    known = attributes_of(graph)
    stored = graph.features[[node]]
    row = (stored if isinstance(stored, np.ndarray) else stored.toarray())[0]  # [F]
    there = np.unique(known.owner[~known.counts | (row != 0)]).tolist()
    return [OwnAttribute(one.name, one.show(row[list(one.features)])) for one in (known.all[i] for i in there)]
