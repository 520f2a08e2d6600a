"""The audit: what each labeled node is worth, and which ones to look at. Shapes: L labeled nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from se_gnn.errors import InputError, shortened
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray
from se_gnn.labels.leave_one_out import LeaveOneOut, leave_one_out
from se_gnn.labels.shapley import ShapleyValues, shapley_values
from se_gnn.labels.suspicion import Suspicion, suspicion
from se_gnn.model import Prediction, TrainedModel

ORDERS = 100  # random orders for the Shapley value of the weighted vote
CARRIES = 3.0  # times the weight of the average labeled node
CERTAIN = 2.0  # standard errors below 0
MISLED = 3  # validation predictions that are right without it, less those that are wrong without it


class Finding(StrEnum):
    """Why to look at a labeled node."""

    WRONG = "probably labeled wrong"
    MISLEADS = "misleads others"
    UNUSED = "never used"
    CARRIES = "carries a region"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """All that is known of one labeled node; None where there are no validation nodes."""

    node: int
    name: str
    label: int
    findings: tuple[Finding, ...]
    suspicion: float  # the probability that its label is wrong
    suggested: int  # the class that everything else suggests
    vote: int  # the class that its own labeled neighbors give it, itself left out
    vote_probability: float
    label_probability: float  # that the same vote gives its label
    accuracy_gain: float | None  # of validation accuracy without it
    loss_gain: float | None  # of validation log loss without it; below 0 is better
    shapley: float | None  # in the unweighted vote, exact
    weighted_shapley: float | None  # in the vote itself, by random orders
    weighted_shapley_error: float | None  # standard error of it
    used: int  # predictions in which it has a vote
    weight: float  # sum of its weights in them
    decides: int  # predictions that would be of another class without it


@dataclass(frozen=True, eq=False)
class Audit:
    """The labeled nodes of a model, most suspicious first."""

    graph: Graph
    votes: Prediction  # on the labeled nodes, each itself left out
    effects: LeaveOneOut
    values: ShapleyValues
    suspicion: Suspicion
    num_orders: int

    def __len__(self) -> int:
        return len(self.graph.train)

    def __iter__(self) -> Iterator[AuditRow]:
        return (self.row(int(position)) for position in self.order)

    @cached_property
    def order(self) -> IntArray:
        """Positions of the labeled nodes, most suspicious first, [L]."""
        return np.argsort(-self.suspicion.score, kind="stable").astype(np.int64)

    def found(self, finding: Finding) -> IntArray:
        """Ids of the labeled nodes with a finding, most suspicious first."""
        mask = self._masks[finding]
        return np.array([self.graph.train[i] for i in self.order if mask[i]], dtype=np.int64)

    @cached_property
    def _masks(self) -> dict[Finding, BoolArray]:
        effects, values = self.effects, self.values
        gain = effects.accuracy - effects.accuracy_now
        with np.errstate(invalid="ignore"):
            harmful = (values.weighted + CERTAIN * values.standard_error < 0) & (effects.loss < effects.loss_now)
            misleads = (gain * len(self.graph.validation) > MISLED - 0.5) | ((gain >= 0) & harmful)
        average = effects.weight.sum() / max(1, len(self))
        return {
            Finding.WRONG: self.suspicion.wrong,
            Finding.MISLEADS: misleads,
            Finding.UNUSED: effects.used == 0,
            Finding.CARRIES: (effects.weight >= CARRIES * average) & (effects.used > 0),
        }

    def row(self, position: int) -> AuditRow:
        """The labeled node at a position of ``graph.train``."""
        graph, effects, values, i = self.graph, self.effects, self.values, position
        node, vote = int(graph.train[i]), self.votes.probabilities[i]
        label = int(graph.labels[node])
        return AuditRow(
            node=node,
            name=graph.node_names[node],
            label=label,
            findings=tuple(finding for finding, mask in self._masks.items() if mask[i]),
            suspicion=float(self.suspicion.score[i]),
            suggested=int(self.suspicion.says[i]),
            vote=int(vote.argmax()),
            vote_probability=float(min(vote.max(), 1)),
            label_probability=float(min(vote[label], 1)),
            accuracy_gain=_known(effects.accuracy[i] - effects.accuracy_now),
            loss_gain=_known(effects.loss[i] - effects.loss_now),
            shapley=_known(values.unweighted[i]),
            weighted_shapley=_known(values.weighted[i]),
            weighted_shapley_error=_known(values.standard_error[i]),
            used=int(effects.used[i]),
            weight=float(effects.weight[i]),
            decides=int(effects.decides[i]),
        )

    def rows(self, findings: Sequence[Finding] = ()) -> list[AuditRow]:
        """All rows, most suspicious first, or those with one of some findings."""
        return [row for row in self if not findings or set(findings) & set(row.findings)]


def audit(trained: TrainedModel, *, num_orders: int = ORDERS, seed: int = 0) -> Audit:
    """Judge every labeled node of a model.

    Args:
        trained: the model.
        num_orders: random orders for the Shapley value of the weighted vote; more of them lower its standard error.
        seed: of these orders.
    """
    if isinstance(num_orders, bool) or not isinstance(num_orders, int | np.integer) or num_orders < 1:
        raise InputError(f"num_orders must be a whole number above 0, got {shortened(num_orders)}")
    orders, groups = np.random.default_rng(seed).spawn(2)
    graph = trained.graph
    votes, validation = trained.predict(graph.train), trained.predict(graph.validation)
    both = np.concatenate([votes.probabilities, validation.probabilities])
    return Audit(
        graph=graph,
        votes=votes,
        effects=leave_one_out(trained),
        values=shapley_values(trained, num_orders=num_orders, generator=orders),
        suspicion=suspicion(graph, both, generator=groups),
        num_orders=num_orders,
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
