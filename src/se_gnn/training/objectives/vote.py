"""The loss of the vote itself: each labeled node is predicted from all others, and two views of the graph should agree.

Nothing is sampled: the vote that is learned is the vote that is cast. Without consistency there is one view of the
graph; with it there are two, which leave out different attributes and units. Shapes: L labeled, B unlabeled nodes, C
classes.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from se_gnn.settings import VoteObjective
from se_gnn.similarity import Items, measure_named, top

SMALLEST = 1e-8  # probability below which smoothing asks for no more
NOBODY = -1e9  # a logit without weight: unlike -inf, it gives no NaN if a whole row has it


class VoteLoss:
    """The vote is learned: each labeled node by the vote of all others, unlabeled ones by two views that agree."""

    names: tuple[str, ...] = ("loss", "class_loss", "consistency_loss")

    def __init__(self, model: SEGNN, graph: Graph, voter: Voter, seed: int) -> None:
        assert isinstance(model.settings.objective, VoteObjective)
        self.objective, self.settings = model.settings.objective, model.settings
        self.model, self.graph, self.voter, self.seed = model, graph, voter, seed
        self.inputs, self.recordable = model.inputs(graph), False
        self.labeled, self.validation = (
            torch.tensor(nodes, device=model.device) for nodes in (graph.train, graph.validation)
        )
        self.classes = torch.tensor(graph.labels[graph.train], device=model.device)  # [L]
        self.one_hot = torch.nn.functional.one_hot(self.classes, graph.num_classes).to(torch.float32)  # [L, C]
        self.unlabeled = np.setdiff1d(np.arange(graph.num_nodes), graph.train)
        self._items: dict[str, Items] = {}
        # edge data is learned by comparing local graphs
        self.compares_edges = bool(model.num_edge_features) and self.objective.compare == "node"

    def draw(self, epoch: int) -> ViewDraws:
        """What is random in an epoch follows from the seed and the number of the epoch."""
        generator, objective = np.random.default_rng([self.seed, epoch]), self.objective
        batch = self.unlabeled if objective.consistency_weight > 0 else self.unlabeled[:0]
        count = 2 if len(batch) else 1
        views = tuple(
            View(
                Dropout.draw(self.inputs, self.settings.encoder, objective, generator=generator),
                torch.from_numpy(_voting(self.graph, objective.memory_dropout, generator)),
            )
            for _ in range(count)
        )
        if len(batch) > objective.consistency_batch:
            batch = np.sort(generator.choice(batch, objective.consistency_batch, replace=False))
        return ViewDraws(views, torch.from_numpy(batch), ramp(objective, epoch) if len(batch) else 0.0)

    def losses(self, draws: ViewDraws) -> Tensor:
        """The whole loss, that over the labeled nodes, and that of the views' agreement, [3]."""
        objective, temperature = self.objective, self.settings.vote.temperature
        losses, votes = [], []
        for view in draws.views:
            h = self.model.encoder(self.inputs, view.dropout)
            logits = self._similarity(h, self.labeled, "labeled") / temperature  # [L, L]
            losses.append(leave_one_out_loss(logits, self.one_hot, view.voting, objective))
            if self.compares_edges:
                overall = self.voter.similarity(h).compare_among(self.voter.cases.items).overall / temperature
                losses[-1] = (losses[-1] + leave_one_out_loss(overall, self.one_hot, view.voting, objective)) / 2
            if len(draws.batch):
                others = self._similarity(h, draws.batch, "batch") / temperature  # [B, L]
                shares = torch.softmax(others.masked_fill(~view.voting[None, :], NOBODY), dim=1)
                votes.append(linear(shares, self.one_hot.T.contiguous()))  # [B, C]
        class_loss = torch.stack(losses).mean()
        agreement = consistency_loss(votes, objective.consistency_power) if votes else torch.zeros_like(class_loss)
        return torch.stack([class_loss + draws.consistency * agreement, class_loss, agreement])

    def probabilities(self) -> Tensor:
        """Class probabilities of the validation nodes by the similarity that training compares by."""
        h, settings = self.model(self.inputs), self.settings.vote
        if self.objective.compare == "overall":
            return self.voter.probabilities(h, self._queries(self.graph.validation, "validation"))
        similarity = self._similarity(h, self.validation, "validation")
        nearest = top(similarity, settings.num_nearest)
        weights = vote(similarity.gather(1, nearest), settings.temperature)
        return tally(weights, nearest, self.voter.cases.answers_on(h.device))

    def _similarity(self, h: Tensor, nodes: Tensor, name: str) -> Tensor:
        """Similarity of some nodes with all labeled nodes, [B, L]."""
        if self.objective.compare == "overall":
            queries = self._queries(nodes.cpu().numpy(), name)
            return self.voter.similarity(h).compare(queries, self.voter.cases.items).overall
        return measure_named(self.settings.similarity.measure).learned_pairs(rows(h, nodes), rows(h, self.labeled))

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


