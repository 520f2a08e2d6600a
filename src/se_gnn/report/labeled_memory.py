"""What the report says of the labeled nodes and of prediction sets: what would change the answers, and what to look at.

Shapes: T nodes, K nearest cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.labels import AuditRow, Finding, audit, certify
from se_gnn.labels.novelty import Novelty
from se_gnn.labels.sets import prediction_sets
from se_gnn.model import Model, Prediction
from se_gnn.report.charts import certified_chart

MOST_SUSPECTS = 12
MOST_STRANGERS = 12
ORDERS = 20  # random orders for Shapley values: a page need not be as exact as `se-gnn labels audit`
MOST_PAIRS = 10**8  # of nodes and labeled nodes that are ranked for a page
FEWEST_NODES = 1000


@dataclass(frozen=True, slots=True)
class CertifiedShare:
    """Share of the predictions that no change of up to ``count`` labeled nodes changes."""

    count: int
    removed: float
    relabeled: float


class Stranger(NamedTuple):
    """A node without an answer, and its closest known case."""

    node: int
    score: float
    closest: int


@dataclass(frozen=True, slots=True)
class Strangers:
    """Nodes too unlike anything known, the strangest first."""

    first: tuple[Stranger, ...]
    count: int
    threshold: float
    false_alarms: float


class LabeledMemory(NamedTuple):
    """The section on the labeled memory."""

    chart: str
    shares: tuple[CertifiedShare, ...]
    num_certified: int  # nodes that were looked at
    findings: tuple[tuple[str, int], ...]
    suspects: tuple[AuditRow, ...]
    num_labeled: int
    num_edits: int
    strangers: Strangers | None  # None where the graph is too large to judge them


def labeled_memory(trained: Model, prediction: Prediction, novelty: Novelty | None) -> LabeledMemory:
    """Search the smallest sets that change predictions, audit the labeled nodes, find those that have no answer.

    Args:
        trained: the model.
        prediction: of all nodes.
        novelty: of all nodes; None: the graph is too large to judge them.
    """
    certified = certify(trained, _looked_at(trained.graph))
    judged = audit(trained, num_orders=ORDERS)
    removal, relabeling = certified.removal, certified.relabeling
    rows = sorted(judged, key=lambda row: (not row.findings, -row.suspicion))
    return LabeledMemory(
        chart=certified_chart(certified.curve(removal), certified.curve(relabeling)),
        shares=tuple(
            CertifiedShare(count, removal.share_certified(count), relabeling.share_certified(count))
            for count in certified.counts
        ),
        num_certified=len(certified),
        findings=tuple((str(finding), len(judged.found(finding))) for finding in Finding),
        suspects=tuple(row for row in rows[:MOST_SUSPECTS] if row.findings),
        num_labeled=len(judged),
        num_edits=len(trained.history),
        strangers=None if novelty is None else _strangers(novelty, prediction),
    )


def _strangers(found: Novelty, prediction: Prediction) -> Strangers:
    far = np.flatnonzero(found.abstains)
    order = far[np.argsort(-found.score[far], kind="stable")]
    first = tuple(
        Stranger(node, float(found.score[node]), int(prediction.cases[node, 0]))
        for node in order[:MOST_STRANGERS].tolist()
    )
    return Strangers(first, len(far), found.threshold, found.false_alarms)


def _looked_at(graph: Graph) -> IntArray:
    """All nodes, or of a large graph as many as there is time for, evenly spread."""
    most = max(FEWEST_NODES, MOST_PAIRS // max(1, len(graph.train)))
    candidates = graph.candidates
    if len(candidates) <= most:
        return candidates
    return candidates[np.linspace(0, len(candidates) - 1, most).astype(np.int64)]


MOST_MISLEADING = 10


@dataclass(frozen=True, slots=True)
class Misleading:
    """A labeled node, the weight it gave in votes on nodes of known class, and how much of it was for a wrong one."""

    node: int
    label: int
    given: float
    wrong: float
    nodes: int  # that were predicted wrongly with its help

    @property
    def share(self) -> float:
        """Share of its weight that it gave to wrong predictions."""
        return self.wrong / self.given


def find_misleading(prediction: Prediction, graph: Graph) -> list[Misleading]:
    """Labeled nodes that voted for a wrong prediction on validation or test nodes, most weight first."""
    judged = np.concatenate([graph.validation, graph.test])
    neighbors, weights = prediction.cases[judged], prediction.weights[judged].astype(np.float64)  # [T, K]
    predicted, truth = prediction.classes[judged], graph.labels[judged]
    for_it = graph.labels[neighbors] == predicted[:, None]
    astray = for_it & (predicted != truth)[:, None] & (weights > 0)

    def total(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        summed: npt.NDArray[Any] = np.bincount(neighbors.ravel(), values.ravel(), graph.num_nodes)
        return summed.astype(np.float64)

    given, wrong, count = total(weights), total(np.where(astray, weights, 0)), total(astray.astype(np.float64))
    order = np.argsort(-wrong, kind="stable")
    return [
        Misleading(int(node), int(graph.labels[node]), float(given[node]), float(wrong[node]), int(count[node]))
        for node in order[: int((wrong > 0).sum())]
    ]


COVERAGES = (0.8, 0.9, 0.95)


class SetRow(NamedTuple):
    """Sets at one coverage, on the test nodes."""

    coverage: float
    mean_size: float
    single: float  # share of sets with one class
    covered: float


class SetTable(NamedTuple):
    """Prediction sets at some coverages."""

    rows: tuple[SetRow, ...]
    num_calibration: int
    num_test: int


def set_table(trained: Model) -> SetTable | None:
    """Sets of the test nodes by APS; None without test nodes, or too few calibration nodes for any coverage."""
    graph = trained.graph
    needed = {coverage: math.ceil(coverage / (1 - coverage) - 1e-9) for coverage in COVERAGES}
    usable = [coverage for coverage, least in needed.items() if len(graph.calibration) >= least]
    if not usable or not len(graph.test):
        return None
    rows = []
    for coverage in usable:
        found = prediction_sets(trained, graph.test, coverage=coverage, seed=trained.facts.seed)
        single = float((found.sizes == 1).mean())
        rows.append(SetRow(coverage, found.mean_size, single, found.covered(graph.labels)))
    return SetTable(tuple(rows), len(graph.calibration), len(graph.test))
