"""What the report says of prediction sets: how large they are at some coverages, and whether they keep them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from se_gnn.labels.sets import prediction_sets
from se_gnn.model import TrainedModel

COVERAGES = (0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class SetRow:
    """Sets at one coverage, on the test nodes."""

    coverage: float
    mean_size: float
    single: float  # share of sets with one class
    covered: float


@dataclass(frozen=True, slots=True)
class SetTable:
    """Sets with a guarantee at some coverages."""

    rows: tuple[SetRow, ...]
    num_calibration: int
    num_test: int


def set_table(trained: TrainedModel) -> SetTable | None:
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
