"""Eq. (14): the sampled classification loss with contrastive self-supervision of nodes and edges."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from se_gnn.encoder import step_weights
from se_gnn.graph import Graph
from se_gnn.model import SEGNN, Voter
from se_gnn.similarity import Items, combine
from se_gnn.training.classification import classification_loss
from se_gnn.training.contrast import ContrastDraws, contrast_loss
from se_gnn.training.draws import Draws
from se_gnn.training.share import Share


class PaperObjective:
    """Algorithm 1, lines 3 to 9; presets `paper` and `authors`.

    Ranks that train together divide the labeled nodes, the queries of the contrast and the validation nodes; the
    encoder runs in full on each of them.
    """

    names: tuple[str, ...] = ("loss", "class_loss", "node_loss", "edge_loss")

    def __init__(self, model: SEGNN, graph: Graph, voter: Voter, seed: int, share: Share | None = None) -> None:
        self.share = share or Share()
        self.model, self.graph, self.voter, self.seed, self.config = model, graph, voter, seed, model.config
        self.inputs, self.step_weights = model.inputs(graph), step_weights(graph, model.config.encoder)
        self.classes = torch.tensor(graph.labels[graph.train], device=model.device)  # [L]
        settings = self.config.training
        # what edges carry is moved to the device step by step, which a recorded step cannot do
        self.recordable = settings.max_local_edges is None and graph.edge_values is None
        self.cases, self.asking = voter.cases, self.own(voter.cases)
        self.queries = voter.items(
            graph.validation,
            most_edges=settings.max_local_edges,
            seed=seed,
            only=None if self.share.whole else self.share.of(len(graph.validation)),
        )

    def own(self, items: Items) -> Items:
        """Of all labeled nodes those that this rank compares with all."""
        return items if self.share.whole else items.select(np.arange(len(items))[self.share.of(len(items))])

    def _overall(self, sample: Items | None) -> Tensor:
        """Similarity of the labeled nodes with each other, Eq. (7), [L, L]; the way back is the transpose."""
        h, settings = self.model(self.inputs), self.config.similarity
        if self.share.whole:
            return self.voter.similarity(h).compare_among(self.cases, sample).overall
        one_way = self.voter.similarity(h, dataclasses.replace(settings, directions="one"))
        found = one_way.compare(self.asking if sample is None else self.own(sample), self.cases)
        own = torch.stack([found.node, found.structure], dim=1)
        node, structure = self.share.all_rows(own, len(self.classes)).unbind(dim=1)
        if settings.directions == "both":
            structure = (structure + structure.T) / 2
        return combine(node, structure, settings.node_weight)

    def draw(self, epoch: int) -> Draws:
        """What is random in an epoch follows from the seed and the number of the epoch."""
        generator = np.random.default_rng([self.seed, epoch])
        settings, weights, sample = self.config.training, self.config.contrast, None
        if settings.max_local_edges is not None:
            sample = self.cases.sampled(settings.max_local_edges, generator=generator)
        references = torch.from_numpy(generator.random((len(self.classes), len(self.classes))))
        contrast = None
        if weights.node_loss_weight > 0 or weights.edge_loss_weight > 0:
            contrast = ContrastDraws.draw(
                self.inputs, self.graph.edges.ends, self.config, generator=generator, weights=self.step_weights
            )
        return Draws(sample, references, contrast)

    def losses(self, draws: Draws) -> Tensor:
        """Eq. (14) with its three parts, [4]."""
        overall = self._overall(draws.sample)
        loss = class_loss = classification_loss(overall, self.classes, draws.references, self.config)
        node_loss = edge_loss = torch.zeros_like(loss)
        if draws.contrast is not None:
            node_loss, edge_loss = contrast_loss(self.model, self.inputs, draws.contrast, self.share)
            weights = self.config.contrast
            loss = loss + weights.node_loss_weight * node_loss + weights.edge_loss_weight * edge_loss
        return torch.stack([loss, class_loss, node_loss, edge_loss])

    def probabilities(self) -> Tensor:
        """Class probabilities of the validation nodes, on as many edges as training looks at."""
        own = self.voter.probabilities(self.model(self.inputs), self.queries)
        return self.share.all_rows(own, len(self.graph.validation))
