"""Why a pair is likely to be linked, or not: plain data. Contributions add up to the log-odds exactly.

log-odds = base + direct + the sum over the neighbors that vote. Leaving a neighbor out gives the stated probability:
the next one votes in its place; embeddings stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from se_gnn.display.terminal import paragraph, table
from se_gnn.explain.attributes import Mentioned
from se_gnn.explain.explanation import NodeInfo
from se_gnn.explain.json_format import from_plain, to_plain
from se_gnn.graph import Graph
from se_gnn.links.model import LinkModel
from se_gnn.links.pairs import LinkType
from se_gnn.links.scoring import Side, top
from se_gnn.number_format import number, percent, tenths

JSON_FORMAT, JSON_VERSION = "se-gnn-pair", 1
MOST_OTHERS = 10  # neighbors of each end that do not vote and are named

End = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class NeighborVote:
    """A neighbor of one end that votes, because it is similar to the other end."""

    node: NodeInfo
    neighbor_of: End
    similarity: float
    node_similarity: float
    structure_similarity: float | None  # None: not compared, or one of the two has no edges
    share: float  # weight of its edge over the heaviest at that node; 1 without weights
    contribution: float  # to the log-odds
    without: float  # probability of the link if this neighbor did not vote


@dataclass(frozen=True, slots=True)
class PairInfo:
    """The pair in question."""

    source: NodeInfo
    target: NodeInfo
    type: str  # of the link; empty: there is one type only
    verb: str
    directed: bool
    known: bool  # whether the graph has this link already; it is hidden from its own explanation


@dataclass(frozen=True, slots=True)
class PairExplanation:
    """A pair, the probability that it is a link, and the neighbors it rests on."""

    query: PairInfo
    probability: float
    log_odds: float
    base: float  # of the log-odds: what a pair has without any similarity
    direct_similarity: float | None  # of the two nodes; None: they are of different node types
    direct: float  # contribution to the log-odds
    votes: tuple[NeighborVote, ...]  # largest contribution first
    others: Mapping[str, tuple[NodeInfo, ...]]  # of each end, some neighbors that do not vote
    num_neighbors: Mapping[str, int]  # of each end, all that could vote

    def votes_of(self, end: End) -> tuple[NeighborVote, ...]:
        """The votes of the neighbors of one end."""
        return tuple(vote for vote in self.votes if vote.neighbor_of == end)

    def compared_with(self, vote: NeighborVote) -> NodeInfo:
        """The end that a neighbor is similar to: the one that it is not a neighbor of."""
        return self.query.target if vote.neighbor_of == "source" else self.query.source

    def sentence(self) -> str:
        """The explanation in words."""
        query = self.query
        u, v = query.source.caption, query.target.caption
        text = f"{percent(self.probability)} chance that {u} {query.verb} {v}"
        text += " (the link exists, and was hidden)." if query.known else "."
        ends: tuple[tuple[End, str, str], ...] = (("source", u, v), ("target", v, u))
        for end, owner, other in ends:
            own = self.votes_of(end)
            if not own:
                text += f" {owner} has no other neighbor that could vote."
                continue
            names = " and ".join(f"{vote.node.caption} (similarity to {other}: {vote.similarity:.2f})" for vote in own)
            if not query.directed:
                text += f" {owner} is already linked with {names}."
            elif end == "source":
                text += f" {owner} already {query.verb} {names}."
            else:
                text += f" Already linked to {owner}: {names}."
        if self.direct_similarity is not None:
            text += f" The similarity of {u} and {v} is {self.direct_similarity:.2f}."
        return text

    def to_text(self) -> str:
        """What `se-gnn explain` prints: the sentence, the votes as a table, and the sum that they are part of."""
        ends = {"source": self.query.source, "target": self.query.target}
        rows = [
            [
                vote.node.caption,
                ends[vote.neighbor_of].caption,
                self.compared_with(vote).caption,
                number(vote.similarity),
                f"{vote.contribution:+.2f}",
                tenths(vote.without),
            ]
            for vote in self.votes
        ]
        header = ["neighbor", "of", "compared with", "similarity", "log-odds", "without it"]
        terms = [f"{self.base:+.2f} for any pair"]
        if self.direct_similarity is not None:
            terms.append(f"{self.direct:+.2f} for the similarity of the two ({self.direct_similarity:.2f})")
        terms += [f"{vote.contribution:+.2f}" for vote in self.votes]
        note = "'without it' is the probability if that neighbor did not vote; embeddings stay as they are."
        parts = [paragraph(self.sentence()), table(header, rows, names=(0, 1, 2)) if rows else ""]
        parts += [paragraph(f"Log-odds {self.log_odds:+.2f} = {' '.join(terms)}"), paragraph(note) if rows else ""]
        return "\n\n".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        return {"format": JSON_FORMAT, "version": JSON_VERSION, **to_plain(self)}

    def to_json(self) -> str:
        """As JSON; :meth:`from_dict` reads it back."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PairExplanation:
        """Read back what :meth:`to_dict` wrote."""
        return from_plain(cls, values, JSON_FORMAT, JSON_VERSION, "an explanation of a pair")


