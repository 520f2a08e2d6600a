"""Self-supervision, Eq. (12)-(13): a node, and an edge, should be recognized in a perturbed view of the graph.

Shapes: B queries in a batch, Q negatives each, D dimensions.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.encoder import EncoderInputs, propagation
from se_gnn.graph.attributed import IntArray
from se_gnn.graph.perturb import replace_edges
from se_gnn.model import SEGNN
from se_gnn.similarity.node import aligned


def contrast_loss(
    model: SEGNN, inputs: EncoderInputs, edges: IntArray, *, generator: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Contrastive losses on nodes and on edges, lines 4-8 of Algorithm 1.

    The first view has masked attributes; the second has masked attributes and some edges replaced by noise.
    """
    settings, encoder = model.config.contrast, model.config.encoder
    num_nodes = inputs.propagation.rows.shape[0]
    noisy = replace_edges(edges, num_nodes, settings.edge_noise, generator=generator)
    first = model(inputs.masked(settings.mask_rate, generator=generator))  # [N, D]
    matrix = propagation(noisy.edges, num_nodes, encoder.aggregation, model.device)
    second = model(inputs.masked(settings.mask_rate, generator=generator).with_propagation(matrix))

    batch = generator.choice(num_nodes, min(settings.node_batch, num_nodes), replace=False)
    others = _other_than(batch, num_nodes, settings.node_negatives, generator)  # [B, Q]
    views = _views(others.shape, model.config, generator)
    node_loss = _info_nce(first[batch], second[batch], _pick(first, second, others, views), model.config)

    if not len(noisy.kept):
        return node_loss, node_loss.new_zeros(())
    batch = generator.choice(noisy.kept, min(settings.edge_batch, len(noisy.kept)), replace=False)
    place = np.searchsorted(_keys(noisy.edges, num_nodes), _keys(edges[batch], num_nodes))  # in the second view
    in_second = _other_than(place, len(noisy.edges), settings.edge_negatives, generator)
    in_first = _other_than(batch, len(edges), settings.edge_negatives, generator)
    views = _views(in_first.shape, model.config, generator)
    ends = np.where(views[..., None], noisy.edges[in_second], edges[in_first])  # [B, Q, 2]
    negatives = (_pick(first, second, ends[..., 0], views) + _pick(first, second, ends[..., 1], views)) / 2
    query = (first[edges[batch, 0]] + first[edges[batch, 1]]) / 2
    positive = (second[edges[batch, 0]] + second[edges[batch, 1]]) / 2
    return node_loss, _info_nce(query, positive, negatives, model.config)


def _info_nce(query: Tensor, positive: Tensor, negatives: Tensor, config: Config) -> Tensor:
    """-log of the softmax share of the positive among positive and negatives, Eq. (12)-(13).

    Shapes:
        - **query**, **positive:** :math:`(B, D)`; **negatives:** :math:`(B, Q, D)`
    """
    measure, temperature = config.similarity.measure, config.similarity.temperature
    good = aligned(query, positive, measure)[:, None]  # [B, 1]
    bad = aligned(query[:, None], negatives, measure)  # [B, Q]
    scores = torch.cat([good, bad], dim=1) / temperature
    return -torch.log_softmax(scores, dim=1)[:, 0].mean()


def _other_than(own: IntArray, total: int, count: int, generator: np.random.Generator) -> IntArray:
    """``count`` random ids below ``total`` for each of ``own``, never that id itself; none where there is no other."""
    drawn = generator.integers(0, max(1, total - 1), (len(own), count if total > 1 else 0))
    return drawn + (drawn >= own[:, None])


def _views(shape: tuple[int, ...], config: Config, generator: np.random.Generator) -> np.ndarray:
    """Which view each negative comes from: true for the second."""
    if config.contrast.negative_views == "second":
        return np.ones(shape, dtype=bool)
    return generator.random(shape) < 0.5


def _pick(first: Tensor, second: Tensor, nodes: IntArray, views: np.ndarray) -> Tensor:
    """Embeddings of nodes, each from its view."""
    both = torch.cat([first, second])
    index = torch.from_numpy(nodes + len(first) * views).to(first.device)
    return torch.nn.functional.embedding(index, both)  # as both[index], with a faster way back


def _keys(edges: IntArray, num_nodes: int) -> IntArray:
    return edges[:, 0] * num_nodes + edges[:, 1]
