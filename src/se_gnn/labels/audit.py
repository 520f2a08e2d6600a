"""The audit: what each labeled node is worth, and which ones to look at.

Each prediction is computed again without each labeled node, exactly. Only predictions that have the node among their K
nearest change: the next nearest takes its place. Shapes: T nodes, K nearest, L labeled nodes, C classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from se_gnn.encoder.outputs import OutputEncoder
from se_gnn.errors import InputError, shortened
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, FloatArray, IntArray
from se_gnn.graph.split import Split
from se_gnn.labels.suspicion import Suspicion, suspicion
from se_gnn.model import Model, Prediction
from se_gnn.model.metrics import SMALLEST
from se_gnn.number_format import known
from se_gnn.ranking import ShapleyValues, shapley_values, without_each

ORDERS = 100  # random orders for the Shapley value of the weighted vote
INFLUENTIAL = 3.0  # times the weight of the average labeled node
CERTAIN = 2.0  # standard errors below 0
MISLED = 3  # validation predictions that are right without it, less those that are wrong without it

BLOCK = 1024  # targets at a time: T x K x K votes
RECORD_NAMES = {"accuracy_gain": "accuracy_gain_without", "loss_gain": "loss_gain_without"}  # of a file
NOBODY_LEFT = -1  # in place of a class, if the removed node was the only one that could vote: never right


class Finding(StrEnum):
    """Why to look at a labeled node."""

    WRONG = "probably labeled wrong"
    MISLEADS = "misleads others"
    UNUSED = "never used"
    INFLUENTIAL = "influential"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """Everything that is known about one labeled node; None: there are no validation nodes."""

    node: int
    name: str
    label: int
    findings: tuple[Finding, ...]
    suspicion: float  # the probability that its label is wrong
    suggested: int  # the class that everything else suggests
    vote: int  # the class that the other cases vote for
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

    def to_record(self, graph: Graph) -> dict[str, Any]:
        """As a row of a file, with the names of classes."""
        values = {RECORD_NAMES.get(one.name, one.name): getattr(self, one.name) for one in fields(self)[2:]}
        values |= {name: graph.class_names[values[name]] for name in ("label", "suggested", "vote")}
        return {**named(graph, self.node), **values, "findings": [str(finding) for finding in self.findings]}


def named(graph: Graph, node: int) -> dict[str, Any]:
    """The beginning of a row of a file: the name of a node, and its caption if nodes have captions."""
    caption = {} if graph.captions is None else {"caption": graph.captions[node]}
    return {"node": graph.node_names[node], **caption}


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """Effects of removing each labeled node alone, [L] each."""

    used: IntArray  # predictions that it has a vote in
    weight: Float64Array  # sum of its weights in them
    decides: IntArray  # predictions that would be of another class without it
    accuracy: Float64Array  # validation accuracy without it; NaN without validation nodes
    loss: Float64Array  # validation log loss without it; NaN without validation nodes
    accuracy_now: float
    loss_now: float


@dataclass(frozen=True, eq=False)
class Audit:
    """The labeled nodes of a model, most suspicious first."""

    graph: Graph
    votes: Prediction  # on the labeled nodes, each itself left out
    effects: LeaveOneOut
    values: ShapleyValues
    suspicion: Suspicion

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
        return self.graph.train[self.order[self._masks[finding][self.order]]]

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
            Finding.INFLUENTIAL: (effects.weight >= INFLUENTIAL * average) & (effects.used > 0),
        }

    @property
    def not_judged(self) -> str:
        """Which labels the audit does not judge, as a sentence; empty if it judges all of them."""
        graph, split = self.graph, dict(self.graph.split.items())
        spare = int(graph.target.known.sum()) - sum(map(len, split.values()))
        left = [f"{len(split[part]):,} {part}" for part in ("validation", "calibration", "test") if len(split[part])]
        left += [f"{spare:,} that the split leaves out"] if spare else []
        return f"The labels of nodes that do not vote are not judged: {', '.join(left)}." if left else ""

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
            accuracy_gain=known(float(effects.accuracy[i] - effects.accuracy_now)),
            loss_gain=known(float(effects.loss[i] - effects.loss_now)),
            shapley=known(float(values.unweighted[i])),
            weighted_shapley=known(float(values.weighted[i])),
            weighted_shapley_error=known(float(values.standard_error[i])),
            used=int(effects.used[i]),
            weight=float(effects.weight[i]),
            decides=int(effects.decides[i]),
        )

    def rows(self, findings: Sequence[Finding] = ()) -> list[AuditRow]:
        """All rows, most suspicious first, or those with one of some findings."""
        return [row for row in self if not findings or set(findings) & set(row.findings)]


def audit(
    trained: Model,
    nodes: IntArray | None = None,
    *,
    num_orders: int = ORDERS,
    seed: int = 0,
    retrained: FloatArray | None = None,
) -> Audit:
    """Judge every labeled node of a model.

    ``nodes`` (None: all) are those whose predictions are looked at, beside the validation nodes. ``num_orders`` random
    orders, drawn by ``seed``, give the Shapley value of the weighted vote: more of them lower its standard error.
    ``retrained`` are the answers of :func:`se_gnn.labels.retrained.retrained_votes`, of models that were trained
    without the label that they judge.
    """
    check_count("num_orders", num_orders)
    orders, groups = np.random.default_rng(seed).spawn(2)
    trained = _with_known_labels(trained)
    graph, effects = trained.graph, leave_one_out(trained, nodes)
    votes, validation = trained.predict(graph.train), trained.predict(graph.validation)
    both, judged = np.concatenate([votes.probabilities, validation.probabilities]), trained.rank(graph.validation)
    return Audit(
        graph=graph,
        votes=votes,
        effects=effects,
        values=shapley_values(judged, trained.cases, graph.labels, num_orders=num_orders, generator=orders),
        suspicion=suspicion(graph, both, retrained, generator=groups),
    )


def check_count(name: str, value: Any) -> None:
    """Refuse what is not a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number above 0, got {shortened(value)}")


