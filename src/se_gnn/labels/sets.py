r"""Prediction sets with a guarantee: split conformal prediction. Shapes: T nodes, C classes, n calibration nodes.

Every class of a node has a score (`se_gnn.labels.scores`), high where the class would be strange. With the scores of
the known classes of n calibration nodes, q is the :math:`\lceil (n + 1)(1 - \alpha) \rceil`-th smallest (infinity where
there are fewer), and a set holds the classes with a score of at most q. If calibration nodes and asked nodes are
exchangeable, the known class of an asked node is in its set with probability 1 - alpha at least, and at most
1 - alpha + 1 / (n + 1) without ties, whatever the model is. By class, q is taken from the calibration nodes of each
class, and the promise holds for each class.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from se_gnn.errors import InputError, shortened
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray
from se_gnn.labels.scores import Scores, aps_scores, diffused, lac_scores, shared_probabilities
from se_gnn.model import TrainedModel
from se_gnn.ranking import NearestPerClass, nearest_per_class

SetMethod = Literal["lac", "aps", "daps"]
CalibratedOn = Literal["calibration", "validation"]
COVERAGE = 0.9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PredictionSets:
    """The classes that each of T nodes may have, and the nearest case of every class.

    Shapes:
        - **nodes:** :math:`(T,)`, **members**, **scores:** :math:`(T, C)`
        - **thresholds:** :math:`(C,)` q of each class, all the same unless ``by_class``
        - **calibrated:** :math:`(C,)` calibration nodes of each class
    """

    nodes: IntArray
    members: BoolArray
    scores: Scores
    thresholds: Scores
    calibrated: IntArray
    cases: NearestPerClass
    coverage: float
    method: SetMethod
    by_class: bool
    guaranteed: bool  # False: calibrated on nodes that chose the epoch

    @property
    def sizes(self) -> IntArray:
        """Classes in each set, [T]; 0 where no class fits."""
        return np.asarray(self.members.sum(axis=1), dtype=np.int64)

    @property
    def mean_size(self) -> float:
        """Classes per set; NaN without nodes."""
        return float(self.sizes.mean()) if len(self.nodes) else float("nan")

    def classes(self, i: int) -> IntArray:
        """Classes of the i-th set, the least strange first."""
        found = np.flatnonzero(self.members[i])
        return found[np.argsort(self.scores[i, found], kind="stable")]

    def covered(self, labels: IntArray) -> float:
        """Share of the nodes whose known class (``labels`` of all nodes) is in the set; NaN without nodes."""
        known = self.members[np.arange(len(self.nodes)), labels[self.nodes]]
        return float(known.mean()) if len(known) else float("nan")


def prediction_sets(
    trained: TrainedModel,
    nodes: IntArray | None = None,
    *,
    coverage: float = COVERAGE,
    method: SetMethod = "aps",
    by_class: bool = False,
    calibrate_on: CalibratedOn = "calibration",
    seed: int = 0,
) -> PredictionSets:
    """Sets that hold the class of a node with a probability of at least ``coverage``.

    Args:
        trained: a model whose graph has calibration nodes.
        nodes: ids; None: all.
        coverage: 1 - alpha, between 0 and 1.
        method: ``lac`` (smallest sets), ``aps`` (sets that grow where a node is hard; with uniform draws) or ``daps``
            (``aps`` scores averaged over the neighbors in the graph).
        by_class: keep the promise for each class.
        calibrate_on: ``validation`` takes nodes that chose the epoch where none were held out: the promise then holds
            approximately, and a warning says so.
        seed: of the draws of ``aps`` and ``daps``, one per node of the graph.
    """
    graph = trained.graph
    _check(coverage, method)
    held = _calibration_nodes(graph, calibrate_on)
    wanted = np.arange(graph.num_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
    everyone = np.union1d(wanted, held)
    cases, scores = _scores(trained, everyone, method, seed)
    own = scores[np.searchsorted(everyone, held), graph.labels[held]]  # [n]
    counts = np.bincount(graph.labels[held], minlength=graph.num_classes)
    if by_class:
        thresholds = np.array([quantile(own[graph.labels[held] == c], coverage) for c in range(graph.num_classes)])
    else:
        thresholds = np.full(graph.num_classes, quantile(own, coverage))
    _warn_of_full_sets(graph, thresholds, counts, coverage, by_class=by_class)
    rows = np.searchsorted(everyone, wanted)
    return PredictionSets(
        nodes=wanted,
        members=scores[rows] <= thresholds,
        scores=scores[rows],
        thresholds=thresholds,
        calibrated=counts,
        cases=cases.rows(rows),
        coverage=coverage,
        method=method,
        by_class=by_class,
        guaranteed=calibrate_on == "calibration",
    )


def quantile(scores: Scores, coverage: float) -> float:
    """q: the ceil((n + 1) coverage)-th smallest of n scores, infinity where there are fewer.

    >>> quantile(np.array([0.3, 0.1, 0.2, 0.4]), 0.6), quantile(np.array([0.3]), 0.6)
    (0.3, inf)
    """
    rank = max(1, math.ceil((len(scores) + 1) * coverage - 1e-9))  # 10 * 0.9 is 9, whatever float64 makes of it
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def _scores(trained: TrainedModel, nodes: IntArray, method: SetMethod, seed: int) -> tuple[NearestPerClass, Scores]:
    """Cases and scores of some nodes, ascending, [T, C] each."""
    graph = trained.graph
    looked_at = nodes
    if method == "daps":
        adjacency = graph.adjacency[nodes]
        looked_at = np.union1d(nodes, adjacency.indices)
    cases = nearest_per_class(trained.rank(looked_at))
    vote = trained.predict(looked_at).probabilities
    pi = shared_probabilities(vote, cases.similarity, trained.settings.vote.temperature)
    if method == "lac":
        return cases, lac_scores(pi)
    draws = np.random.default_rng(seed).random(graph.num_nodes)  # a node has the same draw whoever else is asked about
    scores = aps_scores(pi, draws[looked_at])
    if method == "aps":
        return cases, scores
    rows = np.searchsorted(looked_at, nodes)
    return cases.rows(rows), diffused(scores, looked_at, graph, nodes)


def _check(coverage: float, method: str) -> None:
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage < 1:
        raise InputError(f"coverage must be between 0 and 1, such as 0.9, got {shortened(coverage)}")
    if method not in get_args(SetMethod):
        raise InputError(f"method must be {', '.join(get_args(SetMethod))}, got {shortened(method)}")


def _calibration_nodes(graph: Graph, calibrate_on: str) -> IntArray:
    if calibrate_on not in get_args(CalibratedOn):
        raise InputError(f"calibrate_on must be {' or '.join(get_args(CalibratedOn))}, got {shortened(calibrate_on)}")
    if calibrate_on == "validation":
        if not len(graph.validation):
            raise InputError(f"{graph.name} has no validation nodes to calibrate on")
        warnings.warn(
            "calibrated on validation nodes, which chose the epoch: coverage holds approximately, not with a guarantee",
            stacklevel=3,
        )
        return graph.validation
    if not len(graph.calibration):
        raise InputError(
            f"{graph.name} has no calibration nodes, which sets with a guarantee need: train with --calibration 0.3 "
            "(in Python SEGNNClassifier(calibration=0.3)), which holds out that share of the validation nodes, or "
            "calibrate on the validation nodes (--calibrate-on validation), where coverage is approximate"
        )
    return graph.calibration


def _warn_of_full_sets(graph: Graph, thresholds: Scores, counts: IntArray, coverage: float, *, by_class: bool) -> None:
    """A class, or all, that must be in every set because there are too few calibration nodes."""
    open_ended = np.flatnonzero(np.isinf(thresholds))
    if not len(open_ended):
        return
    needed = math.ceil(coverage / (1 - coverage) - 1e-9)
    if by_class:
        named = ", ".join(f"{graph.class_names[c]!r} ({counts[c]})" for c in open_ended[:10])
        told = f"{needed} calibration nodes per class; fewer, so in every set: {named}"
    else:
        told = f"{needed} calibration nodes, there are {counts.sum()}: every set holds all classes"
    warnings.warn(f"coverage {coverage:g} takes at least {told}", stacklevel=4)
