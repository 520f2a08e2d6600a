r"""Prediction sets with a guarantee: split conformal prediction. Shapes: T nodes, C classes, n calibration nodes.

Every class of a node has a score, high if the class would be unusual. With the scores of the known classes of n
calibration nodes, q is the :math:`\lceil (n + 1)(1 - \alpha) \rceil`-th smallest (infinity if there are fewer), and a
set holds the classes with a score of at most q. If calibration nodes and asked nodes are exchangeable, the known class
of an asked node is in its set with probability 1 - alpha at least, and at most 1 - alpha + 1 / (n + 1) without ties,
whatever the model is. By class, q is taken from the calibration nodes of each class, and the guarantee holds for each.

All scores start from class probabilities. The vote gives many classes exactly 0, and a threshold cannot separate ties;
so a little of the probability is shared by how similar the nearest case of each class is:

.. math:: \pi_c = (1 - \epsilon) \, p_c + \epsilon \, \mathrm{softmax}_c(s_c / \tau),

with s_c the similarity of the most similar labeled node of class c, and epsilon = 0.1.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import softmax

from se_gnn.errors import InputError, shortened
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.model import Model
from se_gnn.model.numbers import COVERAGE, calibration_nodes, check_coverage, conformal_quantile
from se_gnn.ranking import NearestPerClass, nearest_per_class

Scores = npt.NDArray[np.float64]
SHARED = 0.1  # epsilon
DIFFUSED = 0.5  # share of a DAPS score that the neighbors in the graph give


def shared_probabilities(probabilities: FloatArray, case_similarity: FloatArray, temperature: float) -> Scores:
    """pi, [T, C], from the vote [T, C] and the similarity of the nearest case of each class [T, C]."""
    scaled = case_similarity.astype(np.float64) / temperature
    scaled[~np.isfinite(scaled).any(axis=1)] = 0  # without any case all classes share alike
    pi: Scores = (1 - SHARED) * probabilities.astype(np.float64) + SHARED * softmax(scaled, axis=1)
    return pi


def lac_scores(probabilities: Scores) -> Scores:
    """Least ambiguous set-valued classifier (Sadinle, Lei and Wasserman, 2019): 1 - pi_c, [T, C]."""
    return 1 - probabilities


def aps_scores(probabilities: Scores, draws: Scores) -> Scores:
    """Adaptive prediction sets (Romano, Sesia and Candes, 2020): the probability of all likelier classes, and its own.

    Args:
        probabilities: pi, [T, C].
        draws: a uniform number from 0 to 1 per node, [T], the share of its own probability that counts: with it the
            coverage is met exactly; with 1, without chance, more would be covered than was asked for.

    >>> aps_scores(np.array([[0.5, 0.2, 0.3]]), np.array([0.5])).round(3).tolist()
    [[0.25, 0.9, 0.65]]
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    sums = np.cumsum(ranked, axis=1) - (1 - draws[:, None]) * ranked
    scores = np.empty_like(sums)
    np.put_along_axis(scores, order, sums, axis=1)
    return scores


def diffused(scores: Scores, nodes: IntArray, graph: Graph, wanted: IntArray) -> Scores:
    r"""DAPS (Zargarbashi, Antonelli and Bojchevski, 2023): half the own score, half the mean of the neighbors'.

    .. math:: \hat s(v, c) = (1 - \delta) \, s(v, c) + \frac{\delta}{|N_v|} \sum_{u \in N_v} s(u, c)

    Labels are not looked at, so that nodes stay exchangeable. A node without edges keeps its own score. Given are the
    scores [T, C] of ascending ``nodes`` [T], which hold the ``wanted`` ones [W] and all their neighbors; the result is
    [W, C].
    """
    ascending, back = np.unique(wanted, return_inverse=True)
    ptr, others, _ = graph.neighbors().rows(ascending)
    rows = sp.csr_array((np.ones(len(others)), others, ptr), (len(ascending), graph.num_nodes))[back]
    rows.sum_duplicates()  # a neighbor by several edges is one neighbor
    rows.data[:] = 1
    degrees = np.diff(rows.indptr)
    places = np.searchsorted(nodes, rows.indices)
    sums = sp.csr_array((rows.data, places, rows.indptr), (len(wanted), len(nodes))) @ scores
    own = scores[np.searchsorted(nodes, wanted)]
    mixed = (1 - DIFFUSED) * own + DIFFUSED * sums / np.maximum(degrees, 1)[:, None]
    return np.where(degrees[:, None] > 0, mixed, own)


