"""What a model says of some nodes. Shapes: T targets, K nearest labeled nodes, C classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.ranking import Ranking


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Class probabilities of some nodes and the votes they are made of.

    Where fewer than K labeled nodes can vote (a labeled node does not vote for itself) the last weights are 0.

    Shapes:
        - **nodes:** :math:`(T,)`, **probabilities:** :math:`(T, C)`
        - **cases** (node ids), **weights**, **overall**, **node**, **structure:** :math:`(T, K)`
    """

    nodes: IntArray
    probabilities: FloatArray
    cases: IntArray
    weights: FloatArray
    overall: FloatArray
    node: FloatArray
    structure: FloatArray  # -inf where one of the two nodes has no edges

    @classmethod
    def of(cls, rankings: Iterable[Ranking]) -> Prediction:
        """The votes of the nearest cases, block after block."""
        return cls.joined([cls.votes_of(one, one.probabilities.cpu().numpy()) for one in rankings])

    @classmethod
    def votes_of(cls, ranking: Ranking, probabilities: FloatArray) -> Prediction:
        """The votes of one block, beside its probabilities, [T, C]."""
        nearest = ranking.nearest.first(ranking.num_nearest).cpu()
        return cls(
            nodes=ranking.queries,
            probabilities=probabilities,
            cases=ranking.cases.nodes[nearest.positions.numpy()],
            weights=ranking.weights.cpu().numpy(),
            overall=nearest.overall.numpy(),
            node=nearest.node.numpy(),
            structure=nearest.structure.numpy(),
        )

    @classmethod
    def joined(cls, parts: Sequence[Prediction]) -> Prediction:
        """The nodes of several predictions, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))

    def rows(self, rows: slice | IntArray) -> Prediction:
        """Some of the nodes."""
        return Prediction(*(getattr(self, name)[rows] for name in self.__slots__))

    def of_nodes(self, nodes: IntArray) -> Prediction:
        """Those of some of its nodes, by their ids; it has its nodes in ascending order."""
        return self.rows(np.searchsorted(self.nodes, nodes))

    @property
    def classes(self) -> IntArray:
        """Predicted class of each node, the lowest where two are equally likely, [T]."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)

    @property
    def voting(self) -> BoolArray:
        """Which of the cases have a vote, [T, K]: a labeled node has none of its own."""
        return np.isfinite(self.overall)

    def accuracy(self, labels: IntArray) -> float:
        """Share of the nodes predicted as ``labels`` (of all nodes) says; NaN without nodes."""
        return accuracy(self.probabilities, labels[self.nodes])

    def loss(self, labels: IntArray) -> float:
        """Mean negative log-likelihood; a class that nobody votes for counts as probability 1e-8."""
        return log_loss(self.probabilities, labels[self.nodes])

    def precision_at(self, k: int, labels: IntArray) -> float:
        """Mean share of the k nearest labeled nodes that have the target's own label; at most K are there."""
        if not len(self.nodes):
            return float("nan")
        same = labels[self.cases[:, :k]] == labels[self.nodes][:, None]
        return float(same.mean())


# The two figures of an epoch are written out: scikit-learn's, which `metrics` has, check their arguments on every call.


def accuracy(probabilities: FloatArray, labels: IntArray) -> float:
    """Share of the rows [T, C] whose most probable class is that of ``labels`` [T]; NaN without rows."""
    return float((probabilities.argmax(axis=1) == labels).mean()) if len(labels) else float("nan")


def log_loss(probabilities: FloatArray, labels: IntArray) -> float:
    """Mean negative logarithm of the probability [T, C] of ``labels`` [T], at least 1e-8; NaN without rows."""
    if not len(labels):
        return float("nan")
    own = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return float(-np.log(np.clip(own, 1e-8, 1)).mean())  # sums of float32 weights may pass 1
