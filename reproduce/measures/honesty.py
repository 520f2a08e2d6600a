"""How far a trained model can be believed: what the audit finds, how well probabilities hold, and accuracy.

Everything is measured on drawn tables (:mod:`lab.datasets.table_sets`) or on a data set by name, as given or with a
share of the labels flipped. Drawn tables are judged on every node that the model neither learned from nor chose by; a
data set on its test nodes. Accuracy is measured by the right classes, calibration by classes that are flipped as often
as the labels: a model can know how often given labels are what it says, not which of them are right. Shapes: N nodes,
T judged nodes, L labeled nodes, C classes.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lab.datasets import load_dataset
from lab.datasets.table_sets import PLANS, table_set
from reproduce.job import Job
from reproduce.measures.default import calibration_by_chance
from reproduce.methods import asked
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.labels import audit
from se_gnn.labels.retrained import retrained_votes
from se_gnn.model.metrics import calibrate
from se_gnn.settings import Settings
from se_gnn.training import fit

SURE = 0.99
TREES = 200


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A graph, which of its labels are wrong, and what its predictions are judged by."""

    graph: Graph
    wrong: BoolArray  # of the labeled nodes, [L]
    judged: IntArray  # node ids, [T]
    truth: IntArray  # their right classes, [T]
    given: IntArray  # their classes as a table would give them, some of them flipped, [T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Honesty:
    """What was measured on one task; shares between 0 and 1, None where there is nothing to measure."""

    cases: int
    judged: int
    accuracy: float
    baseline_accuracy: float
    calibration_error: float
    calibration_chance: float  # the same, if every claim were exactly right
    wrong_above_99: float  # share of the wrong answers that are claimed above 99%
    flagged: float  # share of the labeled nodes that the audit calls probably wrong
    precision: float | None  # average precision of the audit's suspicion for flipped labels
    vote_precision: float | None  # the same of 1 - label_probability
    baseline_precision: float | None  # the same of 1 - the baseline's probability of the label
    rate: float  # share of wrong labels that the audit estimates
    training_seconds: float


def measure(job: Job, device: str) -> dict[str, Any]:
    """Train on one task and measure."""
    series = job.series
    drawn = task(series.dataset, flipped=float(series.noise.partition("-")[2] or 0), seed=job.seed)
    retrain = series.variant == "retrained"
    return asdict(judge(drawn, asked(series.settings), seed=job.seed, device=device, retrain=retrain))


def task(name: str, *, flipped: float, seed: int) -> Task:
    """A set of tables or a data set, with a share of its labels flipped."""
    if name in PLANS:
        tables = table_set(name, flipped=flipped, seed=seed)
        graph = tables.graph()
        truth, given = (tables.labels(graph, column) for column in ("truth", "given"))
        used = np.concatenate([graph.train, graph.validation])
        judged = np.setdiff1d(np.flatnonzero(truth != UNKNOWN), used)
    else:
        graph = load_dataset(name, seed=seed)
        truth, given, judged = graph.labels, graph.labels.copy(), graph.test
        draw = np.random.default_rng([seed, 8])
        for nodes in (graph.train, graph.validation, graph.test):
            chosen = draw.choice(nodes, round(flipped * len(nodes)), replace=False)
            given[chosen] = (truth[chosen] + draw.integers(1, graph.num_classes, len(chosen))) % graph.num_classes
        graph = graph.replace(target=graph.classes.with_labels(given))
    wrong = truth[graph.train] != given[graph.train]
    return Task(graph, wrong, judged, truth[judged], given[judged])


def judge(one: Task, settings: Settings, *, seed: int, device: str = "cpu", retrain: bool = False) -> Honesty:
    """Train on a task, audit its labels, with models trained again without them if asked, and judge its predictions."""
    graph, begin = one.graph, time.perf_counter()
    trained = fit(graph, settings, seed=seed, device=device)
    seconds = time.perf_counter() - begin
    predicted, again = trained.predict(one.judged).probabilities, retrained_votes(trained) if retrain else None
    audited = audit(trained, num_orders=1, retrained=again)
    known, own = graph.labels[graph.train], np.arange(len(graph.train))
    answers, outside = plain_baseline(graph, one.judged, seed=seed)
    amiss = predicted.argmax(axis=1) != one.given
    return Honesty(
        cases=len(graph.train),
        judged=len(one.judged),
        accuracy=float((predicted.argmax(axis=1) == one.truth).mean()),
        baseline_accuracy=float((answers == one.truth).mean()),
        calibration_error=calibrate(predicted, one.given).error,
        calibration_chance=calibration_by_chance(predicted, one.given),
        wrong_above_99=float((predicted[amiss].max(axis=1) > SURE).mean()) if amiss.any() else 0.0,
        flagged=float(audited.suspicion.wrong.mean()),
        precision=_average_precision(one.wrong, audited.suspicion.score),
        vote_precision=_average_precision(one.wrong, 1 - audited.votes.probabilities[own, known]),
        baseline_precision=_average_precision(one.wrong, 1 - outside[own, known]),
        rate=audited.suspicion.rate,
        training_seconds=seconds,
    )


def plain_baseline(graph: Graph, nodes: IntArray, *, seed: int) -> tuple[IntArray, FloatArray]:
    """A random forest on the columns of a node, their mean over its neighbors, and the known classes of these.

    Returns:
        The classes of some nodes, [T], and what the trees that did not see a labeled node say of it, [L, C].
    """
    from sklearn.ensemble import RandomForestClassifier

    features = graph.features.toarray() if sp.issparse(graph.features) else np.asarray(graph.features)
    u, v = graph.edges.ends.T
    adjacency = sp.csr_array(
        (np.ones(2 * len(u)), (np.concatenate([u, v]), np.concatenate([v, u]))), [len(features)] * 2
    )
    classes = np.zeros((len(features), graph.num_classes))
    classes[graph.train, graph.labels[graph.train]] = 1
    around = adjacency @ np.hstack([features, classes]) / np.maximum(1, adjacency.sum(axis=1))[:, None]
    columns = np.hstack([features, around])
    forest = RandomForestClassifier(TREES, oob_score=True, class_weight="balanced", random_state=seed)
    forest.fit(columns[graph.train], graph.labels[graph.train])
    outside = np.zeros((len(graph.train), graph.num_classes))
    outside[:, forest.classes_] = forest.oob_decision_function_
    return forest.predict(columns[nodes]).astype(np.int64), outside.astype(np.float32)


def _average_precision(wrong: BoolArray, score: FloatArray) -> float | None:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(wrong, score)) if wrong.any() else None
