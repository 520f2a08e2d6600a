"""What the report says of the labeled memory: what would change the answers, and which labeled nodes to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.labels import AuditRow, Finding, audit, certify
from se_gnn.labels.novelty import novelty_of_all
from se_gnn.model import Prediction, TrainedModel
from se_gnn.report.certified_chart import certified_chart

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


@dataclass(frozen=True, slots=True)
class Stranger:
    """A node without an answer: its closest known case, and the class that it would have got."""

    node: int
    score: float
    closest: int
    predicted: int


@dataclass(frozen=True, slots=True)
class Strangers:
    """Nodes too unlike anything known, the strangest first."""

    first: tuple[Stranger, ...]
    count: int
    threshold: float
    false_alarms: float


@dataclass(frozen=True, slots=True)
class LabeledMemory:
    """The section on the labeled memory."""

    chart: str
    shares: tuple[CertifiedShare, ...]
    num_certified: int  # nodes that were looked at
    findings: tuple[tuple[str, int], ...]
    suspects: tuple[AuditRow, ...]
    num_labeled: int
    num_edits: int
    strangers: Strangers | None  # None where the graph is too large to judge them


def labeled_memory(trained: TrainedModel, prediction: Prediction) -> LabeledMemory:
    """Search the smallest sets that change predictions, audit the labeled nodes, find those that have no answer.

    Args:
        trained: the model.
        prediction: of all nodes.
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
        strangers=_strangers(trained, prediction),
    )


def _strangers(trained: TrainedModel, prediction: Prediction) -> Strangers | None:
    found = novelty_of_all(trained)
    if found is None:
        return None
    far = np.flatnonzero(found.abstains)
    order = far[np.argsort(-found.score[far], kind="stable")]
    first = tuple(
        Stranger(node, float(found.score[node]), int(prediction.neighbors[node, 0]), int(prediction.classes[node]))
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
