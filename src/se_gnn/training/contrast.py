"""Self-supervision, Eq. (12)-(13): a node, and an edge, should be recognized in a perturbed view of the graph.

Shapes: N nodes, B queries in a batch, Q negatives each, D dimensions.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.deterministic import rows
from se_gnn.encoder import EncoderInputs, propagation
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.perturb import replace_edges
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.model import SEGNN
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.measure import measure_named
from se_gnn.training.share import Share


@dataclass(frozen=True, slots=True, eq=False)
class ContrastDraws:
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
        config: Config,
        *,
        generator: np.random.Generator,
        weights: FloatArray | None = None,
    ) -> ContrastDraws:
        """Draw views, queries and negatives, lines 4-7 of Algorithm 1; ``weights`` of the edges in a step, [E]."""
        settings, num_nodes = config.contrast, inputs.propagation.rows.shape[0]
        noisy = replace_edges(edges, num_nodes, settings.edge_noise, generator=generator)
        keep = [inputs.draw_mask(settings.mask_rate, generator=generator) for _ in range(2)]
        nodes = generator.choice(num_nodes, min(settings.node_batch, num_nodes), replace=False)
        other_nodes = _other_than(nodes, num_nodes, settings.node_negatives, generator)  # [B, Q]
        other_nodes += num_nodes * _views(other_nodes.shape, config, generator)

        kept = len(noisy.kept)
        batch = generator.choice(noisy.kept, min(settings.edge_batch, kept), replace=False) if kept else noisy.kept
        place = np.searchsorted(_keys(noisy.edges, num_nodes), _keys(edges[batch], num_nodes))  # in the second view
        in_second = _other_than(place, len(edges), settings.edge_negatives, generator)
        in_first = _other_than(batch, len(edges), settings.edge_negatives, generator)
        views = _views(in_first.shape, config, generator)[..., None]
        other_edges = np.where(views, noisy.edges[in_second] + num_nodes, edges[in_first])  # [B, Q, 2]
        return cls(
            keep_first=keep[0],
            keep_second=keep[1],
            propagation=propagation(
                noisy.edges,
                num_nodes,
                config.encoder.aggregation,
                weights=None if weights is None else weights[noisy.origin],
            ),
            nodes=torch.from_numpy(nodes),
            other_nodes=torch.from_numpy(other_nodes),
            edges=torch.from_numpy(edges[batch]),
            other_edges=torch.from_numpy(other_edges),
        )

    def to(self, device: torch.device) -> ContrastDraws:
        """The same draws on a device."""
        return ContrastDraws(*(getattr(self, field.name).to(device) for field in dataclasses.fields(self)))

    def copy_(self, other: ContrastDraws) -> None:
        """Take over other draws, in place."""
        for field in dataclasses.fields(self):
            getattr(self, field.name).copy_(getattr(other, field.name))


def contrast_loss(
    model: SEGNN, inputs: EncoderInputs, draws: ContrastDraws, share: Share | None = None
) -> tuple[Tensor, Tensor]:
    """Contrastive losses on nodes and on edges, line 8 of Algorithm 1.

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
        rows(first, nodes), rows(second, nodes), rows(both, draws.other_nodes[own]), model.config, len(draws.nodes)
    )
    edge_loss = node_loss.new_zeros(())
    if len(draws.edges):
        own = share.of(len(draws.edges))
        query, positive = (edge_vectors(view, draws.edges[own]) for view in (first, second))
        negatives = edge_vectors(both, draws.other_edges[own])
        edge_loss = _info_nce(query, positive, negatives, model.config, len(draws.edges))
    if share.whole:
        return node_loss, edge_loss
    node_loss, edge_loss = share.summed(torch.stack([node_loss, edge_loss]))
    return node_loss, edge_loss


def _info_nce(query: Tensor, positive: Tensor, negatives: Tensor, config: Config, total: int) -> Tensor:
    """-log of the softmax share of the positive among positive and negatives, Eq. (12)-(13), summed over B queries.

    It is divided by the number of queries in the whole batch, ``total``: a mean where these are all of them.

    Shapes:
        - **query**, **positive:** :math:`(B, D)`; **negatives:** :math:`(B, Q, D)`
    """
    measure, temperature = measure_named(config.similarity.measure), config.similarity.temperature
    good = measure.aligned(query, positive)[:, None]  # [B, 1]
    bad = measure.aligned(query[:, None], negatives)  # [B, Q]
    scores = torch.cat([good, bad], dim=1) / temperature
    first = torch.zeros_like(scores[:, 0], dtype=torch.int64)
    return torch.nn.functional.cross_entropy(scores, first, reduction="sum") / total


def _other_than(own: IntArray, total: int, count: int, generator: np.random.Generator) -> IntArray:
    """``count`` random ids below ``total`` for each of ``own``, never that id itself; none where there is no other."""
    drawn = generator.integers(0, max(1, total - 1), (len(own), count if total > 1 else 0))
    return drawn + (drawn >= own[:, None])


def _views(shape: tuple[int, ...], config: Config, generator: np.random.Generator) -> np.ndarray:
    """Which view each negative comes from: true for the second."""
    if config.contrast.negative_views == "second":
        return np.ones(shape, dtype=bool)
    return generator.random(shape) < 0.5


def _keys(edges: IntArray, num_nodes: int) -> IntArray:
    return edges[:, 0] * num_nodes + edges[:, 1]
