"""The vote of the nearest cases, Eq. (8)-(9): the one place where similarities become weights, and weights answers.

Shapes: T queries, K cases that vote on each, L cases, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class ClassAnswers:
    """The class that each case votes for, [L]."""

    classes: Tensor
    num_classes: int

    @classmethod
    def themselves(cls, num_classes: int, device: torch.device | str = "cpu") -> ClassAnswers:
        """Every class as a case of its own: positions are classes then."""
        return cls(torch.arange(num_classes, device=device), num_classes)


def vote(overall: Tensor, temperature: float) -> Tensor:
    """Weight of each of the nearest cases, a softmax of similarity / tau, Eq. (8), [T, K].

    A case that cannot vote has the similarity -inf, and no weight. Columns count, also such columns: a softmax over
    another number of them may round in another way.

    >>> vote(torch.tensor([[0.3, 0.3, -torch.inf]]), 0.1).tolist()
    [[0.5, 0.5, 0.0]]
    """
    return torch.softmax(overall / temperature, dim=1)


def tally(weights: Tensor, positions: Tensor, answers: ClassAnswers) -> Tensor:
    """Class probabilities, [T, C]: the weights of the cases at some positions, [T, K], added up by class, Eq. (9).

    >>> answers = ClassAnswers(torch.tensor([0, 1, 1]), num_classes=2)
    >>> tally(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[2, 0, 1]]), answers).tolist()
    [[0.25, 0.75]]
    """
    probabilities = torch.zeros(len(weights), answers.num_classes, dtype=weights.dtype, device=weights.device)
    return probabilities.scatter_add_(1, answers.classes[positions], weights)