SetMethod = Literal["lac", "aps", "daps"]
CalibratedOn = Literal["calibration", "validation"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SetRule:
    """Thresholds that calibration nodes decided once, and the sets that they cut for any nodes of the graph."""

    thresholds: Scores  # q of each class, all the same unless `by_class`, [C]
    calibrated: IntArray  # calibration nodes of each class, [C]
    coverage: float
    method: SetMethod
    by_class: bool
    guaranteed: bool  # False: calibrated on nodes that chose the epoch
    seed: int

    def sets(self, model: Model, nodes: IntArray | None = None) -> PredictionSets:
        """The sets of some nodes, or of all."""
        wanted = np.arange(model.graph.num_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        ascending, rows = np.unique(wanted, return_inverse=True)
        cases, scores = _scores(model, ascending, self.method, self.seed)
        own: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(SetRule)}
        members = scores[rows] <= self.thresholds
        return PredictionSets(nodes=wanted, members=members, scores=scores[rows], cases=cases.rows(rows), **own)


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionSets(SetRule):
    """The classes that each of T nodes may have, and the nearest case of every class.

    Shapes:
        - **nodes:** :math:`(T,)`, **members**, **scores:** :math:`(T, C)`
    """

    nodes: IntArray
    members: BoolArray
    scores: Scores
    cases: NearestPerClass

    def summary(self) -> str:
        """What the sets guarantee, and how large they are."""
        of = "each class" if self.by_class else "all nodes"
        least = "at least" if self.guaranteed else "about"
        return (
            f"Prediction sets ({self.method.upper()}) contain the correct class for {least} {self.coverage:.1%} of "
            f"{of}, calibrated on {int(self.calibrated.sum()):,} nodes: {self.mean_size:.2f} classes per set, "
            f"{int((self.sizes == 1).sum()):,} with one class, {int((self.sizes == 0).sum()):,} empty."
        )

    @property
    def sizes(self) -> IntArray:
        """Classes in each set, [T]; 0 where no class fits."""
        return np.asarray(self.members.sum(axis=1), dtype=np.int64)

    @property
    def mean_size(self) -> float:
        """Classes per set; NaN without nodes."""
        return float(self.sizes.mean()) if len(self.nodes) else float("nan")

    def classes(self, i: int) -> IntArray:
        """Classes of the i-th set, the lowest score first."""
        found = np.flatnonzero(self.members[i])
        return found[np.argsort(self.scores[i, found], kind="stable")]

    def covered(self, labels: IntArray) -> float:
        """Share of the nodes whose known class (``labels`` of all nodes) is in the set; NaN without nodes."""
        known = self.members[np.arange(len(self.nodes)), labels[self.nodes]]
        return float(known.mean()) if len(known) else float("nan")


def set_rule(
    model: Model,
    *,
    coverage: float = COVERAGE,
    method: SetMethod = "aps",
    by_class: bool = False,
    calibrate_on: CalibratedOn = "calibration",
    seed: int = 0,
) -> SetRule:
    """Calibrate prediction sets that hold the class of a node with a probability of at least ``coverage``.

    Args:
        model: a model whose graph has calibration nodes.
        coverage: 1 - alpha, between 0 and 1.
        method: ``lac`` (smallest sets), ``aps`` (sets that grow where a node is hard; with uniform draws) or ``daps``
            (``aps`` scores averaged over the neighbors in the graph).
        by_class: keep the guarantee for each class.
        calibrate_on: ``validation`` uses the nodes that chose the epoch, if none were held out: coverage then holds
            approximately, and a warning says so.
        seed: random seed for the draws of ``aps`` and ``daps``, one per node of the graph.
    """
    graph = model.graph
    if graph.predicts_numbers:
        raise InputError(f"prediction sets hold classes; {graph.name} has a number to predict, which has intervals")
    check_coverage(coverage)
    if method not in get_args(SetMethod):
        raise InputError(f"method must be {', '.join(get_args(SetMethod))}, got {shortened(method)}")
    named = "sets", "--calibration 0.3 (in Python SEGNNClassifier(calibration=0.3))"
    nodes, guaranteed = calibration_nodes(graph, calibrate_on, get_args(CalibratedOn), *named)
    if not guaranteed:
        warnings.warn(
            "calibrated on validation nodes, which chose the epoch: coverage holds approximately, not with a guarantee",
            stacklevel=2,
        )
    held = np.unique(nodes)
    labels = graph.labels[held]
    own = _scores(model, held, method, seed)[1][np.arange(len(held)), labels]  # [n]
    counts = np.bincount(labels, minlength=graph.num_classes)
    if by_class:
        by_label = (own[labels == label] for label in range(graph.num_classes))
        thresholds = np.array([conformal_quantile(scores, coverage) for scores in by_label])
    else:
        thresholds = np.full(graph.num_classes, conformal_quantile(own, coverage))
    _warn_of_full_sets(graph, thresholds, counts, coverage, by_class=by_class)
    return SetRule(
        thresholds=thresholds,
        calibrated=counts,
        coverage=coverage,
        method=method,
        by_class=by_class,
        guaranteed=guaranteed,
        seed=seed,
    )


def prediction_sets(model: Model, nodes: IntArray | None = None, **asked: Any) -> PredictionSets:
    """Sets of some nodes, or of all; the other arguments are those of :func:`set_rule`."""
    return set_rule(model, **asked).sets(model, nodes)


def _scores(trained: Model, nodes: IntArray, method: SetMethod, seed: int) -> tuple[NearestPerClass, Scores]:
    """Cases and scores of some nodes, ascending, [T, C] each."""
    graph = trained.graph
    looked_at = nodes
    if method == "daps":
        looked_at = np.union1d(nodes, graph.neighbors().rows(nodes)[1])
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


def _warn_of_full_sets(graph: Graph, thresholds: Scores, counts: IntArray, coverage: float, *, by_class: bool) -> None:
    """Warn if a class, or all, must be in every set because there are too few calibration nodes."""
    open_ended = np.flatnonzero(np.isinf(thresholds))
    if not len(open_ended):
        return
    needed = math.ceil(coverage / (1 - coverage) - 1e-9)
    if by_class:
        named = ", ".join(f"{graph.class_names[c]!r} ({counts[c]})" for c in open_ended[:10])
        message = f"{needed} calibration nodes per class; these classes have fewer and are in every set: {named}"
    else:
        message = f"{needed} calibration nodes, there are {counts.sum()}: every set holds all classes"
    warnings.warn(f"coverage {coverage:g} needs at least {message}", stacklevel=4)
