"""The paper's loss, Eq. (11)-(14): classification against sampled references, and contrast of two views of the graph.

Shapes: L labeled nodes, N nodes, B queries in a batch, Q negatives each, D dimensions.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic import rows
from se_gnn.encoder import Drawn, EncoderInputs, propagation, step_weights
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.perturb import replace_edges
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.model import SEGNN
from se_gnn.settings import PaperObjective, Resolved, VoteSettings
from se_gnn.settings.sections import Aggregation
from se_gnn.similarity import Items, combine, items_of
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.measure import measure_named
from se_gnn.training.objectives.loss import Loss
from se_gnn.training.objectives.roles import role_loss, roles_of
from se_gnn.training.share import Share


class PaperLoss(Loss):
    """Algorithm 1, lines 3 to 9; presets `paper` and `authors`.

    Ranks that train together divide the labeled nodes, the queries of the contrast and the validation nodes; the
    encoder runs in full on each of them.
    """

    names = ("loss", "class_loss", "node_loss", "edge_loss")

    def __init__(
        self,
        model: SEGNN,
        graph: Graph,
        seed: int,
        max_memory: int | str | None = None,
        share: Share | None = None,
    ) -> None:
        super().__init__(model, graph, seed, max_memory)
        assert isinstance(self.settings.objective, PaperObjective)
        self.share, self.objective = share or Share(), self.settings.objective
        self.step_weights = step_weights(graph, self.settings.encoder)
        self.classes = torch.tensor(graph.labels[graph.train], device=model.device)  # [L]
        # edge data is moved to the device step by step, which a recorded step cannot do
        self.recordable = self.objective.max_local_edges is None and graph.edge_values is None
        self.role_weight = self.settings.training.role_weight
        self.roles = roles_of(graph).to(model.device) if self.role_weight else None  # [N, R]
        self.asking = self.own(self.cases.items)
        queries = items_of(graph, graph.validation, self.settings.similarity)
        if self.objective.max_local_edges is not None:
            queries = queries.sampled(self.objective.max_local_edges, generator=np.random.default_rng(seed))
        self.queries = self.own(queries)

    def own(self, items: Items) -> Items:
        """The nodes that this rank compares, of some."""
        return items if self.share.whole else items.select(np.arange(len(items))[self.share.of(len(items))])

    def _overall(self, sample: Items | None) -> Tensor:
        """Similarity of the labeled nodes with each other, Eq. (7), [L, L]; the other direction is the transpose."""
        h, settings = self.model(self.inputs), self.settings.similarity
        if self.share.whole:
            return self.similarity(h).compare_among(self.cases.items, sample).overall
        one_way = self.similarity(h, dataclasses.replace(settings, directions="one"))
        found = one_way.compare(self.asking if sample is None else self.own(sample), self.cases.items)
        own = torch.stack([found.node, found.structure], dim=1)
        node, structure = self.share.all_rows(own, len(self.classes)).unbind(dim=1)
        if settings.directions == "both":
            structure = (structure + structure.T) / 2
        return combine(node, structure, settings.node_weight)

    def draw(self, epoch: int) -> Draws:
        """Everything random in an epoch, from the seed and the number of the epoch."""
        generator = np.random.default_rng([self.seed, epoch])
        objective, sample = self.objective, None
        if objective.max_local_edges is not None:
            sample = self.cases.items.sampled(objective.max_local_edges, generator=generator)
        references = torch.from_numpy(generator.random((len(self.classes), len(self.classes))))
        contrast = None
        if objective.node_loss_weight > 0 or objective.edge_loss_weight > 0 or self.role_weight > 0:
            aggregation, edges = self.settings.encoder.aggregation, self.graph.edges.ends
            contrast = ContrastDraws.draw(
                self.inputs, edges, objective, aggregation, generator=generator, weights=self.step_weights
            )
        return Draws(sample, references, contrast)

    def losses(self, draws: Draws) -> Tensor:
        """Eq. (14) with its three parts, [4]."""
        overall = self._overall(draws.sample)
        loss = class_loss = classification_loss(
            overall, self.classes, draws.references, self.settings.vote, self.objective
        )
        node_loss = edge_loss = torch.zeros_like(loss)
        if draws.contrast is not None:
            node_loss, edge_loss, identity_loss = contrast_loss(
                self.model, self.inputs, draws.contrast, self.share, self.roles
            )
            loss = loss + self.objective.node_loss_weight * node_loss + self.objective.edge_loss_weight * edge_loss
            if self.role_weight:
                loss = loss + self.role_weight * identity_loss
        return torch.stack([loss, class_loss, node_loss, edge_loss])

    def answers(self) -> Tensor:
        """Class probabilities of the validation nodes, compared on as many edges as in training."""
        own = self.probabilities(self.model(self.inputs), self.queries)
        return self.share.all_rows(own, len(self.graph.validation))


@dataclass(frozen=True, slots=True, eq=False)
class Draws(Drawn):
    """All that is random in one epoch.

    Shapes:
        - **references:** :math:`(L, L)`
    """

    sample: Items | None  # of the edges of the labeled nodes, which these are compared on; None: all edges
    references: Tensor  # samples the references of Eq. (11)
    contrast: ContrastDraws | None  # None: no self-supervision


def classification_loss(
    overall: Tensor, classes: Tensor, draw: Tensor, vote: VoteSettings, objective: PaperObjective
) -> Tensor:
    r"""Mean over the labeled nodes of minus the log share of the same-class references, Eq. (11).

    :math:`-\log \frac{\sum_{i \in \tilde K_t} \exp(s(v_t, v_i) / \tau)}
    {\sum_{i \in \tilde K_t \cup V_n^t} \exp(s(v_t, v_i) / \tau)}`

    ``references="support"`` (paper): the positives are the K nearest of N sampled same-class nodes, the negatives Q
    sampled nodes of other classes. ``references="nearest"`` (authors): the K - 1 nearest other labeled nodes of any
    class and Q sampled ones of the rest; those of the same class are the positives. Where there are none, the nearest
    labeled node of the same class joins them, unless ``probability_floor`` is above 0: the authors count such a share
    as 1e-8, and the loss has no gradient where the model is most wrong.
    A node that is alone in its class has no positive and is skipped.

    Args:
        overall: similarity of all labeled nodes with each other, :math:`(L, L)`.
        classes: their classes, :math:`(L,)`.
        draw: a random number for each pair; those with the smallest are sampled, :math:`(L, L)`.
        vote: K and tau.
        objective: Q, N and the choice of references.
    """
    same = classes[:, None] == classes[None, :]
    other = ~torch.eye(len(classes), dtype=torch.bool, device=overall.device)
    away = -overall.detach()
    nearest, floor = vote.num_nearest, objective.probability_floor
    if objective.references == "support":
        support = _smallest(draw, same & other, objective.support_size)
        chosen = _smallest(away, support, nearest) | _smallest(draw, ~same, objective.num_negatives)
    else:
        near = _smallest(away, other, nearest - 1)
        chosen = near | _smallest(draw, other & ~near, objective.num_negatives)
        if floor == 0:
            missed = ~(chosen & same).any(dim=1, keepdim=True)
            chosen = chosen | missed & _smallest(away, same & other, 1)
    log_share = _log_share(overall / vote.temperature, chosen, chosen & same)
    losses = -log_share.clamp_min(math.log(floor) if floor > 0 else -math.inf)
    wanted = (same & other).any(dim=1)
    return losses.masked_fill(~wanted, 0).sum() / wanted.sum().clamp_min(1)  # 0 where every node is alone in its class


def _log_share(scores: Tensor, chosen: Tensor, positive: Tensor) -> Tensor:
    """Log of the softmax share of the positives among the chosen, row by row, [L]; very low where there are none."""
    lowest = torch.finfo(scores.dtype).min  # not -inf: a row without entries would have a gradient of NaN
    above, below = (scores.masked_fill(~some, lowest).logsumexp(dim=1) for some in (positive, chosen))
    return above - below


def _smallest(keys: Tensor, allowed: Tensor, count: int) -> Tensor:
    """Mark the ``count`` allowed entries of each row with the smallest keys; fewer where fewer are allowed."""
    order = keys.masked_fill(~allowed, torch.inf).topk(min(count, keys.shape[1]), dim=1, largest=False).indices
    return torch.zeros_like(allowed).scatter_(1, order, True) & allowed


@dataclass(frozen=True, slots=True, eq=False)
class ContrastDraws(Drawn):
    """All that is random in the two views and their negatives; no shape depends on the draw.

    Nodes of negatives are rows of both views one under the other: node v of the second view is N + v.

    Shapes:
        - **nodes:** :math:`(B,)`, **other_nodes:** :math:`(B, Q)`
        - **edges:** :math:`(B, 2)`, **other_edges:** :math:`(B, Q, 2)`
    """

    keep_first: Tensor  # attributes of the first view that are not masked
    keep_second: Tensor
    propagation: SparseMatrix  # of the second view, where some edges are replaced by noise
    nodes: Tensor
    other_nodes: Tensor
    edges: Tensor
    other_edges: Tensor

    @classmethod
    def draw(
        cls,
        inputs: EncoderInputs,
        edges: IntArray,
        objective: PaperObjective,
        aggregation: Aggregation,
        *,
        generator: np.random.Generator,
        weights: FloatArray | None = None,
    ) -> ContrastDraws:
        """Draw views, queries and negatives, lines 4-7 of Algorithm 1; ``weights`` of the edges in a step, [E]."""
        num_nodes = inputs.propagation.rows.shape[0]
        noisy = replace_edges(edges, num_nodes, objective.edge_noise, generator=generator)
        keep = [inputs.draw_mask(objective.mask_rate, generator=generator) for _ in range(2)]
        nodes = generator.choice(num_nodes, min(objective.node_batch, num_nodes), replace=False)
        other_nodes = _other_than(nodes, num_nodes, objective.node_negatives, generator)  # [B, Q]
        other_nodes += num_nodes * _views(other_nodes.shape, objective, generator)

        kept = len(noisy.kept)
        batch = generator.choice(noisy.kept, min(objective.edge_batch, kept), replace=False) if kept else noisy.kept
        place = np.searchsorted(_keys(noisy.edges, num_nodes), _keys(edges[batch], num_nodes))  # in the second view
        in_second = _other_than(place, len(edges), objective.edge_negatives, generator)
        in_first = _other_than(batch, len(edges), objective.edge_negatives, generator)
        views = _views(in_first.shape, objective, generator)[..., None]
        other_edges = np.where(views, noisy.edges[in_second] + num_nodes, edges[in_first])  # [B, Q, 2]
        return cls(
            keep_first=keep[0],
            keep_second=keep[1],
            propagation=propagation(
                noisy.edges,
                num_nodes,
                aggregation,
                weights=None if weights is None else weights[noisy.origin],
            ),
            nodes=torch.from_numpy(nodes),
            other_nodes=torch.from_numpy(other_nodes),
            edges=torch.from_numpy(edges[batch]),
            other_edges=torch.from_numpy(other_edges),
        )


def contrast_loss(
    model: SEGNN,
    inputs: EncoderInputs,
    draws: ContrastDraws,
    share: Share | None = None,
    roles: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Contrastive losses on nodes and on edges, line 8 of Algorithm 1, and structural identity if there are ``roles``.

    The first view has masked attributes; the second has masked attributes and some edges replaced by noise. With a
    ``share`` each rank asks some of the queries.
    """
    first = model(inputs.masked(draws.keep_first))  # [N, D]
    second = model(inputs.masked(draws.keep_second).with_propagation(draws.propagation))
    both = torch.cat([first, second])
    share = share or Share()
    own = share.of(len(draws.nodes))
    nodes = draws.nodes[own]
    node_loss = _info_nce(
        rows(first, nodes), rows(second, nodes), rows(both, draws.other_nodes[own]), model.settings, len(draws.nodes)
    )
    edge_loss = identity_loss = node_loss.new_zeros(())
    if roles is not None:
        identity_loss = role_loss(rows(second, draws.nodes), roles[draws.nodes], model.settings, own)
    if len(draws.edges):
        own = share.of(len(draws.edges))
        query, positive = (edge_vectors(view, draws.edges[own]) for view in (first, second))
        negatives = edge_vectors(both, draws.other_edges[own])
        edge_loss = _info_nce(query, positive, negatives, model.settings, len(draws.edges))
    if share.whole:
        return node_loss, edge_loss, identity_loss
    node_loss, edge_loss, identity_loss = share.summed(torch.stack([node_loss, edge_loss, identity_loss]))
    return node_loss, edge_loss, identity_loss


