"""The vote of the nearest labeled nodes, for any nodes of one graph. Shapes: T targets, L labeled nodes, K nearest."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.model.prediction import Prediction
from se_gnn.similarity import (
    ComparisonPlan,
    EdgeMatching,
    Similarities,
    compare_in_blocks,
    compare_with_matches,
    nearest_labeled,
    vote,
    vote_weights,
)
from se_gnn.similarity.edge_data import EdgeData, Terms, compared_graphs


class Voter:
    """Compares nodes of one graph with its labeled nodes; what does not depend on the embeddings is kept."""

    def __init__(
        self,
        graph: Graph,
        config: Config,
        *,
        max_memory: int | str | None = None,
        edge_terms: Terms | None = None,
    ) -> None:
        check_num_nearest(graph, config)
        self.graph, self.config, self.max_memory = graph, config, max_memory
        self.carried = EdgeData.of(graph, config.similarity, edge_terms)
        self.labeled: LocalGraphs = self._local_graphs(graph.train)
        self.labels = graph.labels[graph.train]  # [L]
        self._classes: dict[torch.device, Tensor] = {}  # the same on a device, moved there once

    def _local_graphs(self, nodes: IntArray) -> LocalGraphs:
        return compared_graphs(self.graph, nodes, self.config.similarity)

    def plan(
        self, nodes: IntArray, *, most_edges: int | None = None, seed: int = 0, only: slice | None = None
    ) -> ComparisonPlan:
        """Plan the comparison of ``nodes``, on at most ``most_edges`` edges of each (None: all), with the labeled.

        With ``only`` some of the nodes ask, on the edges that they have among all.
        """
        targets = self._local_graphs(nodes)
        if most_edges is not None:
            targets = targets.sampled(most_edges, generator=np.random.default_rng(seed))
        if only is not None:
            targets = targets.select(np.arange(len(nodes))[only])
        return ComparisonPlan.build(self.graph.edges.ends, targets, self.labeled, self.config.similarity, self.carried)

    @torch.no_grad()
    def predict(self, h: Tensor, plan: ComparisonPlan) -> Prediction:
        """K nearest labeled nodes, weights and class probabilities of the targets of a plan, Eq. (8)-(9).

        A labeled node does not vote for itself: it is left out of its own neighbors.
        """
        return self._vote(plan.targets.nodes, self._nearest(h, plan))

    @torch.no_grad()
    def similarities(self, h: Tensor, plan: ComparisonPlan) -> Tensor:
        """Overall similarity of the targets of a plan and all labeled nodes, [T, L]; -inf of a node and itself."""
        targets, labeled = plan.nodes(h.device)
        blocks = [found.overall for _, found in compare_in_blocks(h, plan, max_memory=self.max_memory)]
        return torch.cat(blocks, dim=1).masked_fill(targets[:, None] == labeled, -torch.inf)

    @torch.no_grad()
    def probabilities(self, h: Tensor, plan: ComparisonPlan) -> Tensor:
        """Class probabilities alone, [T, C], left where they were computed."""
        return self._weigh(self._nearest(h, plan))[1]

    def _nearest(self, h: Tensor, plan: ComparisonPlan, origin: Tensor | None = None) -> _Nearest:
        """The K nearest labeled nodes of each target; ``origin``: where ``h`` has the rows of some nodes alone.

        Where there are many labeled nodes, most are proved to be farther, and are not compared: the result is the same.
        Where targets x labeled nodes do not fit the memory, the labeled nodes come in blocks, and the K nearest so far
        are kept.
        """
        from se_gnn.similarity.search import nearest_by_bounds  # loads much that explaining a node does not need

        count = self.config.similarity.num_nearest
        found = nearest_by_bounds(h, plan, count, max_memory=self.max_memory, origin=origin)
        if found is not None:
            return _Nearest(found.positions, found.overall, found.node, found.structure)
        nearest: _Nearest | None = None
        for positions, similarities in compare_in_blocks(h, plan, max_memory=self.max_memory, origin=origin):
            some = _Nearest.of(similarities, plan, positions)
            nearest = (some if nearest is None else nearest.joined(some)).cut(count)
        assert nearest is not None
        return nearest

    @torch.no_grad()
    def predict_with_matches(self, h: Tensor, plan: ComparisonPlan) -> tuple[Prediction, EdgeMatching]:
        """As :meth:`predict`, with the best matches of the targets' edges kept: what explanations are read from."""
        similarities, matching, _ = compare_with_matches(h, plan, max_memory=self.max_memory)
        positions = torch.arange(len(plan.labeled), device=h.device)
        nearest = _Nearest.of(similarities, plan, positions).cut(self.config.similarity.num_nearest)
        return self._vote(plan.targets.nodes, nearest), matching

    def _vote(self, nodes: IntArray, nearest: _Nearest) -> Prediction:
        weights, probabilities = self._weigh(nearest)
        return Prediction.from_tensors(
            nodes=nodes,
            probabilities=probabilities,
            neighbors=torch.tensor(self.graph.train, device=weights.device)[nearest.positions],
            weights=weights,
            overall=nearest.overall,
            node=nearest.node,
            structure=nearest.structure,
        )

    def _weigh(self, nearest: _Nearest) -> tuple[Tensor, Tensor]:
        """Weights [T, K] and class probabilities [T, C]."""
        device = nearest.overall.device
        everyone = torch.arange(nearest.overall.shape[1], device=device).expand_as(nearest.overall)
        weights = vote_weights(nearest.overall, everyone, self.config.similarity.temperature)
        if device not in self._classes:
            self._classes[device] = torch.tensor(self.labels, device=device)
        return weights, vote(weights, self._classes[device][nearest.positions], self.graph.num_classes)


class _Nearest:
    """Some labeled nodes of each target with their similarities, each [T, m]; positions among all labeled nodes."""

    def __init__(self, positions: Tensor, overall: Tensor, node: Tensor, structure: Tensor) -> None:
        self.positions, self.overall, self.node, self.structure = positions, overall, node, structure

    @classmethod
    def of(cls, similarities: Similarities, plan: ComparisonPlan, positions: Tensor) -> _Nearest:
        """With the labeled nodes at some positions, [m], a labeled node itself left out."""
        targets, labeled = plan.nodes(positions.device)
        overall = similarities.overall.masked_fill(targets[:, None] == labeled[positions], -torch.inf)
        return cls(positions.expand_as(overall), overall, similarities.node, similarities.structure)

    def joined(self, later: _Nearest) -> _Nearest:
        """Side by side; those with the lower positions first, so that the tie rule holds."""
        pairs = zip(vars(self).values(), vars(later).values())
        return _Nearest(*(torch.cat([one, other], dim=1) for one, other in pairs))

    def cut(self, count: int) -> _Nearest:
        """The ``count`` most similar, most similar first."""
        order = nearest_labeled(self.overall, count)
        return _Nearest(*(values.gather(1, order) for values in vars(self).values()))


def check_num_nearest(graph: Graph, config: Config) -> None:
    """K labeled nodes must exist."""
    wanted, labeled = config.similarity.num_nearest, len(graph.train)
    if wanted > labeled:
        raise InputError(f"num_nearest must be between 1 and the {labeled} labeled nodes, got {wanted}")
