"""A training step over all labeled nodes in one view or two. Shapes: N nodes, L labeled, B unlabeled nodes, D dimensions.

Without consistency there is one view; with it there are two, with other attributes and units left out in each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.encoder import Dropout, EncoderInputs
from se_gnn.fixed_order import linear, rows
from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import IntArray
from se_gnn.model import SEGNN
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


def draw_views(
    graph: AttributedGraph, inputs: EncoderInputs, config: Config, epoch: int, *, generator: np.random.Generator
) -> ViewDraws:
    """Draw what is random in an epoch."""
    settings = config.training
    count = 2 if settings.consistency_weight > 0 else 1
    views = tuple(
        View(
            Dropout.draw(inputs, config.encoder, generator=generator),
            torch.from_numpy(_voting(graph, settings.memory_dropout, generator)),
        )
        for _ in range(count)
    )
    unlabeled = np.setdiff1d(np.arange(graph.num_nodes), graph.train)
    if len(unlabeled) > settings.consistency_batch:
        unlabeled = np.sort(generator.choice(unlabeled, settings.consistency_batch, replace=False))
    batch = unlabeled if count > 1 else unlabeled[:0]
    return ViewDraws(views, torch.from_numpy(batch), ramp(settings, epoch) if len(batch) else 0.0)


def _voting(graph: AttributedGraph, share: float, generator: np.random.Generator) -> np.ndarray:
    """Which labeled nodes vote, [L]; of each class at least one does."""
    kept: np.ndarray = generator.random(len(graph.train)) >= share
    labels = graph.labels[graph.train]
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if not kept[members].any():
            kept[generator.choice(members)] = True
    return kept


Compare = Callable[[Tensor, Tensor], Tensor]  # embeddings and node ids to similarity with all labeled nodes, [B, L]


def views_loss(
    model: SEGNN, inputs: EncoderInputs, classes: Tensor, draws: ViewDraws, compare: Compare, train: IntArray | Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The whole loss, that over the labeled nodes, and that of the views' agreement."""
    config, labeled = model.config, torch.as_tensor(train, device=classes.device)
    temperature, num_classes = config.similarity.temperature, int(classes.max()) + 1
    one_hot = torch.nn.functional.one_hot(classes, num_classes).to(torch.float32)  # [L, C]
    losses, votes = [], []
    for view in draws.views:
        h = model.encoder(inputs, view.dropout)
        logits = compare(h, labeled) / temperature  # [L, L]
        losses.append(leave_one_out_loss(logits, classes, view.voting, config.training, num_classes))
        if len(draws.batch):
            others = (compare(h, draws.batch) / temperature).masked_fill(~view.voting[None, :], NOBODY)  # [B, L]
            votes.append(linear(torch.softmax(others, dim=1), one_hot.T.contiguous()))  # [B, C]
    class_loss = torch.stack(losses).mean()
    agreement = consistency_loss(votes, config.training.consistency_power) if votes else torch.zeros_like(class_loss)
    return class_loss + draws.consistency * agreement, class_loss, agreement


def node_similarity(h: Tensor, nodes: Tensor, labeled: Tensor) -> Tensor:
    """Cosine of some nodes with all labeled nodes as one product, [B, L]: what training compares by."""
    units = torch.nn.functional.normalize(h, dim=1)
    return linear(rows(units, nodes), rows(units, labeled))
