"""The authors' dense formulation: all local edges of a batch against all local edges of all labeled nodes.

Every edge is repeated once per local graph it lies in, the matrix of their distances is formed whole, and reduced by
scatter-max to the best match of each edge and by a mean to the similarity of two nodes, in both directions. Encoder,
losses, optimizer and vote are ours, so that the formulation alone differs; the results are the same.

Shapes: T targets, L labeled nodes, S and R edges in all their local graphs, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.baselines.pyg import pyg
from lab.baselines.network import directed_edges
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import SEGNN
from se_gnn.model.prediction import accuracy, log_loss
from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.settings import PaperObjective, Resolved
from se_gnn.similarity import combine, top
from se_gnn.training.objectives.paper import ContrastDraws, classification_loss, contrast_loss

BATCH = 16  # nodes compared at a time in validation


@dataclass(frozen=True, slots=True, eq=False)
class LocalEdges:
    """Local graphs of some nodes, their edges copied one after the other.

    Shapes:
        - **nodes:** :math:`(T,)`, **edges:** :math:`(S, 2)`, **owner:** :math:`(S,)` position of the node in ``nodes``
    """

    nodes: IntArray
    edges: Tensor
    owner: Tensor

    @property
    def sizes(self) -> Tensor:
        """Number of edges in each local graph, [T]."""
        return torch.bincount(self.owner, minlength=len(self.nodes))


def local_edges(nodes: IntArray, edge_index: Tensor, hops: int, num_nodes: int) -> LocalEdges:
    """Local graphs node by node, each undirected edge once in each."""
    k_hop_subgraph = pyg("utils").k_hop_subgraph
    parts, owners = [], []
    for position, node in enumerate(nodes):
        _, inside, _, _ = k_hop_subgraph(int(node), hops, edge_index, num_nodes=num_nodes)
        edges = inside[:, inside[0] < inside[1]].T
        parts.append(edges)
        owners.append(torch.full((len(edges),), position, device=edges.device))
    return LocalEdges(np.asarray(nodes), torch.cat(parts), torch.cat(owners))


def overall_similarity(h: Tensor, targets: LocalEdges, labeled: LocalEdges, node_weight: float) -> Tensor:
    """Lambda s^n + (1 - lambda) s^e with distances, Eq. (7), [T, L]."""
    ours, theirs = (torch.tensor(local.nodes, device=h.device) for local in (targets, labeled))
    node = -torch.cdist(h[ours], h[theirs])
    return combine(node, structure_similarity(h, targets, labeled), node_weight)


def structure_similarity(h: Tensor, targets: LocalEdges, labeled: LocalEdges) -> Tensor:
    """s^e, Eq. (6), averaged over both directions, [T, L]; -inf where one of the two nodes has no edges."""
    ours, theirs = _midpoints(h, targets.edges), _midpoints(h, labeled.edges)  # [S, D], [R, D]
    similarity = -torch.cdist(ours, theirs)  # [S, R]
    matched = _scatter_max(similarity, labeled, dim=1)  # [S, L]
    matched_back = _scatter_max(similarity, targets, dim=0)  # [T, R]
    there = _scatter_mean(matched, targets, dim=0)  # [T, L]
    back = _scatter_mean(matched_back, labeled, dim=1)  # [T, L]
    defined = (targets.sizes > 0)[:, None] & (labeled.sizes > 0)[None, :]
    return ((there + back) / 2).masked_fill(~defined, -torch.inf)


def _midpoints(h: Tensor, edges: Tensor) -> Tensor:
    return (h[edges[:, 0]] + h[edges[:, 1]]) / 2


def _scatter_max(values: Tensor, groups: LocalEdges, *, dim: int) -> Tensor:
    """Maximum over the edges of each local graph along ``dim``; 0 for one without edges, which is masked later."""
    shape = list(values.shape)
    shape[dim] = len(groups.nodes)
    index = groups.owner.unsqueeze(1 - dim).expand_as(values)
    return values.new_zeros(shape).scatter_reduce(dim, index, values, "amax", include_self=False)


def _scatter_mean(values: Tensor, groups: LocalEdges, *, dim: int) -> Tensor:
    """Mean over the edges of each local graph along ``dim``."""
    shape = list(values.shape)
    shape[dim] = len(groups.nodes)
    sums = values.new_zeros(shape).index_add(dim, groups.owner, values)
    return sums / groups.sizes.clamp_min(1).unsqueeze(1 - dim)


class DenseVoter:
    """Compares nodes with the labeled nodes batch by batch."""

    def __init__(self, graph: Graph, settings: Resolved, device: torch.device | str = "cpu") -> None:
        if (settings.similarity.measure, settings.similarity.directions) != ("distance", "both"):
            raise ValueError("the dense formulation compares by distance in both directions: use the preset authors")
        self.graph, self.settings = graph, settings
        self.edge_index = directed_edges(graph).to(device)
        self.labeled = self.local_edges(graph.train)
        self.labels = torch.tensor(graph.labels[graph.train], device=device)  # [L]

    def local_edges(self, nodes: IntArray) -> LocalEdges:
        """Local graphs of some nodes."""
        return local_edges(nodes, self.edge_index, self.settings.similarity.hops, self.graph.num_nodes)

    def batches(self, nodes: IntArray) -> list[LocalEdges]:
        """Local graphs of many nodes, ready to be compared a batch at a time."""
        return [self.local_edges(nodes[low : low + BATCH]) for low in range(0, len(nodes), BATCH)]

    @torch.no_grad()
    def probabilities(self, h: Tensor, batches: Sequence[LocalEdges]) -> Tensor:
        """Class probabilities of the nodes of all batches, Eq. (8)-(9)."""
        return torch.cat([self._vote(h, batch) for batch in batches])

    @torch.no_grad()
    def one_by_one(self, h: Tensor, nodes: IntArray) -> Tensor:
        """Class probabilities of nodes, each with its local graph looked up and compared alone."""
        return torch.cat([self._vote(h, self.local_edges(nodes[i : i + 1])) for i in range(len(nodes))])

    def _vote(self, h: Tensor, targets: LocalEdges) -> Tensor:
        settings = self.settings.vote
        overall = overall_similarity(h, targets, self.labeled, self.settings.similarity.node_weight)
        nearest = top(overall, settings.num_nearest)
        weights = vote(overall.gather(1, nearest), settings.temperature)
        return tally(weights, nearest, ClassAnswers(self.labels, self.graph.num_classes))


class DenseTraining:
    """Training with the dense formulation; local graphs of labeled and validation nodes are found beforehand."""

    def __init__(self, graph: Graph, settings: Resolved, *, seed: int, device: torch.device | str = "cpu") -> None:
        assert isinstance(settings.objective, PaperObjective)
        self.graph, self.settings, self.objective, self.seed, self.epoch = graph, settings, settings.objective, seed, 0
        self.model = SEGNN(graph.num_features, settings, generator=torch.Generator().manual_seed(seed)).to(device)
        self.inputs = self.model.inputs(graph)
        self.voter = DenseVoter(graph, settings, device)
        self.val_batches = self.voter.batches(graph.validation)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=settings.training.learning_rate, weight_decay=settings.training.weight_decay
        )

    def step(self) -> dict[str, Any]:
        """One epoch: Eq. (14) with all labeled nodes against each other, one step of Adam, validation."""
        generator = np.random.default_rng([self.seed, self.epoch])
        self.model.train()
        self.optimizer.zero_grad()
        h = self.model(self.inputs)
        labeled, node_weight = self.voter.labeled, self.settings.similarity.node_weight
        overall = overall_similarity(h, labeled, labeled, node_weight)  # [L, L]
        references = torch.from_numpy(generator.random(overall.shape)).to(overall.device)
        class_loss = classification_loss(overall, self.voter.labels, references, self.settings.vote, self.objective)
        aggregation = self.settings.encoder.aggregation
        draws = ContrastDraws.draw(self.inputs, self.graph.edges.ends, self.objective, aggregation, generator=generator)
        on_nodes, on_edges, _ = contrast_loss(self.model, self.inputs, draws.to(overall.device))
        weights = self.objective
        loss = class_loss + weights.node_loss_weight * on_nodes + weights.edge_loss_weight * on_edges
        loss.backward()
        self.optimizer.step()
        self.epoch += 1
        return {"loss": float(loss.detach()), "class_loss": float(class_loss.detach()), **self._validate()}

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        self.model.eval()
        probabilities = self.voter.probabilities(self.model(self.inputs), self.val_batches).cpu().numpy()
        labels = self.graph.labels[self.graph.validation]
        return {"val_accuracy": accuracy(probabilities, labels), "val_loss": log_loss(probabilities, labels)}
