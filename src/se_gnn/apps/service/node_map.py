"""All nodes on a plane by their embeddings: near on the map is similar by themselves. Shapes: N nodes, P points."""

from __future__ import annotations

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.model import Prediction
from se_gnn.plot.projection import project

MOST_POINTS = 200_000  # that a browser is sent; of more nodes a part is drawn
STEPS = 65_535  # whole numbers are short


class NodeMap:
    """Where each node is, from 0 to 1 along both axes, and which nodes are drawn."""

    def __init__(self, embeddings: FloatArray, graph: Graph, prediction: Prediction) -> None:
        points = np.clip((project(embeddings, "pca") + 1) / 2, 0, 1)
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.where(high > low, high - low, 1)
        self.points: FloatArray = (0.02 + 0.96 * (points - low) / span).astype(np.float32)  # [N, 2]
        self.nodes: IntArray = _drawn(graph)  # [P]
        steps = np.round(self.points[self.nodes] * STEPS).astype(np.int64)
        self.columns = {
            "node": self.nodes.tolist(),
            "x": steps[:, 0].tolist(),
            "y": steps[:, 1].tolist(),
            "predicted": prediction.classes[self.nodes].tolist(),
            "labeled": np.isin(self.nodes, graph.train).astype(np.int64).tolist(),
        }


def _drawn(graph: Graph) -> IntArray:
    """All nodes, or the labeled ones and others at random; the labeled last, so that they are on top."""
    others = np.setdiff1d(np.arange(graph.num_nodes), graph.train)
    room = max(0, MOST_POINTS - len(graph.train))
    if len(others) > room:
        others = np.sort(np.random.default_rng(0).choice(others, room, replace=False))
    return np.concatenate([others, graph.train])