def _info_nce(query: Tensor, positive: Tensor, negatives: Tensor, settings: Resolved, total: int) -> Tensor:
    """-log of the softmax share of the positive among positive and negatives, Eq. (12)-(13), summed over B queries.

    It is divided by the number of queries in the whole batch, ``total``: a mean where these are all of them.

    Shapes:
        - **query**, **positive:** :math:`(B, D)`; **negatives:** :math:`(B, Q, D)`
    """
    measure, temperature = measure_named(settings.similarity.measure), settings.vote.temperature
    good = measure.aligned(query, positive)[:, None]  # [B, 1]
    bad = measure.aligned(query[:, None], negatives)  # [B, Q]
    scores = torch.cat([good, bad], dim=1) / temperature
    first = torch.zeros_like(scores[:, 0], dtype=torch.int64)
    return torch.nn.functional.cross_entropy(scores, first, reduction="sum") / total


def _other_than(own: IntArray, total: int, count: int, generator: np.random.Generator) -> IntArray:
    """``count`` random ids below ``total`` for each of ``own``, never that id itself; none if there is no other."""
    drawn = generator.integers(0, max(1, total - 1), (len(own), count if total > 1 else 0))
    return drawn + (drawn >= own[:, None])


def _views(shape: tuple[int, ...], objective: PaperObjective, generator: np.random.Generator) -> np.ndarray:
    """Which view each negative comes from: true for the second."""
    if objective.negative_views == "second":
        return np.ones(shape, dtype=bool)
    return generator.random(shape) < 0.5


def _keys(edges: IntArray, num_nodes: int) -> IntArray:
    return edges[:, 0] * num_nodes + edges[:, 1]
