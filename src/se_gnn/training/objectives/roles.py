r"""Structural identity: a node's role must be predictable from the nodes that are similar to it.

The paper names this as future work: a pretext task beside its contrastive ones. The role of a node is a vector of
quantiles: its number of edges and triangles, its core number and PageRank, and the degrees of its neighbors
(`se_gnn.tables.structure`). In a view of the graph with masked attributes and some edges replaced, each node of a
batch is predicted by the vote of the others, as classes are, Eq. (8)-(9), with roles in the place of classes:

.. math:: L_r = \frac{1}{B} \sum_t \Big\lVert r_t - \sum_{i \neq t} a_{ti} r_i \Big\rVert^2,
    \qquad a_{ti} \propto \exp(s^n(v_t, v_i) / \tau).

No parameters are added, and what is learned is the similarity that votes. Shapes: N nodes, B of a batch, R numbers.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from se_gnn.graph import Graph
from se_gnn.settings import Resolved
from se_gnn.training.objectives.loss import vote_of_others

BATCH = 512  # most nodes of a step


def roles_of(graph: Graph) -> Tensor:
    """The role of each node: quantiles of its numbers among all nodes, from -1 to 1, [N, R]."""
    from se_gnn.tables.structure import structure_numbers  # here: reading tables is another extra

    numbers = np.stack(list(structure_numbers(graph.edges.ends, graph.num_nodes).values()), axis=1)
    ranks = rankdata(numbers, axis=0)
    return torch.from_numpy((2 * (ranks - 0.5) / len(numbers) - 1).astype(np.float32))


def role_loss(h: Tensor, roles: Tensor, settings: Resolved, own: slice = slice(None)) -> Tensor:
    """The loss over some nodes of a batch, divided by the size of the whole batch.

    Args:
        h: embeddings of the batch, [B, D].
        roles: their roles, [B, R].
        settings: measure and tau.
        own: which nodes this rank predicts.
    """
    predicted = vote_of_others(h, roles, settings, own)
    return (predicted - roles[own]).square().mean(dim=1).sum() / len(h)
