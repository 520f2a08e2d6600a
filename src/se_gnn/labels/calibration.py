"""Nodes held out for calibration: a part of the validation nodes that training does not look at."""

from __future__ import annotations

import numpy as np

from se_gnn.errors import InputError, shortened
from se_gnn.graph import Graph


def with_calibration(graph: Graph, share: float, *, seed: int = 0) -> Graph:
    """The graph with a share of the validation nodes of each class moved to its calibration nodes.

    Validation nodes choose the epoch and the vote, so what a model says of them is too good. Prediction sets need nodes
    that chose nothing; these are drawn before training.

    Args:
        graph: a graph with validation nodes.
        share: from 0 (nothing is moved) to 0.9.
        seed: of the draw.

    >>> graph = Graph.build(features=[[0.0]] * 8, edges=[], labels=[0, 1] * 4, train=[0, 1], validation=range(2, 8))
    >>> held = with_calibration(graph, 0.34)
    >>> len(held.validation), len(held.calibration), graph.labels[held.calibration].tolist()
    (4, 2, [0, 1])
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 0.9:
        raise InputError(f"calibration must be a share of the validation nodes from 0 to 0.9, got {shortened(share)}")
    if share == 0:
        return graph
    generator = np.random.default_rng([seed, 0xCA11B])  # apart from what else the seed draws
    drawn = []
    for label in np.unique(graph.labels[graph.validation]):
        nodes = generator.permutation(graph.validation[graph.labels[graph.validation] == label])
        drawn.append(nodes[: round(share * len(nodes))])
    chosen = np.concatenate([np.empty(0, np.int64), *drawn])
    if not len(chosen):
        raise InputError(
            f"calibration = {share:g} of the {len(graph.validation)} validation nodes of {graph.name} is no node: "
            "it takes a larger share, or more validation nodes"
        )
    return graph.with_split(
        train=graph.train,
        validation=np.setdiff1d(graph.validation, chosen),
        test=graph.test,
        calibration=np.union1d(graph.calibration, chosen),
    )
