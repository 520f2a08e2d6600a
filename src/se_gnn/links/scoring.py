"""The score of a pair: a weighted sum of the similarities of named neighbors, and of the two nodes themselves.

For a pair (u, v), the K neighbors of u most similar to v vote, and the K neighbors of v most similar to u. A side with
n neighbors has the weight `neighbor[n]`, which its cases share, and `direct[n]` for the similarity of u and v: the
fewer neighbors a side has, the more that similarity counts. There are weights for n = 0, 1, 2, 3 to 5, and 6 or more.
Similarity is `lambda * node + (1 - lambda) * structure`, Eq. (7), of attributes with learned weights; a neighbor along
a light edge counts less, by its weight over the heaviest at that node. Shapes: N nodes, F attributes, n pairs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
import torch

from se_gnn.compiled_code import compiled
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, FloatArray, IntArray, row_starts
from se_gnn.labels.smoothing import unit_rows
from se_gnn.links.pairs import Links, Voters, node_types
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import Items, Similarities, Similarity

MOST_ATTRIBUTES = 4096  # of more, those that the nodes differ by most
STEPS = (1, 2, 3, 6)  # numbers of neighbors from which the next weights count
LISTED = 1 << 21  # similarities that are listed at a time


@dataclass(frozen=True, slots=True, eq=False)
class SideWeights:
    """What a side counts by its number of neighbors: :math:`(5,)` each."""

    neighbor: Float64Array
    direct: Float64Array

    @classmethod
    def initial(cls) -> SideWeights:
        """The weights before learning: the fewer neighbors a side has, the more the similarity of the pair counts."""
        counts = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
        total = 10 / (1 + counts) ** 0.25
        return cls(total * counts / (counts + 0.4), total * 0.4 / (counts + 0.4))

    def rows(self, counts: IntArray) -> IntArray:
        """Which weights count for sides with some numbers of neighbors."""
        return np.digitize(counts, STEPS)


@dataclass(frozen=True, eq=False)
class Attributes:
    """What nodes are compared by: sparse rows of length 1 once they are weighted, [N, F]."""

    matrix: Any  # before they are weighted
    columns: IntArray  # which features of the graph they are
    weights: Float64Array  # what each is multiplied with

    @classmethod
    def of(cls, graph: Graph) -> Attributes:
        """Counts and words weighted by how rare they are, log(N / n); other numbers by their standard deviation."""
        features: Any = graph.features
        if sp.issparse(features) and (features.data >= 0).all():
            matrix: Any = sp.csr_array(features, dtype=np.float64)
            present = np.asarray((matrix != 0).sum(axis=0)).ravel()
            weights = np.log((graph.num_nodes + 1) / (present + 1))
        else:
            dense = np.asarray(features.toarray() if sp.issparse(features) else features, dtype=np.float64)
            matrix, weights = sp.csr_array(_centered(dense, node_types(graph))), np.ones(dense.shape[1])
        support = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel() * weights**2
        columns = np.sort(np.argsort(-support, kind="stable")[:MOST_ATTRIBUTES])
        columns = columns[support[columns] > 0]
        return cls(matrix[:, columns], columns, weights[columns])

    def weighted(self, weights: Float64Array) -> Attributes:
        """The same with other weights."""
        return dataclasses.replace(self, weights=weights)

    @cached_property
    def unit(self) -> Any:
        """Weighted rows of length 1, sparse; a node without attributes has none."""
        return unit_rows(self.matrix @ sp.diags_array(self.weights))

    def embeddings(self) -> torch.Tensor:
        """The same as a dense tensor, [N, F]: what `Similarity` compares."""
        return torch.from_numpy(self.unit.toarray().astype(np.float32))


@dataclass(frozen=True, eq=False)
class Side:
    """The neighbors of one end of each pair, and their similarity to the other end."""

    voters: Voters
    found: Similarities  # [m]

    @cached_property
    def support(self) -> FloatArray:
        """What each neighbor says: its similarity times its share."""
        return self.found.overall.numpy() * self.voters.shares


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """All that the score of some pairs is made of."""

    pairs: IntArray
    sides: tuple[Side, ...]  # neighbors of the source, compared with the target; and the other way
    direct: Similarities  # of the two ends, [n]; 0 where they are of different node types

    def reweighted(self, node_weight: float) -> Terms:
        """The same with another lambda: nothing is compared again."""
        sides = tuple(Side(side.voters, side.found.weighted(node_weight)) for side in self.sides)
        return Terms(self.pairs, sides, self.direct.weighted(node_weight))

    def scores(
        self, weights: SideWeights, num_nearest: int, *, left_out: tuple[Side, int] | None = None
    ) -> Float64Array:
        """The score of each pair, [n]; of a single pair also without the neighbor at a place of a side."""
        total, direct = np.zeros(len(self.pairs)), self.direct.overall.numpy()
        for side in self.sides:
            ptr, support = side.voters.ptr, side.support
            if left_out is not None and side is left_out[0]:
                ptr, support = np.array([0, len(support) - 1]), np.delete(support, left_out[1])
            rows = weights.rows(np.diff(ptr))
            total += weights.neighbor[rows] * mean_of_nearest(ptr, support, num_nearest) + weights.direct[rows] * direct
        return total


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores pairs of one type of links; `Links.voters` leaves out known links of a pair."""

    links: Links
    embeddings: torch.Tensor  # of all nodes, [N, F]
    node_weight: float  # lambda

    @cached_property
    def similarity(self) -> Similarity:
        """What compares the nodes."""
        return Similarity(self.links.graph, self.embeddings, similarity_settings(self.links.graph, self.node_weight))

    @cached_property
    def items(self) -> Items:
        """All nodes, with their local graphs."""
        return self.similarity.items(np.arange(self.links.graph.num_nodes))

    def terms(self, pairs: IntArray) -> Iterator[Terms]:
        """The terms of some pairs, as many at a time as are quickly listed."""
        counts = 1 + self.links.ahead.counts[pairs[:, 0]] + self.links.behind.counts[pairs[:, 1]]
        block = np.cumsum(counts) // LISTED
        for one in np.unique(block):
            some = pairs[block == one]
            sides = tuple(Side(one, self._compared(one.others, one.nodes)) for one in self.links.voters(some))
            yield Terms(some, sides, self._direct(some))

    def scores(self, pairs: IntArray, weights: SideWeights, num_nearest: int) -> Float64Array:
        """The score of each pair, [n]."""
        found = [terms.scores(weights, num_nearest) for terms in self.terms(pairs)]
        return np.concatenate(found) if found else np.empty(0)

    def _direct(self, pairs: IntArray) -> Similarities:
        found, types = self._compared(pairs[:, 0], pairs[:, 1]), self.links.types[pairs]
        other = torch.from_numpy(types[:, 0] != types[:, 1])
        parts = found.node.masked_fill(other, 0), found.structure.masked_fill(other, -torch.inf)
        return Similarities(*parts, found.node_weight)

    def _compared(self, queries: IntArray, cases: IntArray) -> Similarities:
        low, high = np.minimum(queries, cases), np.maximum(queries, cases)  # the same bits in both orders
        order = np.argsort(low, kind="stable")
        ptr = row_starts(np.bincount(low, minlength=self.links.graph.num_nodes))
        found, back = self.similarity.compare_listed(self.items, self.items, ptr, high[order]), np.argsort(order)
        return Similarities(found.node[back], found.structure[back], found.node_weight)


