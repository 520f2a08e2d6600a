r"""The meta-gradient of one step, in the size of its factors: no N x N matrix, and no pass over X inside the training.

The surrogate :math:`Z = \hat A \hat A X W_1 W_2` is linear in :math:`W_1`, and every gradient of :math:`W_1` is
:math:`K^\top` times something small, where :math:`K = (\hat A \hat A X)_{V_L}` [L, F]. So after any number of steps
:math:`W_1 = W_1^0 + K^\top Q` with :math:`Q` [L, D], and the labeled nodes' hidden rows are
:math:`K W_1 = M_0 + T Q`, with :math:`M_0 = K W_1^0` [L, D] and the Gram matrix :math:`T = K K^\top` [L, L].
Training then runs on [L, D] and [D, C] alone, and is the same training.

Shapes: N nodes, F features, L labeled nodes, D hidden, C classes, R rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lab.attack.config import MetattackConfig
from lab.attack.surrogate import AttackerView
from se_gnn.graph.sparse import SparseMatrix


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """The matrix ``left @ right.T`` [N, N], kept as its factors [N, R]."""

    left: Tensor
    right: Tensor

    @classmethod
    def sum_of(cls, *products: tuple[Tensor, Tensor]) -> LowRank:
        """Sum of some ``left @ right.T``."""
        return cls(torch.cat([left for left, _ in products], 1), torch.cat([right for _, right in products], 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Fixed:
    """What the training of one step needs, computed once: all that does not change while it trains."""

    view: AttackerView
    adjacency: SparseMatrix  # normalized, symmetric
    labeled: Tensor  # [N, L] columns of the identity at labeled nodes
    paths: Tensor  # [N, L] columns of A_hat there
    across: Tensor  # [N, L] X K^T
    gram: Tensor  # [L, L] T = K K^T
    start: Tensor  # [N, D] X W_1^0
    output: Tensor  # [D, C] W_2^0

    @classmethod
    def of(cls, view: AttackerView, adjacency: SparseMatrix, weights: tuple[Tensor, Tensor]) -> _Fixed:
        features = view.features
        num_nodes, num_labeled = len(view.weights), len(view.train)
        labeled = torch.zeros(num_nodes, num_labeled, device=view.weights.device)
        labeled[view.train, torch.arange(num_labeled, device=labeled.device)] = 1
        paths = adjacency @ labeled
        two_steps = adjacency @ paths  # [N, L]
        across = features @ (features.transposed @ two_steps)
        return cls(view, adjacency, labeled, paths, across, two_steps.T @ across, features @ weights[0], weights[1])

    def twice(self, rows: Tensor) -> Tensor:
        """A_hat A_hat times some columns."""
        return self.adjacency @ (self.adjacency @ rows)


def meta_gradient(
    view: AttackerView, adjacency: SparseMatrix, weights: tuple[Tensor, Tensor], config: MetattackConfig
) -> LowRank:
    r"""Gradient of the attacker's loss after training with respect to :math:`\hat A`, through all steps of training.

    Args:
        view: what the attacker works with.
        adjacency: :math:`\hat A`, normalized with self-loops.
        weights: :math:`W_1^0`, :math:`W_2^0`, where training starts.
        config: the settings of the attack.
    """
    fixed = _Fixed.of(view, adjacency, weights)
    gram = fixed.gram.requires_grad_()
    labeled = fixed.twice(fixed.start)[view.train].requires_grad_()  # [L, D] M_0
    *_, (q, output) = _train(gram, labeled, fixed.output, view.targets, config)
    with torch.no_grad():
        hidden = fixed.start + fixed.across @ q  # [N, D] X W_1
        scores = hidden @ output  # [N, C]
        once = adjacency @ scores
        error = view.weights[:, None] * ((adjacency @ once).softmax(1) - view.classes)
        propagated = adjacency @ error
        d_scores = adjacency @ propagated
        d_hidden = d_scores @ output.T  # [N, D]
    d_gram, d_labeled = torch.autograd.grad(
        [q, output], [gram, labeled], [fixed.across.T @ d_hidden, hidden.T @ d_scores]
    )
    # K appears in T = K K^T and in X K^T Q; what reaches K, times X^T, is [L, N] and never [L, F]
    towards = (view.features @ (view.features.transposed @ d_hidden)) @ q.detach().T  # [N, L]
    towards += fixed.across @ (d_gram + d_gram.T)
    placed = torch.zeros_like(fixed.start).index_copy_(0, view.train, d_labeled)  # [N, D]
    return LowRank.sum_of(
        (error, once),
        (propagated, scores),
        (placed, adjacency @ fixed.start),
        (adjacency @ placed, fixed.start),
        (fixed.labeled, adjacency @ towards),
        (fixed.paths, towards),
    )


def approximate_meta_gradient(
    view: AttackerView, adjacency: SparseMatrix, weights: tuple[Tensor, Tensor], config: MetattackConfig
) -> LowRank:
    """A-Meta: the sum over training of the gradients at fixed weights; how the edges shaped the weights is left out."""
    fixed = _Fixed.of(view, adjacency, weights)
    basis = torch.cat([fixed.start, fixed.across], 1)  # [N, D + L], and X W_1 W_2 is basis @ mixed of any step
    reach = fixed.twice(basis)
    states = _train(fixed.gram, reach[view.train, : fixed.start.shape[1]], fixed.output, view.targets, config)
    mixed = torch.cat([torch.cat([output, q @ output]) for q, output in states], 1)  # [D + L, T C]
    logits = (reach @ mixed).reshape(len(reach), len(states), -1)  # [N, T, C]
    error = view.weights[:, None, None] * (logits.softmax(2) - view.classes[:, None, :])
    pulled = error.flatten(1) @ mixed.T  # [N, D + L]
    return LowRank.sum_of((pulled, adjacency @ basis), (adjacency @ pulled, basis))


def _train(
    gram: Tensor, labeled: Tensor, output: Tensor, targets: Tensor, config: MetattackConfig
) -> list[tuple[Tensor, Tensor]]:
    """Q and W_2 after each step of gradient descent with momentum on the labeled nodes' cross-entropy."""
    q = q_velocity = torch.zeros_like(labeled)  # [L, D]
    velocity = torch.zeros_like(output)
    states = []
    for _ in range(config.steps):
        hidden = labeled + gram @ q
        error = ((hidden @ output).softmax(1) - targets) / len(targets)  # [L, C]
        q_velocity = config.momentum * q_velocity + error @ output.T
        velocity = config.momentum * velocity + hidden.T @ error
        q = q - config.learning_rate * q_velocity
        output = output - config.learning_rate * velocity
        states.append((q, output))
    return states
