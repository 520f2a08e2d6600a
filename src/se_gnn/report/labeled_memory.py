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
from se_gnn.labels import Audit, AuditRow, Certificates, audit, certify
from se_gnn.labels.novelty import Novelty
from se_gnn.labels.sets import PredictionSets, prediction_sets
from se_gnn.model import Model, Prediction
from se_gnn.report.charts import certified_chart
from se_gnn.report.predictions import predicted_of

MOST_SUSPECTS = 12
ORDERS = 20  # random orders for Shapley values: a page need not be as exact as `se-gnn labels audit`
MOST_PAIRS = 10**8  # of nodes and labeled nodes that are ranked for a page
FEWEST_NODES = 1000
MOST_COMPARED = 10**7  # pairs of labeled and of labeled or validation nodes that are audited for a large graph


class LabeledMemory(NamedTuple):
    """The section on the labeled memory."""

    certified: Certificates  # of the nodes that were looked at
    chart: str
    audit: Audit | None  # None: there are too many labeled nodes to judge them for a page
    suspects: tuple[AuditRow, ...]  # labeled nodes with findings
    strangers: IntArray  # nodes too unlike anything known, the strangest first


def labeled_memory(trained: Model, novelty: Novelty | None, nodes: IntArray) -> LabeledMemory:
    """The smallest sets that change predictions, the audit, and the nodes without an answer (None: not judged).

    ``nodes`` are those that the page is about.
    """
    graph, every = trained.graph, len(nodes) == trained.graph.num_nodes
    certified = certify(trained, _looked_at(graph, nodes))
    judged = None
    if every or _few_labeled(graph):
        judged = audit(trained, None if every else nodes, num_orders=ORDERS)
    far = np.empty(0, np.int64) if novelty is None else np.flatnonzero(novelty.abstains)
    return LabeledMemory(
        certified=certified,
        chart=certified_chart(certified.curve(certified.removal), certified.curve(certified.relabeling)),
        audit=judged,
        suspects=tuple(row for row in judged or () if row.findings)[:MOST_SUSPECTS],
        strangers=far if novelty is None else far[np.argsort(-novelty.score[far], kind="stable")],
    )


def asked_for(graph: Graph) -> IntArray:
    """Nodes that the page of a large graph asks for besides those that it is about."""
    audited = [graph.train] if _few_labeled(graph) else []
    return np.concatenate([graph.validation, graph.calibration, *audited])


def _few_labeled(graph: Graph) -> bool:
    """Whether the labeled nodes of a large graph can be judged for a page."""
    return len(graph.train) * (len(graph.train) + len(graph.validation)) <= MOST_COMPARED


def _looked_at(graph: Graph, nodes: IntArray) -> IntArray:
    """Those of some nodes that are predicted, as many as there is time for, evenly spread."""
    most = max(FEWEST_NODES, MOST_PAIRS // max(1, len(graph.train)))
    candidates = nodes[np.isin(nodes, graph.candidates)]
    if len(candidates) <= most:
        return candidates
    return candidates[np.linspace(0, len(candidates) - 1, most).astype(np.int64)]


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
    judged = predicted_of(np.concatenate([graph.validation, graph.test]), prediction)
    found = prediction.of_nodes(judged)
    neighbors, weights = found.cases, found.weights.astype(np.float64)  # [T, K]
    predicted, truth = found.classes, graph.labels[judged]
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


def set_table(trained: Model, nodes: IntArray) -> list[PredictionSets]:
    """Sets of the test nodes among ``nodes`` by APS; none without any, or with too few calibration nodes."""
    graph = trained.graph
    test = graph.test[np.isin(graph.test, nodes)]
    needed = {coverage: math.ceil(coverage / (1 - coverage) - 1e-9) for coverage in COVERAGES}
    usable = [one for one, least in needed.items() if len(graph.calibration) >= least and len(test)]
    return [prediction_sets(trained, test, coverage=one, seed=trained.facts.seed) for one in usable]
