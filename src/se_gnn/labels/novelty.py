r"""Nodes unlike anything known: a score, and a threshold at a stated rate of false alarms.

Training draws every node to one of the classes it knows, so that the embeddings of a node of an unknown class look as
familiar as any. The score is therefore not trained: it is based on the similarity of attributes, raw or smoothed over
the graph. With rows of H centered and of length 1, the known nodes A (labeled and validation nodes), Y one column per
class, and :math:`K = H H^T`, ridge regression predicts for a node v

.. math:: f(v) = K_{vA} (K_{AA} + \mu I)^{-1} Y, \qquad \mathrm{unlike}(v) = 1 - \max_c f_c(v).

It is near 0 if similar known nodes agree on a class, and near 1 if nothing known is similar. A known node is predicted
without itself, in closed form: :math:`f_i = y_i - (Q Y)_i / Q_{ii}` with :math:`Q = (K_{AA} + \mu I)^{-1}`. To choose
mu, and whether attributes are smoothed, each class of the known nodes is left out in turn: the choice that detects its
nodes best, by the mean area under the ROC curve, is used. Attributes of a very large graph are not smoothed. Labels of
test nodes are not read. Shapes: N nodes, T asked
about, M known, F features, C classes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from se_gnn.errors import InputError, shortened
from se_gnn.explain import Abstention
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, IntArray
from se_gnn.labels.smoothing import attribute_columns, smoothable, unit_rows, without_itself
from se_gnn.model import Model
from se_gnn.model.numbers import conformal_quantile, predict_numbers

FALSE_ALARMS = 0.05
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)  # mu
MOST = 3000  # known nodes; more are drawn
AT_A_TIME = 50_000_000  # numbers of rows that are read at a time
MOST_PAIRS = 50_000_000  # of nodes and known nodes that are compared without being asked to


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Novelty:
    """How unlike everything known T nodes are, and the score above which the model abstains.

    Shapes:
        - **nodes**, **score:** :math:`(T,)`
    """

    nodes: IntArray
    score: Float64Array
    threshold: float
    false_alarms: float
    judged: int  # nodes that the threshold was taken from
    smoothed: bool = False  # attributes smoothed over the graph
    ridge: float = 0.0  # mu
    simulated: float | None = None  # mean area under the ROC curve with a known class left out; None: one class alone

    @property
    def abstains(self) -> BoolArray:
        """Nodes that are too unlike everything known, [T]."""
        return np.asarray(self.score > self.threshold)

    def of(self, nodes: IntArray) -> Novelty:
        """Some of the nodes."""
        order = np.argsort(self.nodes)
        rows = order[np.searchsorted(self.nodes[order], nodes)]
        return replace(self, nodes=nodes, score=self.score[rows])

    def abstention(self, node: int) -> Abstention | None:
        """Why the model abstains, for the explanation of one of the nodes; None: it answers."""
        score = float(self.of(np.array([node])).score[0])
        return Abstention(score, self.threshold, self.false_alarms) if score > self.threshold else None


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """What is known, and from which score a node is too unlike it: everything but the scores of other nodes."""

    score: Callable[[IntArray], Float64Array]  # gives the scores of some nodes
    about: dict[str, Any]  # threshold and choices, as `Novelty` has them

    def of(self, nodes: IntArray) -> Novelty:
        """Score some nodes."""
        return Novelty(nodes=nodes, score=self.score(nodes), **self.about)

    def abstention(self, node: int) -> Abstention | None:
        """Why the model abstains, for the explanation of a node; None: it answers."""
        return self.of(np.array([node])).abstention(node)


def novelty(
    trained: Model, nodes: IntArray | None = None, *, false_alarms: float = FALSE_ALARMS, seed: int = 0
) -> Novelty:
    """Score some nodes; the model abstains for a share of ``false_alarms`` of nodes like the validation nodes.

    These are the labeled nodes if there are no validation nodes. ``seed`` draws known nodes if there are more than
    3,000. The parameters of the model are not read, unless it predicts numbers.
    """
    wanted = np.arange(trained.graph.num_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
    return judge(trained, false_alarms=false_alarms, seed=seed).of(wanted)


def judge(trained: Model, *, false_alarms: float = FALSE_ALARMS, seed: int = 0) -> Judge:
    """What scores any nodes; the arguments are those of :func:`novelty`."""
    graph = trained.graph
    if isinstance(false_alarms, bool) or not isinstance(false_alarms, int | float) or not 0 < false_alarms < 1:
        raise InputError(f"false_alarms must be a share between 0 and 1, such as 0.05, got {shortened(false_alarms)}")
    if graph.predicts_numbers:
        judged = graph.validation if len(graph.validation) else graph.train
        return Judge(partial(_far_from_cases, trained), _cut(_far_from_cases(trained, judged), false_alarms))
    known = np.union1d(graph.train, graph.validation)
    if len(known) > MOST:
        known = np.sort(np.random.default_rng(seed).choice(known, MOST, replace=False))
    targets = np.eye(graph.num_classes)[graph.labels[known]]
    found = []
    for smoothed in (True, False) if smoothable(graph) else (False,):
        kernel, scale = similarities(graph, known, known, smoothed=smoothed)  # [M, M], [M]
        for ridge in RIDGES:
            inverse: Float64Array = np.linalg.inv(kernel + ridge * np.eye(len(known))).astype(np.float64)
            found.append((left_out(kernel, inverse, graph.labels[known]), smoothed, ridge, scale, inverse))
    best = max(found, key=lambda one: -1.0 if one[0] is None else one[0])  # of equals the first
    simulated, smoothed, ridge, scale, inverse = best
    of_known = without_itself(inverse, targets)  # [M, C]
    weights = scale[:, None] * (inverse @ targets)

    def score(nodes: IntArray) -> Float64Array:
        step = max(1, len(nodes) if smoothable(graph) else AT_A_TIME // graph.num_features)
        parts = [nodes[low : low + step] for low in range(0, max(1, len(nodes)), step)]
        answers = np.concatenate([_answers(graph, part, known, weights, smoothed=smoothed) for part in parts])  # [T, C]
        itself = np.isin(nodes, known)
        answers[itself] = of_known[np.searchsorted(known, nodes[itself])]
        return np.asarray(1 - answers.max(axis=1))

    held_out = np.isin(known, graph.validation if len(graph.validation) else graph.train)
    about = _cut(1 - of_known[held_out].max(axis=1), false_alarms)
    return Judge(score, {**about, "smoothed": smoothed, "ridge": ridge, "simulated": simulated})


def _far_from_cases(trained: Model, nodes: IntArray) -> Float64Array:
    """The score if numbers are predicted: minus the similarity of the voting cases, weighted by their votes."""
    found = predict_numbers(trained, nodes)
    overall = np.where(np.isfinite(found.overall), found.overall, 0).astype(np.float64)
    return np.asarray(-(found.weights * overall).sum(axis=1))


def _cut(of_known: Float64Array, false_alarms: float) -> dict[str, Any]:
    """The threshold that a share of ``false_alarms`` of the known scores lies above."""
    threshold = conformal_quantile(of_known, 1 - false_alarms)
    if math.isinf(threshold):
        needed = math.ceil(1 / false_alarms - 1 - 1e-9)
        warnings.warn(
            f"false_alarms = {false_alarms:g} needs at least {needed} nodes to set the threshold, there are "
            f"{len(of_known)}: every node gets an answer",
            stacklevel=4,
        )
    return {"threshold": threshold, "false_alarms": false_alarms, "judged": len(of_known)}


def page_novelty(trained: Model) -> Judge | None:
    """What judges the nodes of a page; where nodes cannot be scored alone, all of them are scored here, once.

    None: it would take too long to be done unasked. If there are too few known nodes for a threshold, every node has an
    answer, without a warning.
    """
    graph = trained.graph
    alone = graph.predicts_numbers or not smoothable(graph)
    if not alone and graph.num_nodes * min(MOST, len(graph.train) + len(graph.validation)) > MOST_PAIRS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = judge(trained, seed=trained.facts.seed)
    if alone:
        return found
    scores = found.score(np.arange(graph.num_nodes))
    return replace(found, score=lambda nodes: scores[nodes])


def similarities(graph: Graph, rows: IntArray, known: IntArray, *, smoothed: bool) -> tuple[Float64Array, Float64Array]:
    """Cosine of the centered attributes, smoothed or not, of some nodes and the known ones, [R, M].

    A node without attributes has 0. The second result is the factor that scales each known node to length 1, [M].
    """
    count, products, squares = len(rows), np.zeros((len(rows), len(known))), np.zeros(len(rows) + len(known))
    for block in _centered(graph, np.concatenate([rows, known]), smoothed=smoothed):
        products += block[:count] @ block[count:].T
        squares += (block**2).sum(axis=1)
    scale = _to_one(squares)
    return products * scale[:count, None] * scale[count:], scale[count:]


def _to_one(squares: Float64Array) -> Float64Array:
    """What scales a row to length 1, from its squared length; 0 for a row of zeros."""
    return np.asarray(1 / np.sqrt(np.where(squares > 1e-12, squares, np.inf)))


def _centered(graph: Graph, nodes: IntArray, *, smoothed: bool) -> Iterator[Float64Array]:
    """The attributes of some nodes less the mean of all, some columns at a time, [n, b].

    Those of a graph that is too large to smooth are read for these nodes alone, and their mean is that of a sample.
    """
    if smoothed or smoothable(graph):
        yield from ((block - block.mean(axis=0))[nodes] for block in attribute_columns(graph, smoothed=smoothed))
        return
    features = graph.nodes.features
    yield unit_rows(features.take(nodes)).toarray() - np.asarray(unit_rows(features.sample()).mean(axis=0))


def _answers(graph: Graph, nodes: IntArray, known: IntArray, weights: Float64Array, *, smoothed: bool) -> Float64Array:
    """Products of nodes, scaled to length 1, and known ones times weights of these, [T, C]; no cosine is in memory."""
    count, answers, squares = len(known), np.zeros((len(nodes), weights.shape[1])), np.zeros(len(nodes))
    for block in _centered(graph, np.concatenate([known, nodes]), smoothed=smoothed):
        answers += block[count:] @ (block[:count].T @ weights)
        squares += (block[count:] ** 2).sum(axis=1)
    return np.asarray(answers * _to_one(squares)[:, None])


def left_out(kernel: Float64Array, inverse: Float64Array, labels: IntArray) -> float | None:
    """Mean area under the ROC curve of telling a class that is left out, over the classes; None for one class.

    The inverse without the rows of a class follows from the whole one (Schur complement):
    :math:`Q_{aa} - Q_{ab} Q_{bb}^{-1} Q_{ba}`.
    """
    from sklearn.metrics import roc_auc_score  # takes a second to import: a server starts without it

    classes = np.unique(labels)
    if len(classes) < 2:
        return None
    areas = []
    for label in classes:
        out = labels == label
        a, b = np.flatnonzero(~out), np.flatnonzero(out)
        rest = inverse[np.ix_(a, a)] - inverse[np.ix_(a, b)] @ np.linalg.solve(
            inverse[np.ix_(b, b)], inverse[np.ix_(b, a)]
        )
        targets = (labels[a][:, None] == np.setdiff1d(classes, label)).astype(np.float64)
        familiar = np.concatenate([without_itself(rest, targets), kernel[np.ix_(b, a)] @ (rest @ targets)]).max(axis=1)
        areas.append(roc_auc_score(np.repeat([0, 1], [len(a), len(b)]), -familiar))
    return float(np.mean(areas))
