"""Metattack's pair scores by plain autograd through everything, on dense matrices: the truth that the rest agrees with.

It keeps the graph of all training steps with their [N, N] products: for small graphs, and for the tests. Shapes: N
nodes, F features, L labeled nodes, D hidden, C classes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.attack.config import MetattackConfig
from lab.dense import dense_propagation


def pair_scores(
    adjacency: Tensor,
    features: Tensor,
    *,
    train: Tensor,
    classes: Tensor,
    weights: Tensor,
    start: tuple[Tensor, Tensor],
    config: MetattackConfig,
) -> Tensor:
    """How fast the attacker's loss rises as a pair of nodes is flipped, for all pairs, [N, N], symmetric.

    Args:
        adjacency: A [N, N], of zeros and ones, symmetric, without self-loops.
        features: X [N, F].
        train: labeled nodes [L].
        classes: one-hot, known of labeled nodes and guessed of the others, [N, C].
        weights: of each node in the attacker's loss, [N].
        start: W_1 [F, D] and W_2 [D, C] before training.
        config: the settings of the attack.
    """
    changed = adjacency.clone().requires_grad_()
    normalized = dense_propagation(changed)
    parameters = [weight.clone().requires_grad_() for weight in start]
    velocities = [torch.zeros_like(weight) for weight in start]
    gradient = torch.zeros_like(adjacency)
    for _ in range(config.steps):
        loss = (_cross_entropy(normalized, features, parameters, classes)[train]).mean()
        slopes = torch.autograd.grad(loss, parameters, create_graph=True)
        velocities = [config.momentum * v + g for v, g in zip(velocities, slopes)]
        parameters = [w - config.learning_rate * v for w, v in zip(parameters, velocities)]
        if config.approximate:
            parameters = [w.detach().requires_grad_() for w in parameters]
            velocities = [v.detach() for v in velocities]
            gradient += _slope(normalized, features, parameters, classes, weights, changed)
    if not config.approximate:
        gradient = _slope(normalized, features, parameters, classes, weights, changed)
    return (gradient + gradient.T) * (1 - 2 * adjacency)


def _cross_entropy(normalized: Tensor, features: Tensor, parameters: list[Tensor], classes: Tensor) -> Tensor:
    """Degree of each node, [N]."""
    hidden = normalized @ (features @ parameters[0])  # [N, D]
    logits = normalized @ (hidden @ parameters[1])  # [N, C]
    return -(classes * logits.log_softmax(1)).sum(1)


def _slope(
    normalized: Tensor, features: Tensor, parameters: list[Tensor], classes: Tensor, weights: Tensor, changed: Tensor
) -> Tensor:
    loss = (weights * _cross_entropy(normalized, features, parameters, classes)).sum()
    return torch.autograd.grad(loss, changed, retain_graph=True)[0]
