"""Classification loss, Eq. (11): similar to labeled nodes of the same class, unlike sampled ones of other classes.

Shapes: L labeled nodes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.graph.attributed import BoolArray, IntArray

SMALLEST = 1e-8  # probability below which the authors' loss is flat


def classification_loss(overall: Tensor, labels: IntArray, config: Config, *, generator: np.random.Generator) -> Tensor:
    r"""Mean over the labeled nodes of minus the log share of the same-class references, Eq. (11).

    :math:`-\log \frac{\sum_{i \in \tilde K_t} \exp(s(v_t, v_i) / \tau)}
    {\sum_{i \in \tilde K_t \cup V_n^t} \exp(s(v_t, v_i) / \tau)}`

    ``references="support"`` (paper): the positives are the K nearest of N sampled same-class nodes, the negatives Q
    sampled nodes of other classes. ``references="nearest"`` (authors): the K - 1 nearest other labeled nodes of any
    class and Q sampled ones of the rest; those of the same class are the positives.
    A node that is alone in its class has no positive and is skipped.

    Args:
        overall: similarity of all labeled nodes with each other, :math:`(L, L)`.
        labels: their classes, :math:`(L,)`.
        config: K, Q, N, tau and the choice of references.
        generator: draws the samples.
    """
    same = labels[:, None] == labels[None, :]
    other = ~np.eye(len(labels), dtype=bool)
    draw = generator.random(same.shape)
    ranking = overall.detach().cpu().numpy()
    nearest = config.similarity.num_nearest
    if config.training.references == "support":
        support = _smallest(draw, same & other, config.training.support_size)
        chosen = _smallest(-ranking, support, nearest) | _smallest(draw, ~same, config.training.num_negatives)
    else:
        near = _smallest(-ranking, other, nearest - 1)
        chosen = near | _smallest(draw, other & ~near, config.training.num_negatives)
    scores = overall / config.similarity.temperature
    wanted = torch.from_numpy((same & other).any(axis=1)).to(overall.device)
    losses = _share_loss(scores, chosen, chosen & same)[wanted]
    return losses.sum() / max(1, len(losses))  # 0 where every node is alone in its class


def _share_loss(scores: Tensor, chosen: BoolArray, positive: BoolArray) -> Tensor:
    """-log of the softmax share of the positives among the chosen, row by row, [L]."""
    mask, wanted = (torch.from_numpy(array).to(scores.device) for array in (chosen, positive))
    shares = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=1)
    return -torch.log(shares.masked_fill(~wanted, 0).sum(dim=1).clamp_min(SMALLEST))


def _smallest(keys: np.ndarray, allowed: BoolArray, count: int) -> BoolArray:
    """Mark the ``count`` allowed entries of each row with the smallest keys; fewer where fewer are allowed."""
    chosen = np.zeros_like(allowed)
    if count > 0:
        order = np.argsort(np.where(allowed, keys, np.inf), axis=1, kind="stable")[:, :count]
        np.put_along_axis(chosen, order, True, axis=1)
    return chosen & allowed
