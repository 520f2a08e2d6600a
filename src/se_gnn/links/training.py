"""Learns the weights that score pairs: of each attribute, and of each side by its number of neighbors.

Links are hidden in ten parts. Each hidden link competes with tempting pairs that share one of its ends, in a softmax
over their scores. While a part is hidden, neighbors, local graphs and the choice of these pairs do not contain it. A
penalty keeps the weights near their initial values: they are only refined. Everything runs in float64 on one thread, in
a fixed order. Shapes: n links, M pairs for each (the link first), F attributes, p distinct pairs of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from se_gnn.compiled_code import compiled
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.links.negatives import hard_negatives, num_negatives
from se_gnn.links.pairs import Links, Voters, starts
from se_gnn.links.scoring import Attributes, SideWeights, top
from se_gnn.progress import bar

PARTS = 10
MOST_LINKS = 4000  # that are learned from, drawn if there are more
MOST_VOTERS = 1 << 24  # that are compared in a round
HARDEST = 100  # of the tempting pairs, by the score at the beginning of a round, are learned from
ROUNDS, STEPS = 3, 30
RATE = 0.03  # of Adam
PULL = 1.5  # towards the initial weights of attributes, for all links together
SIDE_PULL = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Hidden links against tempting pairs.

    Shapes:
        - **ends:** :math:`(n, M, 2)`, **alike** (whether the ends can be compared): :math:`(n, M)`
        - **sides:** the neighbors of the sources of all pairs that may vote, and those of the targets
    """

    ends: IntArray
    alike: Float64Array
    sides: tuple[Voters, ...]

    @property
    def rows(self) -> IntArray:
        """Which side weights count, [n, M, 2]."""
        rows = [SideWeights.initial().rows(side.counts) for side in self.sides]
        return np.stack(rows, axis=-1).reshape(self.ends.shape)


def _joined(parts: Sequence[Voters]) -> Voters:
    """The rows of several, one after the other."""
    arrays = (np.concatenate([getattr(one, name) for one in parts]) for name in ("nodes", "shares", "others"))
    return Voters(starts(np.concatenate([one.counts for one in parts])), *arrays)


def learn(
    links: list[Links], attributes: Attributes, *, seed: int, progress: bool = False
) -> tuple[Attributes, SideWeights]:
    """The attributes with learned weights, and the side weights."""
    sides = SideWeights.initial()
    contest = make_contest(links, attributes, seed=seed)
    initial, count = np.log(attributes.weights), len(contest.ends)
    adam = _Adam(len(initial) + 10)
    values = np.concatenate([np.zeros(len(initial)), np.log(np.maximum([*sides.neighbor, *sides.direct], 1e-6))])
    start = values.copy()
    pull = np.concatenate([np.full(len(initial), PULL), np.full(10, SIDE_PULL)]) / count
    with bar(total=ROUNDS * STEPS, name="learning", unit="step", shown=progress) as shown:
        for _ in range(ROUNDS):
            weighted = attributes.weighted(np.exp(initial + values[:-10]))
            pairs, match = _hardest(contest, weighted, np.exp(values[-10:]))
            system = _System(attributes.matrix, pairs)
            for _ in range(STEPS):
                gradient = _gradient(match, system, initial, values)
                values = values - RATE * adam.step(gradient + 2 * pull * (values - start))
                shown.update()
    table = np.exp(values[-10:])
    table[0] = 0.0  # a side without neighbors
    return attributes.weighted(np.exp(initial + values[:-10])), SideWeights(table[:5], table[5:])