def explain_pair(model: LinkModel, source: int, target: int, kind: LinkType) -> PairExplanation:
    """Explain one pair; if it is linked already, that link is hidden."""
    graph, settings = model.graph, model.settings
    terms = model.terms(np.array([source, target]), kind)
    score = float(terms.scores(model.sides, settings.num_nearest)[0])
    sides: dict[End, Side] = {"source": terms.sides[0], "target": terms.sides[1]}
    nearest = {end: top(side.voters.ptr, side.support, settings.num_nearest)[0] for end, side in sides.items()}
    voting = {end: places[places >= 0] for end, places in nearest.items()}
    others = {end: np.delete(side.voters.nodes, voting[end])[:MOST_OTHERS].tolist() for end, side in sides.items()}
    in_full = [source, target, *(int(sides[end].voters.nodes[place]) for end in sides for place in voting[end])]
    nodes = Mentioned(graph).nodes([node for some in others.values() for node in some], in_full)
    votes, direct, similarity = [], 0.0, float(terms.direct.overall[0])
    for end, side in sides.items():
        row = int(model.sides.rows(side.voters.counts)[0])
        direct += float(model.sides.direct[row]) * similarity
        for place in voting[end].tolist():
            structure = float(side.found.structure[place])
            share = float(model.sides.neighbor[row]) * float(side.support[place]) / len(voting[end])
            without = terms.scores(model.sides, settings.num_nearest, left_out=(side, place))
            votes.append(
                NeighborVote(
                    node=nodes[int(side.voters.nodes[place])],
                    neighbor_of=end,
                    similarity=float(side.found.overall[place]),
                    node_similarity=float(side.found.node[place]),
                    structure_similarity=structure if np.isfinite(structure) else None,
                    share=float(side.voters.shares[place]),
                    contribution=settings.scale * share,
                    without=float(settings.probabilities(without)[0]),
                )
            )
    alike = graph.node_types is None or graph.node_types[source] == graph.node_types[target]
    known = bool(model.scorer(kind).links.exist(np.array([[source, target]]))[0])
    return PairExplanation(
        query=PairInfo(nodes[source], nodes[target], kind.name, _verb(graph, kind), kind.directed, known),
        probability=float(settings.probabilities(np.array([score]))[0]),
        log_odds=settings.offset + settings.scale * score,
        base=settings.offset,
        direct_similarity=similarity if alike else None,
        direct=settings.scale * direct,
        votes=tuple(sorted(votes, key=lambda vote: (-vote.contribution, vote.node.id))),
        others={end: tuple(nodes[node] for node in some) for end, some in others.items()},
        num_neighbors={end: int(side.voters.counts[0]) for end, side in sides.items()},
    )


def _verb(graph: Graph, kind: LinkType) -> str:
    values = graph.edge_values
    if kind.edge_type is not None and values is not None:
        return values.verb(kind.edge_type)
    return "links to" if kind.directed else "is linked with"