def similarity_settings(graph: Graph, node_weight: float) -> SimilaritySettings:
    """How nodes of a graph are compared: one hop, both directions; direction, type and weight of edges count."""
    values = graph.edge_values
    return SimilaritySettings(
        node_weight=node_weight,
        hops=1,
        max_edges=32,
        directions="both",
        match_direction=values is not None and values.direction is not None,
        match_types="any" if values is None or values.type is None else "own",
        weighted_mean=values is not None and values.weight is not None,
    )


def mean_of_nearest(ptr: IntArray, support: FloatArray, num_nearest: int) -> Float64Array:
    """Mean of what the K nearest neighbors of each pair say, [n]; 0 without neighbors."""
    nearest = top(ptr, support, num_nearest)  # [n, K]
    values = np.where(nearest >= 0, support[nearest] if len(support) else 0.0, 0.0)
    total = np.zeros(len(values))
    for column in values.T:  # one after the other, so that a pair has the same bits alone and among others
        total += column
    total /= np.maximum((nearest >= 0).sum(axis=1), 1)
    return total


@compiled(parallel=True)
def top(ptr: IntArray, support: FloatArray, num_nearest: int) -> IntArray:
    """Positions of the highest values of each row, highest first; ties go to the first; -1: none, [n, K]."""
    found = np.full((len(ptr) - 1, num_nearest), -1, np.int64)
    for i in numba.prange(len(ptr) - 1):
        for m in range(ptr[i], ptr[i + 1]):
            place = num_nearest
            while place > 0 and (found[i, place - 1] < 0 or support[m] > support[found[i, place - 1]]):
                place -= 1
            for k in range(num_nearest - 1, place, -1):
                found[i, k] = found[i, k - 1]
            if place < num_nearest:
                found[i, place] = m
    return found


def _centered(dense: Float64Array, types: IntArray) -> Float64Array:
    """Columns less their mean over their standard deviation, among the nodes of each type; others stay 0."""
    scaled = np.zeros_like(dense)
    for one in np.unique(types):
        rows = types == one
        own = dense[rows]
        deviation = own.std(axis=0)
        scaled[rows] = np.where(deviation > 0, (own - own.mean(axis=0)) / np.where(deviation > 0, deviation, 1), 0)
    return scaled


HITS = (1, 3, 10, 20, 50)


def ranks(positive: Float64Array, negative: Float64Array) -> Float64Array:
    """Rank of each link among its own pairs, [n] and [n, M] to [n]; 1 is best, and a tie counts half.

    >>> ranks(np.array([0.5, 0.5]), np.array([[0.7, 0.1], [0.5, 0.1]])).tolist()
    [2.0, 1.5]
    """
    above, equal = negative > positive[:, None], negative == positive[:, None]
    found: Float64Array = 1 + above.sum(axis=1) + equal.sum(axis=1) / 2
    return found


def link_metrics(positive: Float64Array, hard: Float64Array, random: Float64Array) -> dict[str, float]:
    """All figures of links, [n], against the hard pairs of each, [n, M], and against random pairs, [m]."""
    return {"links": float(len(positive)), **ranking_metrics(positive, hard), **pooled_metrics(positive, random)}


def ranking_metrics(positive: Float64Array, negative: Float64Array) -> dict[str, float]:
    """MRR and Hits@K of links among their own pairs."""
    own = ranks(positive, negative)
    return {"mrr": float((1 / own).mean()), **{f"hits@{k}": float((own <= k).mean()) for k in HITS}}


def pooled_metrics(positive: Float64Array, negative: Float64Array) -> dict[str, float]:
    """ROC-AUC and average precision of links against all other pairs together, [n] and [m]."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    scores, truth = np.concatenate([positive, negative]), np.repeat([1, 0], [len(positive), len(negative)])
    return {
        "roc_auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
    }