def make_contest(links: list[Links], attributes: Attributes, *, seed: int) -> Contest:
    """Hide links of all types part by part, and find tempting pairs for each."""
    generator = np.random.default_rng([seed, 1])
    total = sum(len(one.pairs) for one in links)
    parts = []
    for one in links:
        wanted = min(len(one.pairs), max(PARTS, round(MOST_LINKS * len(one.pairs) / total)))
        chosen = one.pairs[generator.permutation(len(one.pairs))[:wanted]]
        for part in range(min(PARTS, len(chosen))):
            hidden = chosen[part::PARTS]
            known = one.without(hidden)
            own = _against(known, hidden, attributes, generator)
            parts.append((own, known.voters(own.reshape(-1, 2))))
    ends = np.concatenate([own for own, _ in parts])  # [n, M, 2]
    types = links[0].types[ends]
    sides = zip(*(voters for _, voters in parts))
    return Contest(ends, (types[..., 0] == types[..., 1]).astype(np.float64), tuple(map(_joined, sides)))


def _against(known: Links, hidden: IntArray, attributes: Attributes, generator: np.random.Generator) -> IntArray:
    """One part of the links, each before its tempting pairs, [n, M, 2]: as many links as can be compared."""
    tempting = hard_negatives(known, hidden, num_negatives(known.graph), attributes.unit, generator)
    ends = np.concatenate([hidden[:, None], tempting], axis=1)  # [n, M, 2]
    most = MOST_VOTERS // PARTS
    spent = known.ahead.counts[ends[..., 0]] + known.behind.counts[ends[..., 1]]
    if spent.sum() > most:  # hubs: fewer links are compared
        ends = ends[: max(1, int(np.searchsorted(np.cumsum(spent.sum(axis=1)), most)))]
    return ends


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """What the scores of a round are made of: the ends, the source's nearest neighbor, the target's; [n, M, 3]."""

    place: IntArray  # of each similarity among the distinct pairs of nodes
    shares: Float64Array  # that it counts with
    rows: IntArray  # of the side weights, [n, M, 2]


