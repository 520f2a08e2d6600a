r"""The loss over all labeled nodes: each is predicted by the vote of all others. Shapes: L labeled nodes, C classes.

Nothing is sampled: the vote that is learned is the vote that is cast, with every labeled node in it but the one asked.
"""

from __future__ import annotations

import torch
from torch import Tensor

from se_gnn.config import TrainingConfig
from se_gnn.deterministic import linear

SMALLEST = 1e-8  # probability below which smoothing asks for no more
NOBODY = -1e9  # a logit that has no weight, and no NaN where a whole row has it


def leave_one_out_loss(logits: Tensor, one_hot: Tensor, voting: Tensor, config: TrainingConfig) -> Tensor:
    r"""Mean of :math:`-\log p_t(y_t)`, with :math:`p_t` the vote of all *other* labeled nodes that vote in this step.

    With ``label_smoothing`` e a label counts 1 - e, and e is spread over all classes. With ``balance_classes`` every
    class has the same share of the mean. A node without another voting node of its class has nothing to be similar to
    and is left out.

    Args:
        logits: similarity / tau of all labeled nodes with each other, :math:`(L, L)`.
        one_hot: their classes, :math:`(L, C)`.
        voting: which of them vote in this step, :math:`(L,)`.
        config: label smoothing and balance.
    """
    silent = torch.eye(len(one_hot), dtype=torch.bool, device=logits.device) | ~voting[None, :]
    log_shares = torch.log_softmax(logits.masked_fill(silent, NOBODY), dim=1)  # [L, L]
    classes = one_hot.argmax(dim=1)
    same = (classes[:, None] == classes[None, :]) & ~silent
    counted = same.any(dim=1)
    losses = -torch.logsumexp(log_shares.masked_fill(~same, NOBODY), dim=1)  # -log p_t(y_t)
    if config.label_smoothing > 0:
        votes = linear(log_shares.exp(), one_hot.T.contiguous())  # [L, C]
        spread = votes.clamp_min(SMALLEST).log().mean(dim=1)
        losses = (1 - config.label_smoothing) * losses - config.label_smoothing * spread
    weights = counted.to(logits.dtype)
    if config.balance_classes:
        weights = weights / (one_hot * weights[:, None]).sum(dim=0).clamp_min(1)[classes]
    return (losses.masked_fill(~counted, 0) * weights).sum() / weights.sum().clamp_min(SMALLEST)
