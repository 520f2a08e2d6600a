"""The vote of the nearest cases, for any nodes of one graph. Shapes: T queries, L cases, K nearest."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model.prediction import Prediction
from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.settings import Resolved, SimilaritySettings
from se_gnn.similarity import Items, Matches, Nearest, Similarity, items_of
from se_gnn.similarity.edges import Terms


class Voter:
    """Compares nodes of one graph with its labeled nodes; what does not depend on the embeddings is kept."""

    def __init__(
        self,
        graph: Graph,
        settings: Resolved,
        *,
        max_memory: int | str | None = None,
        edge_terms: Terms | None = None,
    ) -> None:
        check_num_nearest(graph, settings)
        self.graph, self.settings, self.max_memory, self.edge_terms = graph, settings, max_memory, edge_terms
        self.cases: Items = items_of(graph, graph.train, settings.similarity)
        self.labels = graph.labels[graph.train]  # [L]
        self._answers: dict[torch.device, ClassAnswers] = {}  # the same on a device, moved there once

    def similarity(self, h: Tensor, settings: SimilaritySettings | None = None) -> Similarity:
        """What compares nodes under some embeddings, [N, D], by the settings of the model or others."""
        chosen = settings or self.settings.similarity
        return Similarity(self.graph, h, chosen, terms=self.edge_terms, max_memory=self.max_memory)

    def items(
        self, nodes: IntArray, *, most_edges: int | None = None, seed: int = 0, only: slice | None = None
    ) -> Items:
        """Nodes to be compared, on at most ``most_edges`` edges of each (None: all).

        With ``only`` some of the nodes alone, on the edges that they have among all.
        """
        found = items_of(self.graph, nodes, self.settings.similarity)
        if most_edges is not None:
            found = found.sampled(most_edges, generator=np.random.default_rng(seed))
        return found if only is None else found.select(np.arange(len(nodes))[only])

    @torch.no_grad()
    def predict(self, h: Tensor, queries: Items) -> Prediction:
        """K nearest labeled nodes, weights and class probabilities, Eq. (8)-(9).

        A labeled node does not vote for itself: it is left out of its own neighbors.
        """
        return self._vote(queries.nodes, self._nearest(self.similarity(h), queries))

    @torch.no_grad()
    def predict_nodes(self, similarity: Similarity, nodes: IntArray) -> Prediction:
        """As :meth:`predict`, of any number of nodes."""
        return self._vote(nodes, self._nearest(similarity, self.items(nodes)))

    @torch.no_grad()
    def similarities(self, h: Tensor, queries: Items) -> Tensor:
        """Overall similarity of some nodes and all labeled nodes, [T, L]; -inf of a node and itself."""
        blocks = [found.overall for _, found in self.similarity(h).compare_blocks(queries, self.cases)]
        itself = queries.nodes_on(h.device)[:, None] == self.cases.nodes_on(h.device)
        return torch.cat(blocks, dim=1).masked_fill(itself, -torch.inf)

    @torch.no_grad()
    def probabilities(self, h: Tensor, queries: Items) -> Tensor:
        """Class probabilities alone, [T, C], left where they were computed."""
        return self._weigh(self._nearest(self.similarity(h), queries))[1]

    @torch.no_grad()
    def predict_with_matches(self, h: Tensor, queries: Items) -> tuple[Prediction, Matches]:
        """As :meth:`predict`, with the matched edges of those that vote: what explanations are read from."""
        count = self.settings.vote.num_nearest
        nearest, matches = self.similarity(h).nearest_with_matches(queries, self.cases, count)
        return self._vote(queries.nodes, nearest), matches

    def _nearest(self, similarity: Similarity, queries: Items) -> Nearest:
        return similarity.nearest(queries, self.cases, self.settings.vote.num_nearest)

    def _vote(self, nodes: IntArray, nearest: Nearest) -> Prediction:
        weights, probabilities = self._weigh(nearest)
        return Prediction.from_tensors(
            nodes=nodes,
            probabilities=probabilities,
            neighbors=self.cases.nodes_on(weights.device)[nearest.positions],
            weights=weights,
            overall=nearest.overall,
            node=nearest.node,
            structure=nearest.structure,
        )

    def _weigh(self, nearest: Nearest) -> tuple[Tensor, Tensor]:
        """Weights [T, K] and class probabilities [T, C]."""
        weights = vote(nearest.overall, self.settings.vote.temperature)
        return weights, tally(weights, nearest.positions, self.answers(weights.device))

    def answers(self, device: torch.device) -> ClassAnswers:
        """What the labeled nodes vote for, on a device."""
        if device not in self._answers:
            classes = torch.tensor(self.labels, device=device)
            self._answers[device] = ClassAnswers(classes, self.graph.num_classes)
        return self._answers[device]


def check_num_nearest(graph: Graph, settings: Resolved) -> None:
    """K labeled nodes must exist."""
    wanted, labeled = settings.vote.num_nearest, len(graph.train)
    if wanted > labeled:
        raise InputError(f"num_nearest must be between 1 and the {labeled} labeled nodes, got {wanted}")