def _hardest(contest: Contest, attributes: Attributes, table: Float64Array) -> tuple[IntArray, _Match]:
    """Each link with the pairs of the highest scores now, and the distinct pairs of nodes that are compared, [p, 2]."""
    unit, flat = attributes.unit, contest.ends.reshape(-1, 2)
    arrays = (unit.indptr.astype(np.int64), unit.indices.astype(np.int64), unit.data)
    asked, shares, values = [flat], [contest.alike.ravel()], [cosines(*arrays, *flat.T)]
    for side in contest.sides:
        support = cosines(*arrays, side.nodes, side.others) * side.shares
        nearest = top(side.ptr, support.astype(np.float32), 1)[:, 0]
        some = np.flatnonzero(nearest >= 0)  # pairs with a neighbor that votes
        own, pair, share, value = nearest[some], flat.copy(), np.zeros(len(flat)), np.zeros(len(flat))
        pair[some, 0], pair[some, 1] = side.nodes[own], side.others[own]
        share[some], value[some] = side.shares[own], support[own]
        asked, shares, values = [*asked, pair], [*shares, share], [*values, value]
    shape, all_rows = contest.ends.shape[:2], contest.rows
    values[0] = values[0] * shares[0]
    scores = (np.stack(values, axis=-1).reshape(*shape, 3) * _factors(all_rows, table)).sum(axis=-1)
    hard = 1 + np.argsort(-scores[:, 1:], axis=1, kind="stable")[:, :HARDEST]
    kept = np.concatenate([np.zeros((len(hard), 1), np.int64), hard], axis=1)  # the link itself first
    index = (np.arange(len(kept))[:, None] * shape[1] + kept).ravel()
    num_nodes = unit.shape[0]
    keys = np.stack([one.min(axis=1) * num_nodes + one.max(axis=1) for one in asked], axis=1)[index]
    distinct, place = np.unique(keys, return_inverse=True)
    small = (*kept.shape, 3)
    rows = all_rows.reshape(-1, 2)[index].reshape(*kept.shape, 2)
    match = _Match(place.reshape(small), np.stack(shares, axis=1)[index].reshape(small), rows)
    return np.stack([distinct // num_nodes, distinct % num_nodes], axis=1), match


def _factors(rows: IntArray, table: Float64Array) -> Float64Array:
    """What the similarity of the ends, and of the nearest neighbor of each side, counts: [..., 2] to [..., 3]."""
    neighbor, direct = table[:5], table[5:]
    source, target = rows[..., 0], rows[..., 1]
    return np.stack([direct[source] + direct[target], neighbor[source], neighbor[target]], axis=-1)


class _System:
    """Cosines of listed pairs as functions of the squared attribute weights, and back."""

    def __init__(self, matrix: Any, pairs: IntArray) -> None:
        self.first, self.second = pairs.T
        self.products = sp.csr_array(matrix[self.first].multiply(matrix[self.second]))  # [p, F]
        self.squares = sp.csr_array(matrix.multiply(matrix))  # [N, F]
        self.products_back, self.squares_back = self.products.T.tocsr(), self.squares.T.tocsr()

    def cosines(self, squared: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Cosine of each pair, [p], the lengths it is divided by, and the squared length of each node."""
        lengths = np.maximum(self.squares @ squared, 1e-12)
        divided = np.sqrt(lengths[self.first] * lengths[self.second])
        return (self.products @ squared) / divided, divided, lengths

    def back(
        self, gradient: Float64Array, cosines: Float64Array, divided: Float64Array, lengths: Float64Array
    ) -> Float64Array:
        """Gradient to the squared weights, [F], from that to the cosines, [p]."""
        pull, count = gradient * cosines, len(lengths)
        own = np.bincount(self.first, pull, minlength=count) + np.bincount(self.second, pull, minlength=count)
        found: Float64Array = self.products_back @ (gradient / divided) - self.squares_back @ (own / lengths) / 2
        return found


def _gradient(match: _Match, system: _System, initial: Float64Array, values: Float64Array) -> Float64Array:
    """Gradient of the mean loss, softmax over the pairs of each link, to the logarithms of all weights."""
    squared, table = np.exp(2 * (initial + values[:-10])), np.exp(values[-10:])
    found, divided, lengths = system.cosines(squared)
    support, factors = found[match.place] * match.shares, _factors(match.rows, table)  # [n, M, 3]
    scores = (support * factors).sum(axis=-1)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    pull = odds / odds.sum(axis=1, keepdims=True)
    pull[:, 0] -= 1
    pull /= len(pull)  # [n, M]: gradient to the scores
    weights = (pull[..., None] * factors * match.shares).ravel()
    to_cosines: Float64Array = np.bincount(match.place.ravel(), weights, minlength=len(found)).astype(np.float64)
    to_squared = system.back(to_cosines, found, divided, lengths)
    to_table = np.zeros(10)
    for side in range(2):
        rows = match.rows[..., side].ravel()
        to_table[:5] += np.bincount(rows, (pull * support[..., 1 + side]).ravel(), minlength=5)
        to_table[5:] += np.bincount(rows, (pull * support[..., 0]).ravel(), minlength=5)
    return np.concatenate([2 * squared * to_squared, table * to_table])


class _Adam:
    def __init__(self, size: int) -> None:
        self.mean, self.square, self.count = np.zeros(size), np.zeros(size), 0

    def step(self, gradient: Float64Array) -> Float64Array:
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        mean, square = self.mean / (1 - 0.9**self.count), self.square / (1 - 0.999**self.count)
        found: Float64Array = mean / (np.sqrt(square) + 1e-8)
        return found


@compiled(parallel=True)
def cosines(ptr: IntArray, columns: IntArray, data: Float64Array, first: IntArray, second: IntArray) -> Float64Array:
    """Products of listed rows of a sparse matrix with sorted columns, [m]."""
    found = np.empty(len(first))
    for m in numba.prange(len(first)):
        i, j = ptr[first[m]], ptr[second[m]]
        total = 0.0
        while i < ptr[first[m] + 1] and j < ptr[second[m] + 1]:
            if columns[i] == columns[j]:
                total += data[i] * data[j]
                i += 1
                j += 1
            elif columns[i] < columns[j]:
                i += 1
            else:
                j += 1
        found[m] = total
    return found
