r"""Predicted numbers, and intervals around them by split conformal prediction. Shapes: T nodes, K cases.

A number is the sum of what the K nearest cases contribute, weight times their own number. Where the numbers of these
cases lie far apart, so may the number of the node: with :math:`\sigma_t` their weighted standard deviation and
:math:`\sigma` its median over the calibration nodes, the score of a calibration node is
:math:`|y_t - \hat y_t| / (\sigma_t + \sigma)`, and an interval reaches q times :math:`\sigma_t + \sigma` to both sides,
with q the :math:`\lceil (n + 1)(1 - \alpha) \rceil`-th smallest of n scores. If calibration nodes and asked nodes are
exchangeable, an interval holds the number of its node with probability 1 - alpha at least, whatever the model is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from se_gnn.errors import InputError, shortened
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, FloatArray, IntArray
from se_gnn.model.model import Model
from se_gnn.model.prediction import Prediction, Votes
from se_gnn.number_format import known
from se_gnn.ranking import Ranking

COVERAGE = 0.9
CalibrateOn = Literal["auto", "calibration", "validation"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NumberPrediction(Votes):
    """Predicted numbers of some nodes and the votes that they are made of.

    Shapes:
        - **nodes**, **values**, **spread** (weighted standard deviation of the cases' numbers): :math:`(T,)`
        - **cases** (node ids), **weights**, **contributions**, **overall:** :math:`(T, K)`
    """

    values: Float64Array
    spread: Float64Array
    contributions: Float64Array

    @classmethod
    def _of_block(cls, ranking: Ranking) -> dict[str, Any]:
        names = {"values": "numbers", "spread": "spread", "contributions": "contributions"}
        own = {name: getattr(ranking, source).cpu().numpy() for name, source in names.items()}
        return {**Votes._of_block(ranking), **own}


def predict_numbers(model: Model, nodes: IntArray | None = None) -> NumberPrediction:
    """The numbers of some nodes, or of all. The number of a labeled node is predicted without its own."""
    _ = model.graph.numbers  # refused if classes are predicted
    return NumberPrediction.of(model.rank(nodes, depth=model.in_use.vote.num_nearest))


def predict(model: Model, nodes: IntArray | None = None) -> Prediction | NumberPrediction:
    """What a model predicts of some nodes, or of all: classes or numbers."""
    return predict_numbers(model, nodes) if model.graph.predicts_numbers else model.predict(nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What calibration nodes say of errors: an interval reaches ``factor`` times (spread + ``floor``) to both sides."""

    coverage: float
    factor: float  # q; infinite: too few calibration nodes for this coverage
    floor: float  # the median spread; if it is 0, the standard deviation of the cases' numbers
    calibrated: int  # calibration nodes
    guaranteed: bool  # False: calibrated on validation nodes, which chose the epoch and the vote

    def reach(self, spread: Float64Array) -> Float64Array:
        """How far the interval of each node reaches to both sides, [T]."""
        return self.factor * (spread + self.floor)

    def around(self, found: NumberPrediction) -> Intervals:
        """The intervals of some nodes."""
        reach = self.reach(found.spread)
        low, high = found.values - reach, found.values + reach
        return Intervals(nodes=found.nodes, values=found.values, low=low, high=high, **asdict(self))

    def summary(self) -> str:
        """What the intervals guarantee."""
        least, held = ("at least", "calibration") if self.guaranteed else ("about", "validation")
        return (
            f"Intervals contain the number of {least} {self.coverage:.1%} of nodes, calibrated on "
            f"{self.calibrated:,} {held} nodes."
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Intervals(Calibration):
    """An interval for the number of each of T nodes.

    Shapes:
        - **nodes**, **values** (predicted), **low**, **high:** :math:`(T,)`
    """

    nodes: IntArray
    values: Float64Array
    low: Float64Array
    high: Float64Array

    @property
    def widths(self) -> Float64Array:
        """High less low, [T]."""
        return self.high - self.low

    def holds(self, values: Float64Array) -> BoolArray:
        """Whether the known numbers (of all nodes of the graph) of these nodes lie in their intervals, [T]."""
        own = values[self.nodes]
        return (self.low <= own) & (own <= self.high)


def calibrate_intervals(
    model: Model, *, coverage: float = COVERAGE, calibrate_on: CalibrateOn = "auto"
) -> Calibration | None:
    """The errors of the calibration nodes; None without nodes to calibrate on if ``auto`` was requested.

    Args:
        model: a model that predicts numbers.
        coverage: 1 - alpha, between 0 and 1.
        calibrate_on: ``calibration`` nodes; ``validation`` nodes, which chose the epoch and the vote, so that coverage
            holds approximately; or ``auto``, the first of the two that there are.
    """
    check_coverage(coverage)
    named = "intervals", "--calibration 0.5 (in Python SEGNNRegressor(calibration=0.5))"
    nodes, guaranteed = calibration_nodes(model.graph, calibrate_on, get_args(CalibrateOn), *named)
    if not len(nodes):
        return None
    found = predict_numbers(model, nodes)
    values = model.graph.values
    floor = float(np.median(found.spread)) or float(np.std(values[model.graph.train])) or 1.0
    scores = np.abs(values[nodes] - found.values) / (found.spread + floor)
    return Calibration(
        coverage=float(coverage),
        factor=conformal_quantile(scores, coverage),
        floor=floor,
        calibrated=len(nodes),
        guaranteed=guaranteed,
    )


def prediction_intervals(
    model: Model, nodes: IntArray | None = None, *, coverage: float = COVERAGE, calibrate_on: CalibrateOn = "auto"
) -> Intervals:
    """Intervals that hold the number of a node with a probability of at least ``coverage``.

    The arguments are those of :func:`calibrate_intervals`.
    """
    calibration = calibrate_intervals(model, coverage=coverage, calibrate_on=calibrate_on)
    if calibration is None:
        raise InputError(f"{model.graph.name} has no calibration or validation nodes, which intervals need")
    return calibration.around(predict_numbers(model, nodes))


def check_coverage(coverage: float) -> None:
    """Refuse what is not a probability between 0 and 1."""
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage < 1:
        raise InputError(f"coverage must be between 0 and 1, such as 0.9, got {shortened(coverage)}")


def conformal_quantile(scores: Float64Array, coverage: float) -> float:
    """q: the ceil((n + 1) coverage)-th smallest of n scores, infinity where there are fewer.

    >>> conformal_quantile(np.array([0.3, 0.1, 0.2, 0.4]), 0.6), conformal_quantile(np.array([0.3]), 0.6)
    (0.3, inf)
    """
    rank = max(1, math.ceil((len(scores) + 1) * coverage - 1e-9))  # 10 * 0.9 is 9, whatever float64 makes of it
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def r_squared(predicted: Float64Array | FloatArray, truth: Float64Array) -> float:
    """R2, the share of the variance of some numbers that predictions explain; NaN for fewer than two different numbers.

    >>> r_squared(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    0.5
    """
    variance = float(np.square(truth - truth.mean()).sum()) if len(truth) else 0.0
    return 1 - float(np.square(predicted - truth).sum()) / variance if variance > 0 else float("nan")


def number_metrics(predicted: Float64Array, truth: Float64Array) -> dict[str, Any]:
    """All figures of some predicted numbers, in their unit; None if a figure is not defined.

    >>> number_metrics(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))["mae"].__round__(3)
    0.333
    """
    errors = np.abs(predicted - truth)
    some = len(errors) > 0
    return {
        "nodes": len(errors),
        "r2": known(r_squared(predicted, truth)),
        "mae": float(errors.mean()) if some else None,
        "rmse": float(np.sqrt(np.square(errors).mean())) if some else None,
        "median_error": float(np.median(errors)) if some else None,
    }


def number_figures(model: Model, nodes: IntArray) -> dict[str, Any]:
    """R2, MAE, RMSE and the median error of a model on some nodes, and how its 90% intervals fare there."""
    found = predict_numbers(model, nodes)
    figures = number_metrics(found.values, model.graph.values[nodes])
    calibration = calibrate_intervals(model)
    if calibration is None or not len(nodes):
        return {**figures, "interval_coverage": None, "interval_width": None}
    intervals = calibration.around(found)
    return {
        **figures,
        "interval_coverage": float(intervals.holds(model.graph.values).mean()),
        "interval_width": known(float(np.mean(intervals.widths))) if np.isfinite(intervals.widths).all() else None,
    }


def calibration_nodes(
    graph: Graph, calibrate_on: str, choices: Sequence[str], what: str, option: str
) -> tuple[IntArray, bool]:
    """The nodes to calibrate on, and whether coverage is guaranteed: not by validation nodes, which chose the epoch.

    An error says ``what`` needs calibration nodes, and with which ``option`` to train to have some.
    """
    if calibrate_on not in choices:
        raise InputError(f"calibrate_on must be {', '.join(choices)}, got {shortened(calibrate_on)}")
    if calibrate_on == "calibration" and not len(graph.calibration):
        raise InputError(
            f"{graph.name} has no calibration nodes, which {what} with a guarantee need: train with {option}, which "
            "holds out that share of the validation nodes, or calibrate on the validation nodes "
            "(calibrate_on=validation), where coverage is approximate"
        )
    if calibrate_on == "validation" and not len(graph.validation):
        raise InputError(f"{graph.name} has no validation nodes to calibrate on")
    if calibrate_on == "validation" or (calibrate_on == "auto" and not len(graph.calibration)):
        return graph.validation, False
    return graph.calibration, True
