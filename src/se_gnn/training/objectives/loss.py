"""What every loss has: a graph, its cases, and the comparison of nodes under the embeddings of the moment.

Shapes: N nodes, D dimensions, L labeled nodes, T validation nodes, C classes, R numbers of an answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from se_gnn.deterministic import linear, rows
from se_gnn.graph import Graph
from se_gnn.model import SEGNN
from se_gnn.ranking import Cases, Ranker, answered_by
from se_gnn.settings import Resolved, SimilaritySettings
from se_gnn.similarity import Items, Similarity, measure_named, top

NOBODY = -1e9  # a logit without weight: unlike -inf, it gives no NaN if a whole row has it


class Loss(ABC):
    """What a training step minimizes. The trainer knows the loop, a loss knows its terms."""

    names: ClassVar[tuple[str, ...]]  # of its terms, the sum first
    recordable = False  # on CUDA a step can be recorded once and replayed

    def __init__(self, model: SEGNN, graph: Graph, seed: int, max_memory: int | str | None = None) -> None:
        self.model, self.graph, self.seed, self.max_memory = model, graph, seed, max_memory
        self.settings, self.inputs, self.edge_terms = model.settings, model.inputs(graph), model.edge_terms(graph)
        self.cases = Cases.of(graph, model.settings)
        self.labeled, self.validation = (
            torch.tensor(nodes, device=model.device) for nodes in (graph.train, graph.validation)
        )

    @abstractmethod
    def draw(self, epoch: int) -> Any:
        """All that is random in an epoch, from the seed and its number."""

    @abstractmethod
    def losses(self, draws: Any) -> Tensor:
        """The terms of ``names``; the first is minimized."""

    def answers(self) -> Tensor:
        """What the model as it is now says of the validation nodes: class probabilities [T, C], or numbers [T, 1].

        Here by the similarity of nodes alone.
        """
        h, settings = self.model(self.inputs), self.settings.vote
        similarity = self.pairs(rows(h, self.validation), rows(h, self.labeled))
        nearest = top(similarity, settings.num_nearest)
        return answered_by(similarity.gather(1, nearest), nearest, self.cases.answers_on(h.device), settings)

    def pairs(self, a: Tensor, b: Tensor) -> Tensor:
        """Similarity of nodes by their embeddings."""
        return measure_named(self.settings.similarity.measure).learned_pairs(a, b)

    def similarity(self, h: Tensor, settings: SimilaritySettings | None = None) -> Similarity:
        """What compares nodes and their local graphs under some embeddings, [N, D]."""
        chosen = settings or self.settings.similarity
        return Similarity(self.graph, h, chosen, terms=self.edge_terms, max_memory=self.max_memory)

    @torch.no_grad()
    def probabilities(self, h: Tensor, queries: Items) -> Tensor:
        """Class probabilities by nodes and local graphs, [T, C], left where they were computed."""
        ranker = Ranker(self.similarity(h), self.cases, self.settings.vote)
        return ranker.rank(queries, depth=self.settings.vote.num_nearest).probabilities


def vote_of_others(h: Tensor, answers: Tensor, settings: Resolved, own: slice = slice(None)) -> Tensor:
    """What all other nodes of a batch answer together for each, by node similarity, Eq. (8)-(9).

    Args:
        h: embeddings of the batch, [B, D].
        answers: of each node, [B, R].
        settings: measure and tau.
        own: which nodes are asked for.
    """
    logits = measure_named(settings.similarity.measure).learned_pairs(h[own], h) / settings.vote.temperature
    itself = torch.eye(len(h), dtype=torch.bool, device=h.device)[own]
    shares = torch.softmax(logits.masked_fill(itself, NOBODY), dim=1)  # [., B]
    return linear(shares, answers.T.contiguous())
