"""A training step over all labeled nodes in one view or two. Shapes: L labeled, B unlabeled nodes, C classes.

Without consistency there is one view; with it there are two, with other attributes and units left out in each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic import linear, rows
from se_gnn.encoder import Dropout
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray
from se_gnn.model import SEGNN, Voter
from se_gnn.ranking import tally, vote
from se_gnn.similarity import Items, measure_named, top
from se_gnn.training.all_labeled import NOBODY, leave_one_out_loss
from se_gnn.training.consistency import consistency_loss, ramp


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What one view leaves out: attributes and units, and the labeled nodes that do not vote."""

    dropout: Dropout
    voting: Tensor  # [L]


@dataclass(frozen=True, slots=True, eq=False)
class ViewDraws:
    """All that is random in one epoch: the views, and the unlabeled nodes on which they should agree."""

    views: tuple[View, ...]
    batch: Tensor  # [B]
    consistency: float  # how much they count

    def to(self, device: torch.device) -> ViewDraws:
        """The same on a device."""
        views = tuple(View(view.dropout.to(device), view.voting.to(device)) for view in self.views)
        return ViewDraws(views, self.batch.to(device), self.consistency)


class ViewsObjective:
    """The vote is learned: each labeled node by the vote of all others, unlabeled ones by two views that agree."""

    names: tuple[str, ...] = ("loss", "class_loss", "consistency_loss")

    def __init__(self, model: SEGNN, graph: Graph, voter: Voter, seed: int) -> None:
        self.model, self.graph, self.voter, self.seed, self.config = model, graph, voter, seed, model.config
        self.inputs, self.recordable = model.inputs(graph), False
        self.labeled, self.validation = (
            torch.tensor(nodes, device=model.device) for nodes in (graph.train, graph.validation)
        )
        self.classes = torch.tensor(graph.labels[graph.train], device=model.device)  # [L]
        self.one_hot = torch.nn.functional.one_hot(self.classes, graph.num_classes).to(torch.float32)  # [L, C]
        self.unlabeled = np.setdiff1d(np.arange(graph.num_nodes), graph.train)
        self._items: dict[str, Items] = {}
        # what edges carry is learned by comparing local graphs
        self.compares_edges = bool(model.num_edge_features) and self.config.training.compare == "node"

    def draw(self, epoch: int) -> ViewDraws:
        """What is random in an epoch follows from the seed and the number of the epoch."""
        generator, settings = np.random.default_rng([self.seed, epoch]), self.config.training
        batch = self.unlabeled if settings.consistency_weight > 0 else self.unlabeled[:0]
        count = 2 if len(batch) else 1
        views = tuple(
            View(
                Dropout.draw(self.inputs, self.config.encoder, generator=generator),
                torch.from_numpy(_voting(self.graph, settings.memory_dropout, generator)),
            )
            for _ in range(count)
        )
        if len(batch) > settings.consistency_batch:
            batch = np.sort(generator.choice(batch, settings.consistency_batch, replace=False))
        return ViewDraws(views, torch.from_numpy(batch), ramp(settings, epoch) if len(batch) else 0.0)

    def losses(self, draws: ViewDraws) -> Tensor:
        """The whole loss, that over the labeled nodes, and that of the views' agreement, [3]."""
        settings, temperature = self.config.training, self.config.similarity.temperature
        losses, votes = [], []
        for view in draws.views:
            h = self.model.encoder(self.inputs, view.dropout)
            logits = self._similarity(h, self.labeled, "labeled") / temperature  # [L, L]
            losses.append(leave_one_out_loss(logits, self.one_hot, view.voting, settings))
            if self.compares_edges:
                overall = self.voter.similarity(h).compare_among(self.voter.cases).overall / temperature
                losses[-1] = (losses[-1] + leave_one_out_loss(overall, self.one_hot, view.voting, settings)) / 2
            if len(draws.batch):
                others = self._similarity(h, draws.batch, "batch") / temperature  # [B, L]
                shares = torch.softmax(others.masked_fill(~view.voting[None, :], NOBODY), dim=1)
                votes.append(linear(shares, self.one_hot.T.contiguous()))  # [B, C]
        class_loss = torch.stack(losses).mean()
        agreement = consistency_loss(votes, settings.consistency_power) if votes else torch.zeros_like(class_loss)
        return torch.stack([class_loss + draws.consistency * agreement, class_loss, agreement])

    def probabilities(self) -> Tensor:
        """Class probabilities of the validation nodes by the similarity that training compares by."""
        h, settings = self.model(self.inputs), self.config.similarity
        if self.config.training.compare == "overall":
            return self.voter.probabilities(h, self._queries(self.graph.validation, "validation"))
        similarity = self._similarity(h, self.validation, "validation")
        nearest = top(similarity, settings.num_nearest)
        weights = vote(similarity.gather(1, nearest), settings.temperature)
        return tally(weights, nearest, self.voter.answers(h.device))

    def _similarity(self, h: Tensor, nodes: Tensor, name: str) -> Tensor:
        """Similarity of some nodes with all labeled nodes, [B, L]."""
        if self.config.training.compare == "overall":
            queries = self._queries(nodes.cpu().numpy(), name)
            return self.voter.similarity(h).compare(queries, self.voter.cases).overall
        return measure_named(self.config.similarity.measure).learned_pairs(rows(h, nodes), rows(h, self.labeled))

    def _queries(self, nodes: IntArray, name: str) -> Items:
        """Some nodes to be compared; those that are the same in every epoch are prepared once."""
        held = self._items.get(name)
        if held is None or not np.array_equal(held.nodes, nodes):
            held = self._items[name] = self.voter.items(nodes)
        return held


def _voting(graph: Graph, share: float, generator: np.random.Generator) -> BoolArray:
    """Which labeled nodes vote, [L]; of each class at least one does."""
    kept: BoolArray = generator.random(len(graph.train)) >= share
    labels = graph.labels[graph.train]
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if not kept[members].any():
            kept[generator.choice(members)] = True
    return kept
