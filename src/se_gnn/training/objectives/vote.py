"""The loss of the vote itself: each labeled node is predicted from all others, and two views of the graph should agree.

The vote that is learned is the vote that is cast. Only where there are thousands of labeled nodes does a step draw some
that are predicted, and some that vote. Without consistency there is one view of the graph; with it there are two, which
leave out different attributes and units. Shapes: L labeled nodes, Q of them predicted, V that may vote, B unlabeled
nodes, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic import linear, rows
from se_gnn.encoder import Drawn, Dropout
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray
from se_gnn.model import SEGNN
from se_gnn.settings import VoteObjective
from se_gnn.similarity import Items, items_of
from se_gnn.training.objectives.loss import NOBODY, Loss
from se_gnn.training.objectives.roles import BATCH, role_loss, roles_of

EDGE_BATCH = 1024  # most labeled nodes whose local graphs a step compares where edges carry data
UNSEEN = 80.0  # so much lower, a logit does not count: exp(-80) is less than any rounding, and not yet too small
SMALLEST = 1e-8  # probability below which smoothing asks for no more


class VoteLoss(Loss):
    """The vote is learned: each labeled node by the vote of all others, unlabeled ones by two views that agree."""

    names = ("loss", "class_loss", "consistency_loss")

    def __init__(self, model: SEGNN, graph: Graph, seed: int, max_memory: int | str | None = None) -> None:
        super().__init__(model, graph, seed, max_memory)
        assert isinstance(self.settings.objective, VoteObjective)
        self.objective = self.settings.objective
        self.classes = torch.tensor(graph.labels[graph.train], device=model.device)  # [L]
        self.one_hot = torch.nn.functional.one_hot(self.classes, graph.num_classes).to(torch.float32)  # [L, C]
        self.unlabeled = np.setdiff1d(np.arange(graph.num_nodes), graph.train)
        self._items: dict[str, Items] = {}
        self.role_weight = model.settings.training.role_weight
        self.roles = roles_of(graph).to(model.device) if self.role_weight else None  # [N, R]
        # edge data is learned by comparing local graphs
        self.compares_edges = bool(model.num_edge_features) and self.objective.compare == "node"

    def draw(self, epoch: int) -> ViewDraws:
        """Everything random in an epoch, from the seed and the number of the epoch."""
        generator, objective = np.random.default_rng([self.seed, epoch]), self.objective
        batch = self.unlabeled if objective.consistency_weight > 0 else self.unlabeled[:0]
        count = 2 if len(batch) else 1
        views = tuple(self._view(generator, by_edges=self.compares_edges and not view) for view in range(count))
        if len(batch) > objective.consistency_batch:
            batch = np.sort(generator.choice(batch, objective.consistency_batch, replace=False))
        asked = np.empty(0, np.int64)
        if self.roles is not None:
            asked = np.sort(generator.choice(self.graph.num_nodes, min(BATCH, self.graph.num_nodes), replace=False))
        consistency = ramp(objective, epoch) if len(batch) else 0.0
        return ViewDraws(views, torch.from_numpy(batch), consistency, torch.from_numpy(asked))

    def _view(self, generator: np.random.Generator, *, by_edges: bool) -> View:
        objective, total = self.objective, len(self.graph.train)
        dropout = Dropout.draw(self.inputs, self.settings.encoder, objective, generator=generator)
        voting = _voting(self.graph, objective.memory_dropout, generator)
        queries = cases = np.arange(total)
        if total > objective.memory_batch:
            cases = _drawn(np.flatnonzero(voting), objective.memory_batch, generator)
        if total > objective.label_batch:
            queries = _drawn(queries, objective.label_batch, generator)
        compared = [np.arange(len(nodes) if by_edges else 0) for nodes in (queries, cases)]
        edges = tuple(torch.from_numpy(_drawn(places, EDGE_BATCH, generator)) for places in compared)
        silent = None if voting[cases].all() else torch.from_numpy(~voting[cases])
        return View(dropout, torch.from_numpy(queries), torch.from_numpy(cases), silent, *edges)

    def losses(self, draws: ViewDraws) -> Tensor:
        """The whole loss, that over the labeled nodes, and that of the views' agreement, [3]."""
        objective, temperature = self.objective, self.settings.vote.temperature
        losses, edge_losses, votes, identity_losses = [], [], [], []
        for view in draws.views:
            h, one_hot = self.model.network(self.inputs, view.dropout), self.one_hot[view.cases]
            silent = view.queries[:, None] == view.cases[None, :]  # [Q, V]
            if view.silent is not None:
                silent = silent | view.silent
            known = self.one_hot[view.queries]
            compared = self._similarity(h, self.labeled[view.queries], "labeled", view)
            losses.append(leave_one_out_loss(compared / temperature, silent, known, one_hot, objective))
            if len(view.edge_queries):  # of the first view alone: matching edges takes most of an epoch
                edge_losses.append(self._edge_loss(h, view, compared, silent, known, one_hot))
            if len(draws.batch):
                others = self._similarity(h, draws.batch, "batch", view) / temperature  # [B, V]
                others = others if view.silent is None else others.masked_fill(view.silent, NOBODY)
                votes.append(linear(torch.softmax(others, dim=1), one_hot.T.contiguous()))  # [B, C]
            if self.roles is not None:
                identity_losses.append(role_loss(rows(h, draws.asked), self.roles[draws.asked], self.settings))
        class_loss = torch.stack(losses).mean()
        if edge_losses:
            class_loss = (class_loss + edge_losses[0]) / 2
        agreement = consistency_loss(votes, objective.consistency_power) if votes else torch.zeros_like(class_loss)
        loss = class_loss + draws.consistency * agreement
        if identity_losses:
            loss = loss + self.role_weight * torch.stack(identity_losses).mean()
        return torch.stack([loss, class_loss, agreement])

    def _edge_loss(
        self, h: Tensor, view: View, compared: Tensor, silent: Tensor, known: Tensor, one_hot: Tensor
    ) -> Tensor:
        """The loss of some labeled nodes by the vote of some cases, compared by node, [Q, V], and structure."""
        some, cases = view.edge_queries, view.edge_cases
        queries, voting = self._some(view.queries[some]), self._some(view.cases[cases])
        if silent.shape != (len(some), len(cases)):
            compared, silent = (pairs[some][:, cases] for pairs in (compared, silent))
            known, one_hot = known[some], one_hot[cases]
        logits = self.similarity(h).compare(queries, voting, node=compared).overall / self.settings.vote.temperature
        return leave_one_out_loss(logits, silent, known, one_hot, self.objective)

    def answers(self) -> Tensor:
        """Class probabilities of the validation nodes by the similarity that training compares by."""
        if self.objective.compare == "node":
            return super().answers()
        return self.probabilities(self.model(self.inputs), self._queries(self.graph.validation, "validation"))

    def _similarity(self, h: Tensor, nodes: Tensor, name: str, view: View) -> Tensor:
        """Similarity of some nodes with the labeled nodes that may vote in a view, [B, V]."""
        if self.objective.compare == "overall":
            return self._overall(h, nodes.cpu().numpy(), name, view)
        return self.pairs(rows(h, nodes), rows(h, self.labeled[view.cases]))

    def _overall(self, h: Tensor, nodes: IntArray, name: str, view: View) -> Tensor:
        """As :meth:`_similarity`, by node and structure; labeled nodes are compared with each other only once."""
        cases, similarity = self._some(view.cases), self.similarity(h)
        if cases is self.cases.items and name == "labeled" and len(nodes) == len(cases):
            return similarity.compare_among(cases).overall
        return similarity.compare(self._queries(nodes, name), cases).overall

    def _some(self, positions: Tensor) -> Items:
        """Labeled nodes at some positions, ascending, to be compared; all of them are prepared once."""
        items = self.cases.items
        return items if len(positions) == len(items) else items.select(positions.cpu().numpy())

    def _queries(self, nodes: IntArray, name: str) -> Items:
        """Nodes to be compared; nodes that are the same in every epoch are prepared once."""
        held = self._items.get(name)
        if held is None or not np.array_equal(held.nodes, nodes):
            held = self._items[name] = items_of(self.graph, nodes, self.settings.similarity)
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


