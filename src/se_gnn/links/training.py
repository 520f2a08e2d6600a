"""Learns the weights that score pairs: of each attribute, and of each side by its number of neighbors.

Links are hidden in ten parts. Each hidden link competes with tempting pairs that share one of its ends, in a softmax
over their scores. While a part is hidden, neighbors, local graphs and the choice of these pairs do not contain it. A
penalty keeps the weights near their initial values: they are only refined. All sums run in a fixed order.
Shapes: n links, M pairs for each (the link first), F attributes, p distinct pairs of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.graph.arrays import Float64Array, IntArray, row_starts
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.links.negatives import hard_negatives, num_negatives
from se_gnn.links.pairs import Links, Voters
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
    """Hidden links against tempting pairs."""

    ends: IntArray  # [n, M, 2]
    alike: Float64Array  # whether the ends can be compared, [n, M]
    sides: tuple[Voters, ...]  # the neighbors of the sources of all pairs that may vote, and those of the targets

    @property
    def rows(self) -> IntArray:
        """Which side weights count, [n, M, 2]."""
        rows = [SideWeights.initial().rows(side.counts) for side in self.sides]
        return np.stack(rows, axis=-1).reshape(self.ends.shape)


def _joined(parts: Sequence[Voters]) -> Voters:
    """The rows of several, one after the other."""
    arrays = (np.concatenate([getattr(one, name) for one in parts]) for name in ("nodes", "shares", "others"))
    return Voters(row_starts(np.concatenate([one.counts for one in parts])), *arrays)


def learn(
    links: list[Links], attributes: Attributes, *, seed: int, progress: bool = False
) -> tuple[Attributes, SideWeights]:
    """The attributes with learned weights, and the side weights."""
    sides = SideWeights.initial()
    contest = make_contest(links, attributes, seed=seed)
    start = [np.log(attributes.weights), np.log(np.maximum([sides.neighbor, sides.direct], 1e-6))]
    initial = [torch.from_numpy(one).float() for one in start]
    weights, table = learned = [one.clone().requires_grad_() for one in initial]
    adam = torch.optim.Adam(learned, RATE)
    with bar(total=ROUNDS * STEPS, name="learning", unit="step", shown=progress) as shown:
        for _ in range(ROUNDS):
            loss = _hardest(contest, attributes.weighted(_exp(weights)), table.detach().exp())
            for _ in range(STEPS):
                adam.zero_grad()
                away = [((one - was) ** 2).sum() for one, was in zip(learned, initial)]
                total = loss(weights, table) + (PULL * away[0] + SIDE_PULL * away[1]) / len(contest.ends)
                total.backward()  # type: ignore[no-untyped-call]
                adam.step()
                shown.update()
    neighbor, direct = _exp(table)
    neighbor[0] = 0.0  # a side without neighbors
    return attributes.weighted(_exp(weights)), SideWeights(neighbor, direct)


def _exp(logarithms: Tensor) -> Float64Array:
    return logarithms.detach().double().exp().numpy()


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


class _Loss:
    """Links against the hardest pairs of a round, as a function of the logarithms of all weights.

    A score is made of three similarities: of the ends, and of the nearest neighbor of each side with the other end.

    Args:
        matrix: attributes before they are weighted, [N, F].
        pairs: the distinct pairs of nodes that are compared, [p, 2].
        place: of each similarity among these pairs, [n, M, 3].
        shares: that it counts with, [n, M, 3].
        rows: of the side weights, [n, M, 2].
    """

    def __init__(self, matrix: Any, pairs: IntArray, place: IntArray, shares: Float64Array, rows: IntArray) -> None:
        self.products = SparseMatrix.from_scipy(matrix[pairs[:, 0]].multiply(matrix[pairs[:, 1]]))  # [p, F]
        self.squares = SparseMatrix.from_scipy(matrix.multiply(matrix))  # [N, F]
        self.pairs, self.place, self.rows = (torch.from_numpy(one) for one in (pairs, place, rows))
        self.shares = torch.from_numpy(shares).float()

    def __call__(self, weights: Tensor, table: Tensor) -> Tensor:
        """The mean over the links of the negative logarithm of their softmax among their pairs."""
        squared = (2 * weights).exp()[:, None]  # [F, 1]
        lengths = (self.squares @ squared)[:, 0].clamp_min(1e-12).sqrt()  # [N]
        first, second = (lengths.index_select(0, ends) for ends in self.pairs.T)
        cosines = (self.products @ squared)[:, 0] / (first * second)  # [p]
        similar = cosines.index_select(0, self.place.view(-1)).view_as(self.place) * self.shares  # [n, M, 3]
        scores = (similar * _factors(self.rows, table.exp())).sum(dim=-1)
        return torch.nn.functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long))


def _hardest(contest: Contest, attributes: Attributes, table: Tensor) -> _Loss:
    """Each link against the pairs of the highest scores now."""
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
    factors = _factors(torch.from_numpy(all_rows), table).numpy()
    scores = (np.stack(values, axis=-1).reshape(*shape, 3) * factors).sum(axis=-1)
    hard = 1 + np.argsort(-scores[:, 1:], axis=1, kind="stable")[:, :HARDEST]
    kept = np.concatenate([np.zeros((len(hard), 1), np.int64), hard], axis=1)  # the link itself first
    index = (np.arange(len(kept))[:, None] * shape[1] + kept).ravel()
    num_nodes = unit.shape[0]
    keys = np.stack([one.min(axis=1) * num_nodes + one.max(axis=1) for one in asked], axis=1)[index]
    distinct, place = np.unique(keys, return_inverse=True)
    pairs, small = np.stack([distinct // num_nodes, distinct % num_nodes], axis=1), (*kept.shape, 3)
    chosen = all_rows.reshape(-1, 2)[index].reshape(*kept.shape, 2)
    return _Loss(attributes.matrix, pairs, place.reshape(small), np.stack(shares, axis=1)[index].reshape(small), chosen)


def _factors(sides: Tensor, table: Tensor) -> Tensor:
    """What the similarity of the ends, and of the nearest neighbor of each side, counts: [..., 2] to [..., 3]."""
    neighbor, direct = (one.index_select(0, sides.reshape(-1)).view_as(sides) for one in table)
    return torch.cat([direct.sum(dim=-1, keepdim=True), neighbor], dim=-1)


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
