"""All that the page says of one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from se_gnn.display import node_values
from se_gnn.explain import Explainer, Explanation, Neighbor, Removal, SharedAttributes
from se_gnn.explain.attributes import attributes_of, has_attribute_names
from se_gnn.explain.sentence import Word
from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import IntArray
from se_gnn.model import TrainedModel
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.svg import LocalGraphPicture, local_graph_pictures
from se_gnn.report.vote import Vote, vote_of

OWN_ATTRIBUTES = 12


class Relation(NamedTuple):
    """An edge of a neighbor that one of the node's is matched with."""

    edge: tuple[int, int]
    similarity: float
    well: bool
    same: bool  # it is the node's own edge: both local graphs hold it


class RelationRow(NamedTuple):
    """An edge of the node beside its match in each of the shown neighbors."""

    edge_id: int  # what pictures and table are linked by
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
    for node in tqdm(nodes.tolist(), desc="explaining", unit="node", disable=not progress):
        yield _node_part(explainer.explain(node, k), k)


def _node_part(explanation: Explanation, k: int) -> NodePart:
    shown = explanation.neighbors[:k]
    pictures = local_graph_pictures(explanation, num_neighbors=k)
    attributes = _own_attributes(explanation.graph, explanation.node)
    removal = explanation.smallest_removal
    return NodePart(
        explanation=explanation,
        words=explanation.words(),
        vote=vote_of(explanation),
        shown=shown,
        pictures=pictures,
        relations=_relations(explanation, shown, pictures[0].view),
        shared=list(explanation.shared_attributes),
        attributes=attributes[:OWN_ATTRIBUTES],
        more_attributes=max(0, len(attributes) - OWN_ATTRIBUTES),
        deciding=list(explanation.deciding),
        weightiest=explanation.weightiest,
        removal=removal,
        removed=[] if removal is None else removal.nodes.tolist(),
    )


def _relations(explanation: Explanation, shown: Sequence[Neighbor], view: LocalView) -> list[RelationRow]:
    """The edges in the node's picture, the most important first."""
    rows = []
    for edge, importance, numbers in zip(view.edge_ids.tolist(), view.similarity.tolist(), view.numbers):
        matches = tuple(_match(one, edge, explanation) for one in shown)
        number = numbers[0] if numbers else None
        rows.append(RelationRow(edge, number, _ends(explanation, edge), importance, matches))
    return sorted(rows, key=lambda row: -np.nan_to_num(row.importance, nan=-np.inf))


def _match(neighbor: Neighbor, edge: int, explanation: Explanation) -> Relation | None:
    matches = neighbor.matches
    if matches is None or not len(matches):
        return None
    row = int(np.searchsorted(matches.edge_ids, edge))  # ascending, as the local graph is
    matched = int(matches.matched_ids[row])
    ends = _ends(explanation, matched)
    return Relation(ends, float(matches.similarity[row]), bool(matches.well[row]), matched == edge)


def _ends(explanation: Explanation, edge: int) -> tuple[int, int]:
    u, v = explanation.graph.edges[edge].tolist()
    return u, v


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
