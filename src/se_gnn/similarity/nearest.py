"""The K nearest labeled nodes and their vote, Eq. (8)-(9). Shapes: T targets, L labeled nodes, C classes."""

from __future__ import annotations

import torch
from torch import Tensor


def nearest_labeled(overall: Tensor, num_nearest: int) -> Tensor:
    """Positions of the K most similar labeled nodes, most similar first, [T, K].

    Tie rule: of equally similar labeled nodes the one that comes first (the lowest node id) is nearer.

    >>> nearest_labeled(torch.tensor([[0.5, 0.9, 0.9, 0.1]]), 3).tolist()
    [[1, 2, 0]]
    """
    order = torch.sort(overall, dim=1, descending=True, stable=True).indices
    return order[:, :num_nearest]


def vote_weights(overall: Tensor, nearest: Tensor, temperature: float) -> Tensor:
    """Weight of each of the K nearest, a softmax of similarity / tau, Eq. (8), [T, K]."""
    return torch.softmax(overall.gather(1, nearest) / temperature, dim=1)


def vote(weights: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """Class probabilities: the weights of the nearest labeled nodes added up by class, Eq. (9).

    Shapes:
        - **weights**, **labels** of the K nearest: :math:`(T, K)`
        - **output:** :math:`(T, C)`

    >>> vote(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[1, 0, 1]]), 2).tolist()
    [[0.25, 0.75]]
    """
    probabilities = torch.zeros(len(weights), num_classes, dtype=weights.dtype, device=weights.device)
    return probabilities.scatter_add_(1, labels, weights)
