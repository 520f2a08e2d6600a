"""The vote of an explanation as bars: places in percent of a bar's room."""

from __future__ import annotations

from dataclasses import dataclass

from se_gnn.explain import Explanation, Neighbor
from se_gnn.plot.vote import vote_bars

MOST_VOTES = 15  # single neighbors; the others are summed up by class


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar."""

    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Slice:
    """A class in the bar of all probabilities."""

    label: int
    probability: float
    piece: Piece


@dataclass(frozen=True, slots=True, eq=False)
class VoteRow:
    """One labeled neighbor, or those of a class that are not shown one by one: then ``neighbor`` and bars are None."""

    rank: int
    neighbor: Neighbor | None
    label: int
    weight: float
    count: int
    bar: Piece | None  # a sum of many beside single ones would look like the nearest
    node_term: Piece | None
    structure_term: Piece | None


@dataclass(frozen=True, slots=True, eq=False)
class Vote:
    """All of a vote."""

    slices: tuple[Slice, ...]
    rows: tuple[VoteRow, ...]
    zero: float  # where similarity 0 lies


def vote_of(explanation: Explanation) -> Vote:
    """Lay the vote out."""
    bars = vote_bars(explanation, MOST_VOTES)
    shown = [bar.neighbor for bar in bars if bar.neighbor is not None]
    ends = [0.0] + [end for one in shown for end in (one.node_term, one.structure_term, one.similarity)]
    low, high = min(ends), max(ends)
    scale = 100 / (high - low or 1)
    heaviest = max(one.weight for one in shown) or 1
    hidden = explanation.neighbors[len(shown) :]

    def piece(start: float, end: float) -> Piece:
        return Piece((min(start, end) - low) * scale, abs(end - start) * scale)

    def row(rank: int, label: int, weight: float, one: Neighbor | None) -> VoteRow:
        count = 1 if one is not None else sum(other.label == label for other in hidden)
        if one is None:
            return VoteRow(rank, one, label, weight, count, None, None, None)
        structure_term = None
        if one.structure_similarity is not None:
            start = one.node_term if one.node_term * one.structure_term > 0 else 0.0
            structure_term = piece(start, start + one.structure_term)
        bar = Piece(0, 100 * weight / heaviest)
        return VoteRow(rank, one, label, weight, count, bar, piece(0, one.node_term), structure_term)

    rows = tuple(row(rank, bar.label, bar.weight, bar.neighbor) for rank, bar in enumerate(bars, start=1))
    return Vote(tuple(_slices(explanation)), rows, -low * scale)


def _slices(explanation: Explanation) -> list[Slice]:
    """The probabilities side by side, highest first; classes that nobody votes for have no slice."""
    slices, start = [], 0.0
    for label in sorted(range(len(explanation.class_names)), key=lambda c: -explanation.probabilities[c]):
        share = explanation.probabilities[label]
        if share > 0:
            slices.append(Slice(label, share, Piece(100 * start, 100 * share)))
            start += share
    return slices
