r"""Nodes unlike anything known: a score, and a threshold at a stated rate of false alarms.

Training draws every node to one of the classes it knows, so that the embeddings of a node of an unknown class look as
familiar as any. The witness is therefore not trained: similarity of attributes, smoothed over the graph or as they are.
With rows of H centered and of length 1, the known nodes A (labeled and validation nodes), Y one column per class, and
:math:`K = H H^T`, ridge regression says of a node v

.. math:: f(v) = K_{vA} (K_{AA} + \mu I)^{-1} Y, \qquad \mathrm{unlike}(v) = 1 - \max_c f_c(v).

It is near 0 where similar known nodes agree on a class, and near 1 where nothing known is similar. Of a known node the
answer is the one without itself, in closed form: :math:`f_i = y_i - (Q Y)_i / Q_{ii}` with
:math:`Q = (K_{AA} + \mu I)^{-1}`. Smoothed or not, and mu, are those that tell a class best that is left out: each
class of the known nodes is taken for unknown in turn, and the mean area under the ROC curve decides. Labels of test
nodes are not looked at. Shapes: N nodes, T asked about, M known, F features, C classes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError, shortened
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray
from se_gnn.labels.sets import quantile
from se_gnn.model import TrainedModel

Values = npt.NDArray[np.float64]
FALSE_ALARMS = 0.05
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)  # mu
STEPS, TELEPORT = 10, 0.1  # of the smoothing: Z <- (1 - a) S Z + a X
MOST = 3000  # known nodes; more are drawn
COLUMNS = 512  # features at a time
MOST_PAIRS = 50_000_000  # of nodes and known nodes that are compared without being asked to


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Novelty:
    """How unlike everything known T nodes are, and from where on there is no answer.

    Shapes:
        - **nodes**, **score:** :math:`(T,)`
    """

    nodes: IntArray
    score: Values
    threshold: float
    false_alarms: float
    judged: int  # nodes that the threshold was taken from
    smoothed: bool  # attributes smoothed over the graph
    ridge: float  # mu
    simulated: float | None  # mean area under the ROC curve with a known class left out; None: one class alone

    @property
    def abstains(self) -> BoolArray:
        """Nodes that are too unlike everything known, [T]."""
        return np.asarray(self.score > self.threshold)


def novelty(
    trained: TrainedModel, nodes: IntArray | None = None, *, false_alarms: float = FALSE_ALARMS, seed: int = 0
) -> Novelty:
    """Score some nodes; of nodes like the validation nodes a share of ``false_alarms`` is without an answer.

    Args:
        trained: a model; its graph, labels and split are looked at, its parameters are not.
        nodes: ids; None: all.
        false_alarms: share of the validation nodes (of the labeled nodes where there are none) above the threshold.
        seed: draws known nodes where there are more than 3,000.
    """
    graph = trained.graph
    _check(false_alarms)
    wanted = np.arange(graph.num_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
    known = np.union1d(graph.train, graph.validation)
    if len(known) > MOST:
        known = np.sort(np.random.default_rng(seed).choice(known, MOST, replace=False))
    targets = np.eye(graph.num_classes)[graph.labels[known]]
    rows = np.union1d(wanted, known)
    among = np.searchsorted(rows, known)
    found = []
    for smoothed in (True, False):
        kernel = similarities(graph, rows, known, smoothed=smoothed)  # [rows, M]
        for ridge in RIDGES:
            inverse: Values = np.linalg.inv(kernel[among] + ridge * np.eye(len(known))).astype(np.float64)
            found.append((left_out(kernel[among], inverse, graph.labels[known]), smoothed, ridge, kernel, inverse))
    best = max(found, key=lambda one: -1.0 if one[0] is None else one[0])  # of equals the first
    simulated, smoothed, ridge, kernel, inverse = best
    answers = kernel @ (inverse @ targets)
    answers[among] = without_itself(inverse, targets)
    score = 1 - answers.max(axis=1)
    judged = np.isin(known, graph.validation if len(graph.validation) else graph.train)
    threshold = quantile(score[among][judged], 1 - false_alarms)
    if math.isinf(threshold):
        needed = math.ceil(1 / false_alarms - 1 - 1e-9)
        warnings.warn(
            f"false_alarms = {false_alarms:g} takes at least {needed} nodes to take the threshold from, there are "
            f"{judged.sum()}: every node has an answer",
            stacklevel=2,
        )
    return Novelty(
        nodes=wanted,
        score=score[np.searchsorted(rows, wanted)],
        threshold=threshold,
        false_alarms=false_alarms,
        judged=int(judged.sum()),
        smoothed=smoothed,
        ridge=ridge,
        simulated=simulated,
    )


def novelty_of_all(trained: TrainedModel) -> Novelty | None:
    """All nodes scored, as a page shows them; None where the graph is too large to do it unasked.

    Where known nodes are too few for a threshold, every node has an answer, without a warning.
    """
    graph = trained.graph
    if graph.num_nodes * min(MOST, len(graph.train) + len(graph.validation)) > MOST_PAIRS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return novelty(trained)


def similarities(graph: Graph, rows: IntArray, known: IntArray, *, smoothed: bool) -> Values:
    """Cosine of the centered attributes, smoothed or not, of some nodes and the known ones, [R, M].

    A node without attributes has 0. Features come some at a time, so that no dense [N, F] is needed.
    """
    products, lengths = np.zeros((len(rows), len(known))), np.zeros(graph.num_nodes)
    for block in _attribute_blocks(graph, smoothed=smoothed):
        block = block - block.mean(axis=0)
        products += block[rows] @ block[known].T
        lengths += (block**2).sum(axis=1)
    scale = 1 / np.sqrt(np.where(lengths > 1e-12, lengths, np.inf))
    cosines: Values = products * scale[rows, None] * scale[known]
    return cosines


def without_itself(inverse: Values, targets: Values) -> Values:
    """What the ridge regression without each known node says of it, [M, C]."""
    answers: Values = targets - (inverse @ targets) / inverse.diagonal()[:, None]
    return answers


def left_out(kernel: Values, inverse: Values, labels: IntArray) -> float | None:
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


def _attribute_blocks(graph: Graph, *, smoothed: bool) -> Iterator[Values]:
    """Attributes with rows of length 1, some columns at a time, [N, b]."""
    features = sp.csr_array(graph.features).astype(np.float64)
    lengths = np.sqrt(np.asarray(features.multiply(features).sum(axis=1)).ravel())
    scaled = sp.csc_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ features)
    step = _smoothing(graph)
    for low in range(0, graph.num_features, COLUMNS):
        start = scaled[:, low : low + COLUMNS].toarray()
        block = start
        for _ in range(STEPS if smoothed else 0):
            block = (1 - TELEPORT) * (step @ block) + TELEPORT * start
        yield block


def _smoothing(graph: Graph) -> sp.csr_array:
    """S = D^-1/2 (A + I) D^-1/2, [N, N]."""
    n, adjacency = graph.num_nodes, graph.adjacency
    ones = sp.csr_array((np.ones(len(adjacency.data)), adjacency.indices, adjacency.indptr), (n, n))
    scale = sp.diags_array(1 / np.sqrt(graph.degrees + 1.0))
    return sp.csr_array(scale @ (ones + sp.eye_array(n)) @ scale)


def _check(false_alarms: float) -> None:
    if isinstance(false_alarms, bool) or not isinstance(false_alarms, int | float) or not 0 < false_alarms < 1:
        raise InputError(f"false_alarms must be a share between 0 and 1, such as 0.05, got {shortened(false_alarms)}")
