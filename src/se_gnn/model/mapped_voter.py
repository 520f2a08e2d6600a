"""The vote on a graph that does not fit the memory. Shapes: T targets, L labeled nodes.

Local graphs name nodes and edges of the whole graph; a comparison needs few of them. So those that occur are numbered
anew, and their embeddings alone are read. Pages of the files are given back after each block of targets: they would
stay as long as the machine has room, until all of the files are in memory.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.errors import InputError
from se_gnn.files.npy import take_rows
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.graph.ranked_local import MAX_NODES
from se_gnn.model.prediction import Prediction
from se_gnn.model.voter import Voter
from se_gnn.similarity import ComparisonPlan, measure_named
from se_gnn.similarity.memory import items_within, memory_budget

MOST_TARGETS = 4096  # that are compared at a time
BYTES_SHARE = 8  # of the memory is for the embeddings of the nodes in their local graphs, and as much for their edges


class MappedVoter(Voter):
    """As :class:`Voter`, for a mapped graph; results are the same."""

    def __init__(self, graph: Graph, config: Config, *, max_memory: int | str | None = None) -> None:
        if config.similarity.max_edges is None:
            raise InputError(
                "similarity.max_edges must be set for a mapped graph, as in the preset best: local graphs without a "
                "limit may be as large as the graph"
            )
        self.budget = memory_budget(max_memory)
        self.origin: Tensor | None = None  # [D], what distances are computed from: of all nodes, found once
        super().__init__(graph, config, max_memory=max(1 << 20, self.budget // 4))

    @torch.no_grad()
    def predict_nodes(self, h: Any, nodes: IntArray, device: torch.device) -> Prediction:
        """K nearest labeled nodes, weights and class probabilities, compared on a device.

        ``h`` is the mapped file of embeddings.
        """
        if self.origin is None:
            self.origin = measure_named(self.config.similarity.measure).origin(h).to(device)
        each = 4 * h.shape[1] * (MAX_NODES + (self.config.similarity.max_edges or 0))
        step = items_within(self.budget // BYTES_SHARE, each, MOST_TARGETS)
        starts = range(0, max(1, len(nodes)), step)
        parts = [self._predict_block(h, nodes[low : low + step], self.origin) for low in starts]
        names = [one.name for one in dataclasses.fields(Prediction)]
        return Prediction(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def _predict_block(self, h: Any, nodes: IntArray, origin: Tensor) -> Prediction:
        targets = self._local_graphs(nodes)
        self.graph.neighbors().release()
        edge_ids = np.union1d(targets.edge_ids, self.labeled.edge_ids).astype(np.int64)
        edges = self.graph.edges.pairs.take(edge_ids)
        used = np.unique(np.concatenate([edges.ravel(), nodes, self.labeled.nodes]))
        plan = ComparisonPlan.build(
            np.searchsorted(used, edges).reshape(-1, 2),
            _renumbered(targets, used, edge_ids),
            _renumbered(self.labeled, used, edge_ids),
            self.config.similarity,
        )
        own: Tensor = torch.from_numpy(take_rows(h, used)).to(origin.device)
        return self._vote(nodes, self._nearest(own, plan, origin))


def _renumbered(local: LocalGraphs, used: IntArray, edge_ids: IntArray) -> LocalGraphs:
    """The same local graphs by positions among the nodes and edges that are used."""
    return LocalGraphs(
        np.searchsorted(used, local.nodes),
        local.ptr,
        np.searchsorted(edge_ids, local.edge_ids).astype(np.int32),
        len(edge_ids),
        left_out=local.left_out,
    )