def leave_one_out_loss(logits: Tensor, one_hot: Tensor, voting: Tensor, objective: VoteObjective) -> Tensor:
    r"""Mean of :math:`-\log p_t(y_t)`, with :math:`p_t` the vote of all *other* labeled nodes that vote in this step.

    With ``label_smoothing`` e a label counts 1 - e, and e is spread over all classes. With ``balance_classes`` every
    class has the same share of the mean. A node without another voting node of its class has nothing to be similar to
    and is left out.

    Args:
        logits: similarity / tau of all labeled nodes with each other, :math:`(L, L)`.
        one_hot: their classes, :math:`(L, C)`.
        voting: which of them vote in this step, :math:`(L,)`.
        objective: label smoothing and class balance.
    """
    silent = torch.eye(len(one_hot), dtype=torch.bool, device=logits.device) | ~voting[None, :]
    log_shares = torch.log_softmax(logits.masked_fill(silent, NOBODY), dim=1)  # [L, L]
    classes = one_hot.argmax(dim=1)
    same = (classes[:, None] == classes[None, :]) & ~silent
    counted = same.any(dim=1)
    losses = -torch.logsumexp(log_shares.masked_fill(~same, NOBODY), dim=1)  # -log p_t(y_t)
    if objective.label_smoothing > 0:
        votes = linear(log_shares.exp(), one_hot.T.contiguous())  # [L, C]
        spread = votes.clamp_min(SMALLEST).log().mean(dim=1)
        losses = (1 - objective.label_smoothing) * losses - objective.label_smoothing * spread
    weights = counted.to(logits.dtype)
    if objective.balance_classes:
        weights = weights / (one_hot * weights[:, None]).sum(dim=0).clamp_min(1)[classes]
    return (losses.masked_fill(~counted, 0) * weights).sum() / weights.sum().clamp_min(SMALLEST)


def consistency_loss(votes: Sequence[Tensor], power: float) -> Tensor:
    r"""Mean squared distance of each view's vote from the sharpened mean of all views (Feng et al., 2020).

    :math:`q \propto \bar p^{\,\gamma}` with :math:`\bar p` the mean of the views' votes; no gradient flows through q.

    Args:
        votes: class probabilities of the same nodes in each view, :math:`(B, C)` each.
        power: gamma; above 1 pulls towards the class that leads already.
    """
    with torch.no_grad():
        target = torch.stack(tuple(votes)).mean(dim=0) ** power
        target = target / target.sum(dim=1, keepdim=True)
    distances = [(vote - target).square().sum(dim=1).mean() for vote in votes]
    return torch.stack(distances).mean()


def ramp(objective: VoteObjective, epoch: int) -> float:
    """How much consistency counts in an epoch: its weight, reached in a straight line from 0."""
    return objective.consistency_weight * min(1.0, epoch / max(1, objective.consistency_ramp))