def _with_known_labels(trained: Model) -> Model:
    """The model; if its cases vote for the answers of someone else's model, the same with the labels that are known."""
    if not isinstance(trained.encoder, OutputEncoder):
        return trained
    graph, labels = trained.graph, trained.encoder.outputs.labels.numpy()
    if (labels[graph.train] == UNKNOWN).any():
        raise InputError("an audit needs a known label of every case: name references that are labeled")
    parts: dict[str, Any] = {part: nodes[labels[nodes] != UNKNOWN] for part, nodes in graph.split.items()}
    return trained.with_labels(graph.target.with_array(labels), Split(**parts))


def leave_one_out(trained: Model, nodes: IntArray | None = None) -> LeaveOneOut:
    """Remove each labeled node in turn and repeat the vote on all nodes of the type that is predicted, or on some."""
    queries = None if nodes is None else np.union1d(nodes, trained.graph.validation)
    graph, depth = trained.graph, trained.in_use.vote.num_nearest + 1
    num_labeled, truth = len(graph.train), graph.labels
    judged = np.zeros(graph.num_nodes, dtype=bool)
    judged[graph.validation] = True
    used, decides = np.zeros(num_labeled, np.int64), np.zeros(num_labeled, np.int64)
    weight, right, loss = np.zeros(num_labeled), np.zeros(num_labeled), np.zeros(num_labeled)
    right_now = loss_now = 0.0
    for block in trained.rank(queries, depth=depth):
        asked = np.flatnonzero(np.isin(block.queries, graph.candidates))
        for low in range(0, len(asked), BLOCK):
            ranking = block.rows(asked[low : low + BLOCK]).cpu()
            now, each = ranking.probabilities.numpy(), without_each(ranking).numpy()  # [T, C], [T, K, C]
            weights = ranking.weights.numpy().astype(np.float64)  # [T, K]
            positions = ranking.positions[:, : weights.shape[1]].numpy()
            votes = weights > 0
            np.add.at(used, positions[votes], 1)
            np.add.at(weight, positions[votes], weights[votes])
            predicted = now.argmax(axis=1)
            classes = np.where(each.any(axis=2), each.argmax(axis=2), NOBODY_LEFT)  # [T, K]
            other = (classes != predicted[:, None]) & (classes != NOBODY_LEFT)
            np.add.at(decides, positions[votes & other], 1)
            rows = np.flatnonzero(judged[ranking.queries])
            if not len(rows):
                continue
            labels = truth[ranking.queries[rows]]
            was_right = (predicted[rows] == labels).astype(np.float64)
            was_loss = _loss(now[rows], labels)
            right_now, loss_now = right_now + was_right.sum(), loss_now + was_loss.sum()
            gained = (classes[rows] == labels[:, None]) - was_right[:, None]
            more = _loss(each[rows], labels) - was_loss[:, None]
            voted = votes[rows]
            np.add.at(right, positions[rows][voted], gained[voted])
            np.add.at(loss, positions[rows][voted], more[voted])
    count = len(graph.validation)
    share = 1 / count if count else float("nan")
    return LeaveOneOut(
        used, weight, decides, (right_now + right) * share, (loss_now + loss) * share,
        right_now * share, loss_now * share,
    )  # fmt: skip


def _loss(probabilities: FloatArray, labels: IntArray) -> Float64Array:
    """Negative logarithm of the probability [T, ..., C] of the labels [T]."""
    places = labels.reshape(-1, *[1] * (probabilities.ndim - 1))
    own = np.take_along_axis(probabilities, places, axis=-1)[..., 0].astype(np.float64)
    return -np.log(np.clip(own, SMALLEST, 1))
