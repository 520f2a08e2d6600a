"""The picture of a pair of nodes: the two in the middle, and their neighbors at both sides.

A neighbor that votes is joined by a dashed line with the end that it is similar to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from se_gnn.display.text import shorten
from se_gnn.explain.explanation import NodeInfo

if TYPE_CHECKING:  # links are learned with scikit-learn, which takes a second to import
    from se_gnn.links import NeighborVote, PairExplanation
    from se_gnn.links.explain import End

WIDTH, STEP, TOP, LONGEST = 720, 26, 24, 18
COLUMNS: dict[End, int] = {"source": 150, "target": WIDTH - 150}  # where neighbors stand
ENDS: dict[End, int] = {"source": 290, "target": WIDTH - 290}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A node of the picture: a neighbor, or one of the two ends."""

    x: float
    y: float
    text: str
    end: End
    vote: NeighborVote | None


@dataclass(frozen=True, slots=True)
class PairPart:
    """The picture of a pair."""

    explanation: PairExplanation
    width: int
    ends: tuple[Drawn, Drawn]
    neighbors: tuple[Drawn, ...]
    hidden: dict[End, int]  # neighbors that are not drawn
    height: float


def pair_part(explanation: PairExplanation) -> PairPart:
    """What is drawn of one pair; neighbors that vote come first."""
    query = explanation.query
    ends: dict[End, NodeInfo] = {"source": query.source, "target": query.target}
    drawn: list[Drawn] = []
    hidden: dict[End, int] = {}
    for end in ends:
        votes, others = explanation.votes_of(end), explanation.others[end]
        shown = [*((vote.node, vote) for vote in votes), *((node, None) for node in others)]
        hidden[end] = explanation.num_neighbors[end] - len(shown)
        for i, (node, vote) in enumerate(shown):
            drawn.append(Drawn(COLUMNS[end], TOP + STEP * i, shorten(node.caption, LONGEST), end, vote))
    height = max((one.y for one in drawn), default=TOP) + TOP
    middle = [Drawn(ENDS[end], height / 2, shorten(node.caption, LONGEST), end, None) for end, node in ends.items()]
    return PairPart(
        explanation=explanation,
        width=WIDTH,
        ends=(middle[0], middle[1]),
        neighbors=tuple(drawn),
        hidden=hidden,
        height=height,
    )
