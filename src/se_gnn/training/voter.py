"""What compares nodes of one graph with its cases while a model is trained. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.ranking import Cases, Ranker
from se_gnn.settings import Resolved, SimilaritySettings
from se_gnn.similarity import Items, Similarity, items_of
from se_gnn.similarity.edges import Terms


class Voter:
    """Compares nodes of one graph with its cases under any embeddings; what does not depend on these is kept."""

    def __init__(
        self,
        graph: Graph,
        settings: Resolved,
        *,
        max_memory: int | str | None = None,
        edge_terms: Terms | None = None,
    ) -> None:
        self.graph, self.settings, self.max_memory, self.edge_terms = graph, settings, max_memory, edge_terms
        self.cases = Cases.of(graph, settings)

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
    def probabilities(self, h: Tensor, queries: Items) -> Tensor:
        """Class probabilities, [T, C], left where they were computed."""
        ranker = Ranker(self.similarity(h), self.cases, self.settings.vote)
        return ranker.rank(queries, depth=self.settings.vote.num_nearest).probabilities
