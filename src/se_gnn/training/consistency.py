"""Consistency: two views of the same unlabeled node, each with other attributes left out, should vote alike.

Shapes: B unlabeled nodes, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from se_gnn.config import TrainingConfig


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


def ramp(config: TrainingConfig, epoch: int) -> float:
    """How much consistency counts in an epoch: its weight, reached in a straight line from 0."""
    return config.consistency_weight * min(1.0, epoch / max(1, config.consistency_ramp))
