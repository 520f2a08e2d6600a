"""The vote on a graph that does not fit the memory. Shapes: T queries.

A comparison reads the embeddings of the nodes that it needs. Pages of the files are given back after each block of
queries: they would stay as long as the machine has room, until all of the files are in memory.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.ranked_local import MAX_NODES
from se_gnn.model.prediction import Prediction
from se_gnn.model.voter import Voter
from se_gnn.settings import Resolved
from se_gnn.similarity import Similarity
from se_gnn.similarity.memory import items_within, memory_budget

MOST_QUERIES = 4096  # that are compared at a time
BYTES_SHARE = 8  # of the memory is for the embeddings of the nodes in their local graphs, and as much for their edges


class MappedVoter(Voter):
    """As :class:`Voter`, for a mapped graph; results are the same."""

    def __init__(self, graph: Graph, settings: Resolved, *, max_memory: int | str | None = None) -> None:
        if settings.similarity.max_edges is None:
            raise InputError(
                "max_edges must be set for a mapped graph, as in the preset best: local graphs without a "
                "limit may be as large as the graph"
            )
        self.budget = memory_budget(max_memory)
        super().__init__(graph, settings, max_memory=max(1 << 20, self.budget // 4))

    @torch.no_grad()
    def predict_nodes(self, similarity: Similarity, nodes: IntArray) -> Prediction:
        """K nearest labeled nodes, weights and class probabilities of any number of nodes."""
        each = 4 * similarity.h.shape[1] * (MAX_NODES + (self.settings.similarity.max_edges or 0))
        step = items_within(self.budget // BYTES_SHARE, each, MOST_QUERIES)
        parts = []
        for low in range(0, max(1, len(nodes)), step):
            some = nodes[low : low + step]
            parts.append(self._vote(some, self._nearest(similarity, similarity.items(some))))
        names = [one.name for one in dataclasses.fields(Prediction)]
        return Prediction(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
