r"""Which known values are suspicious: what everything else says of a node, its own value left out.

The other cases predict each labeled node, its value hidden. Its *surprise* is the distance of its value from the
prediction, in units of the error that is usual there: :math:`|y - \hat y| / (\sigma_t + \sigma)`, as intervals are
calibrated (:mod:`se_gnn.model.numbers`). A value is *surprising* if it is further away than 99 of 100 validation nodes,
so one value in a hundred is surprising by chance; the audit says how many that would be. A rehearsal replaces some
values by those of other nodes and counts how many of them are found. The *effect* of a case is by how much the mean
absolute error of the validation nodes would grow without it; below 0 it misleads. Shapes: L labeled nodes, T validation
nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, IntArray
from se_gnn.labels.audit import named
from se_gnn.model import Model
from se_gnn.model.numbers import calibrate_intervals, predict_numbers
from se_gnn.number_format import known
from se_gnn.ranking import without_each

LEVEL = 0.99  # share of the validation nodes that are less surprising than a surprising value
PLANTED = 0.05  # share of the values that a rehearsal replaces


class ValueRehearsal(NamedTuple):
    """How many values that were replaced on purpose are found among as many of the most surprising ones."""

    planted: int
    found: int


@dataclass(frozen=True, slots=True, eq=False)
class ValueAudit:
    """Every known value of the labeled nodes, judged by all others.

    Shapes:
        - **nodes**, **values** (known), **predicted** (without the node's own), **surprise**, **effect:** :math:`(L,)`
    """

    nodes: IntArray
    values: Float64Array
    predicted: Float64Array
    surprise: Float64Array
    effect: Float64Array  # NaN without validation nodes
    threshold: float  # surprise of a surprising value; infinite: fewer than 99 validation nodes
    rehearsal: ValueRehearsal

    @property
    def surprising(self) -> BoolArray:
        """Values that are further away than 99 of 100 validation nodes, [L]."""
        return self.surprise > self.threshold

    @property
    def by_chance(self) -> int:
        """How many values would be surprising if none were wrong."""
        return round((1 - LEVEL) * len(self.nodes))

    def records(self, graph: Graph) -> list[dict[str, Any]]:
        """A row for each value, the most surprising first."""
        return [
            {
                **named(graph, int(self.nodes[i])),
                "value": float(self.values[i]),
                "predicted": float(self.predicted[i]),
                "surprise": float(self.surprise[i]),
                "effect": known(float(self.effect[i])),
                "surprising": bool(self.surprising[i]),
            }
            for i in self.order.tolist()
        ]

    @property
    def order(self) -> IntArray:
        """Positions of the values, the most surprising first, [L]."""
        return np.argsort(-self.surprise, kind="stable")


def audit_values(
    model: Model, *, seed: int = 0, retrained: tuple[Float64Array, Float64Array] | None = None
) -> ValueAudit:
    """Judge the value of every labeled node of a model that predicts numbers; ``seed`` draws the rehearsal.

    ``retrained`` are the answers of :func:`se_gnn.labels.retrained.retrained_numbers`, of models that were trained
    without the node.
    """
    graph = model.graph
    if len(graph.train) < 2:
        raise InputError("an audit needs at least two labeled nodes: each is judged by the others")
    if retrained is None:
        found = predict_numbers(model, graph.train)
        retrained = found.values, found.spread
    predicted, spread = retrained
    usual = calibrate_intervals(model, coverage=LEVEL, calibrate_on="validation") if len(graph.validation) else None
    floor = float(np.median(spread)) if usual is None else usual.floor
    scale = np.maximum(spread + floor, np.finfo(np.float64).tiny)
    values = graph.values[graph.train]
    return ValueAudit(
        nodes=graph.train,
        values=values,
        predicted=predicted,
        surprise=np.abs(values - predicted) / scale,
        effect=_effects(model),
        threshold=math.inf if usual is None else usual.factor,
        rehearsal=_rehearsed(values, predicted, scale, np.random.default_rng(seed)),
    )


def _rehearsed(
    values: Float64Array, predicted: Float64Array, scale: Float64Array, generator: np.random.Generator
) -> ValueRehearsal:
    """Give some nodes the value of another one; what is predicted of a node does not depend on its own value."""
    count = max(1, round(PLANTED * len(values)))
    chosen = generator.choice(len(values), count, replace=False)
    planted = values.copy()
    planted[chosen] = values[generator.permutation(len(values))[:count]]
    surprise = np.abs(planted - predicted) / scale
    first = np.argsort(-surprise, kind="stable")[:count]
    return ValueRehearsal(count, int(np.isin(first, chosen).sum()))


def _effects(model: Model) -> Float64Array:
    """By how much the mean absolute error of the validation nodes grows without each case, [L]."""
    graph = model.graph
    total = np.zeros(len(graph.train))
    if not len(graph.validation):
        return np.full(len(total), np.nan)
    for ranking in model.rank(graph.validation, depth=model.in_use.vote.num_nearest + 1):
        truth = graph.values[ranking.queries]
        error = np.abs(ranking.numbers.cpu().numpy() - truth)
        without = np.abs(without_each(ranking)[:, :, 0].cpu().numpy() - truth[:, None])  # [T, K]
        gains = np.nan_to_num(without - error[:, None])
        np.add.at(total, ranking.positions[:, : ranking.num_nearest].cpu().numpy(), gains)
    return total / len(graph.validation)
