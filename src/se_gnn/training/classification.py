"""Classification loss, Eq. (11): similar to labeled nodes of the same class, unlike sampled ones of other classes.

Shapes: L labeled nodes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from se_gnn.config import Config


def classification_loss(overall: Tensor, classes: Tensor, draw: Tensor, config: Config) -> Tensor:
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
        config: K, Q, N, tau and the choice of references.
    """
    same = classes[:, None] == classes[None, :]
    other = ~torch.eye(len(classes), dtype=torch.bool, device=overall.device)
    away = -overall.detach()
    nearest, floor = config.similarity.num_nearest, config.training.probability_floor
    if config.training.references == "support":
        support = _smallest(draw, same & other, config.training.support_size)
        chosen = _smallest(away, support, nearest) | _smallest(draw, ~same, config.training.num_negatives)
    else:
        near = _smallest(away, other, nearest - 1)
        chosen = near | _smallest(draw, other & ~near, config.training.num_negatives)
        if floor == 0:
            missed = ~(chosen & same).any(dim=1, keepdim=True)
            chosen = chosen | missed & _smallest(away, same & other, 1)
    log_share = _log_share(overall / config.similarity.temperature, chosen, chosen & same)
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
