"""Which nodes a report explains when none is named."""

from __future__ import annotations

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Prediction
from se_gnn.report.predictions import certainty, unlabeled

CERTAIN, UNCERTAIN, MISTAKES = 2, 2, 4


def choose_nodes(prediction: Prediction, graph: Graph) -> IntArray:
    """The most certain of the correct predictions, the least certain ones, and the surest mistakes.

    Test nodes where there are any, validation nodes otherwise, or else all nodes that do not vote.
    """
    pool = graph.test if len(graph.test) else graph.validation if len(graph.validation) else unlabeled(graph)
    pool = pool[np.argsort(-certainty(prediction)[pool], kind="stable")]
    known = graph.labels[pool] >= 0
    right = prediction.classes[pool] == graph.labels[pool]
    chosen = [*pool[right | ~known][:CERTAIN], *pool[::-1][:UNCERTAIN], *pool[known & ~right][:MISTAKES]]
    return np.array(list(dict.fromkeys(int(node) for node in chosen)), dtype=np.int64)
