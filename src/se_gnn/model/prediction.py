"""What a model says of some nodes. Shapes: T targets, K nearest labeled nodes, C classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.ranking import NumberAnswers, Ranking


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Votes:
    """The votes of the K nearest cases for some nodes; what they add up to is in the subclasses.

    Where fewer than K labeled nodes can vote (a labeled node does not vote for itself) the last weights are 0.
    """

    nodes: IntArray
    cases: IntArray
    weights: FloatArray
    overall: FloatArray

    @classmethod
    def of(cls, rankings: Iterable[Ranking]) -> Self:
        """The votes of the nearest cases, block after block."""
        return cls.joined([cls(**cls._of_block(one)) for one in rankings])

    @classmethod
    def _of_block(cls, ranking: Ranking) -> dict[str, Any]:
        return {
            "nodes": ranking.queries,
            "cases": ranking.nodes[:, : ranking.num_nearest],
            "weights": ranking.weights.cpu().numpy(),
            "overall": ranking.overall[:, : ranking.num_nearest].cpu().numpy(),
        }

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The nodes of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(**{one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)})

    def rows(self, rows: slice | IntArray) -> Self:
        """Some of the nodes."""
        return replace(self, **{one.name: getattr(self, one.name)[rows] for one in fields(self)})

    def of_nodes(self, nodes: IntArray) -> Self:
        """Those of some of its nodes, by their ids; it has its nodes in ascending order."""
        return self.rows(np.searchsorted(self.nodes, nodes))

    @property
    def voting(self) -> BoolArray:
        """Which of the cases have a vote, [T, K]: a labeled node has none of its own."""
        return np.isfinite(self.overall)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prediction(Votes):
    """Class probabilities of some nodes and the votes they are made of.

    Shapes:
        - **nodes:** :math:`(T,)`, **probabilities:** :math:`(T, C)`; no columns if numbers are predicted
        - **cases** (node ids), **weights**, **overall**, **node**, **structure:** :math:`(T, K)`
    """

    probabilities: FloatArray
    node: FloatArray
    structure: FloatArray  # -inf where one of the two nodes has no edges

    @classmethod
    def _of_block(cls, ranking: Ranking) -> dict[str, Any]:
        numbers, nearest = isinstance(ranking.answers, NumberAnswers), ranking.nearest.first(ranking.num_nearest)
        return {
            **Votes._of_block(ranking),
            "probabilities": np.zeros((len(ranking), 0), np.float32)
            if numbers
            else ranking.probabilities.cpu().numpy(),
            "node": nearest.node.cpu().numpy(),
            "structure": nearest.structure.cpu().numpy(),
        }

    @property
    def classes(self) -> IntArray:
        """Predicted class of each node, the lowest where two are equally likely, [T]."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)

    def accuracy(self, labels: IntArray) -> float:
        """Share of the nodes predicted as ``labels`` (of all nodes) says; NaN without nodes."""
        return accuracy(self.probabilities, labels[self.nodes])

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