def _drawn(positions: IntArray, count: int, generator: np.random.Generator) -> IntArray:
    """Some positions, or all of them if there are no more, ascending."""
    if len(positions) <= count:
        return positions
    return np.sort(generator.choice(positions, count, replace=False))


@dataclass(frozen=True, slots=True, eq=False)
class View(Drawn):
    """What one view leaves out: attributes and units, and labeled nodes that are not predicted or do not vote."""

    dropout: Dropout
    queries: Tensor  # positions of the labeled nodes that are predicted, [Q]
    cases: Tensor  # positions of those that may vote, [V]
    silent: Tensor | None  # which of these do not vote in this step, [V]; None: all of them vote
    edge_queries: Tensor  # places among the queries of those whose local graphs are compared as well
    edge_cases: Tensor  # places among those that may vote of the cases with which they are compared


@dataclass(frozen=True, slots=True, eq=False)
class ViewDraws(Drawn):
    """All that is random in one epoch: the views, and the unlabeled nodes on which they should agree."""

    views: tuple[View, ...]
    batch: Tensor  # [B]
    consistency: float  # how much they count
    asked: Tensor  # nodes whose role is predicted


def leave_one_out_loss(
    logits: Tensor, silent: Tensor, known: Tensor, one_hot: Tensor, objective: VoteObjective
) -> Tensor:
    r"""Mean of :math:`-\log p_t(y_t)`, with :math:`p_t` the vote of all *other* labeled nodes that vote in this step.

    With ``label_smoothing`` e a label counts 1 - e, and e is spread over all classes. With ``balance_classes`` every
    class has the same share of the mean. A node without another voting node of its class has nothing to be similar to
    and is left out.

    Args:
        logits: similarity / tau of the predicted nodes with those that may vote, :math:`(Q, V)`.
        silent: who does not vote on whom: the node itself, and who is left out in this step, :math:`(Q, V)`.
        known: classes of the predicted nodes, :math:`(Q, C)`.
        one_hot: classes of those that may vote, :math:`(V, C)`.
        objective: label smoothing and class balance.
    """
    log_shares = torch.log_softmax(logits.masked_fill(silent, NOBODY), dim=1)  # [Q, V]
    classes = known.argmax(dim=1)
    same = (classes[:, None] == one_hot.argmax(dim=1)[None, :]) & ~silent
    counted = same.any(dim=1)
    with torch.no_grad():  # too low to change a bit of the sum, but no underflow: for that, exp takes ten times as long
        floor = log_shares.masked_fill(~same, NOBODY).amax(dim=1, keepdim=True) - UNSEEN
    losses = -torch.logsumexp(torch.where(same, log_shares, floor), dim=1)  # -log p_t(y_t)
    if objective.label_smoothing > 0:
        votes = linear(log_shares.exp(), one_hot.T.contiguous())  # [Q, C]
        spread = votes.clamp_min(SMALLEST).log().mean(dim=1)
        losses = (1 - objective.label_smoothing) * losses - objective.label_smoothing * spread
    weights = counted.to(logits.dtype)
    if objective.balance_classes:
        weights = weights / (known * weights[:, None]).sum(dim=0).clamp_min(1)[classes]
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
    """The weight of consistency in an epoch: it grows linearly from 0."""
    return objective.consistency_weight * min(1.0, epoch / max(1, objective.consistency_ramp))
