"""The vote of the nearest cases, Eq. (8)-(9): the one place where similarities become weights, and weights answers.

A *reserve* r is a share of the vote that no case has: it is spread evenly over the classes, so that nothing is claimed
to be more certain than the validation nodes can show: p = (1 - r) vote + r / C. Every class gets the same, so that
which class is ahead, and by how many cases, does not depend on r (docs/adr/033-calibration-and-reserve.md).
Where classes have *factors*, a case counts as often as its class says, because some classes are rarer among the labeled
nodes than among all (docs/adr/041-class-factors.md): its weight is exp(similarity / tau) times the factor.
Shapes: T queries, K cases that vote on each, L cases, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.settings import VoteSettings


@dataclass(frozen=True, slots=True, eq=False)
class ClassAnswers:
    """The class that each case votes for, [L]."""

    classes: Tensor
    num_classes: int
    log_factors: Tensor | None = None  # how often a case of each class counts, as logarithms, [C]; None: once

    @property
    def width(self) -> int:
        """Numbers in an answer: a probability per class."""
        return self.num_classes

    def to(self, device: torch.device) -> ClassAnswers:
        """The same on a device."""
        factors = None if self.log_factors is None else self.log_factors.to(device)
        return ClassAnswers(self.classes.to(device), self.num_classes, factors)

    def offsets(self, positions: Tensor) -> Tensor | None:
        """What the factors add to similarity / tau of the cases at some positions; None: nothing."""
        return None if self.log_factors is None else self.log_factors[self.classes[positions]]

    @classmethod
    def of(cls, labels: IntArray, num_classes: int, factors: Sequence[float] | None = None) -> ClassAnswers:
        """The labels of cases, and how often a case of each class counts."""
        log_factors = None if factors is None else torch.log(torch.tensor(factors, dtype=torch.float32))
        return cls(torch.from_numpy(labels), num_classes, log_factors)

    @classmethod
    def themselves(cls, num_classes: int, device: torch.device | str = "cpu") -> ClassAnswers:
        """Every class as a case of its own: positions are classes then."""
        return cls(torch.arange(num_classes, device=device), num_classes)


@dataclass(frozen=True, slots=True, eq=False)
class NumberAnswers:
    """The number that each case votes for, in the unit of its column, [L], float64."""

    values: Tensor

    @property
    def width(self) -> int:
        """Numbers in an answer: one."""
        return 1

    def to(self, device: torch.device) -> NumberAnswers:
        """The same on a device."""
        return NumberAnswers(self.values.to(device))

    def offsets(self, positions: Tensor) -> None:
        """Each case counts once."""


Answers: TypeAlias = ClassAnswers | NumberAnswers


def vote(overall: Tensor, temperature: float, reserve: float = 0.0, offsets: Tensor | None = None) -> Tensor:
    """Weight of each of the nearest cases, a softmax of similarity / tau, Eq. (8), times 1 - ``reserve``, [T, K].

    ``offsets`` are added to similarity / tau: the factors of the cases' classes, as :meth:`ClassAnswers.offsets` gives
    them.

    A case that cannot vote has the similarity -inf, and no weight. Columns count, also such columns: a softmax over
    another number of them may round in another way.

    >>> vote(torch.tensor([[0.3, 0.3, -torch.inf]]), 0.1).tolist()
    [[0.5, 0.5, 0.0]]
    """
    scaled = overall / temperature
    weights = torch.softmax(scaled if offsets is None else scaled + offsets, dim=1)
    return weights * (1 - reserve) if reserve else weights


def tally(weights: Tensor, positions: Tensor, answers: Answers, reserve: float = 0.0) -> Tensor:
    """What the cases at some positions answer together, by their weights, [T, K] each.

    Class probabilities, [T, C]: the weights added up by class, Eq. (9). Or a number, [T, 1]: the sum of
    :func:`contributions`.

    Each class has its part of the ``reserve`` as well.

    >>> answers = ClassAnswers(torch.tensor([0, 1, 1]), num_classes=2)
    >>> tally(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[2, 0, 1]]), answers).tolist()
    [[0.25, 0.75]]
    >>> tally(torch.tensor([[0.5, 0.5]]), torch.tensor([[2, 0]]), NumberAnswers(torch.tensor([10.0, 0, 40]))).tolist()
    [[25.0]]
    """
    if isinstance(answers, NumberAnswers):
        return contributions(weights, positions, answers).sum(dim=1, keepdim=True)
    classes = answers.classes[positions]
    if weights.device.type == "cpu":
        probabilities = weights.new_zeros(len(weights), answers.num_classes).scatter_add_(1, classes, weights)
    else:  # there scatter_add_ adds in whichever order the threads arrive
        of_each = [weights.masked_fill(classes != c, 0).sum(dim=1) for c in range(answers.num_classes)]
        probabilities = torch.stack(of_each, dim=1)
    return probabilities + reserve / answers.num_classes if reserve else probabilities


def answered_by(overall: Tensor, positions: Tensor, answers: Answers, settings: VoteSettings) -> Tensor:
    """What the nearest cases answer together under some settings: :func:`tally` of their :func:`vote`."""
    weights = vote(overall, settings.temperature, settings.reserve, answers.offsets(positions))
    return tally(weights, positions, answers, settings.reserve)


def factors_of(shares: Float64Array, labels: IntArray) -> Float64Array:
    """How often a case of each class counts if classes are as frequent as these shares say, [C].

    A class without a share, or without labels, has 1.
    """
    among = np.bincount(labels, minlength=len(shares)) / len(labels)
    return np.divide(shares, among, out=np.ones(len(shares)), where=(shares > 0) & (among > 0))


def contributions(weights: Tensor, positions: Tensor, answers: NumberAnswers) -> Tensor:
    """What each case adds to a number: its weight times its own number, in float64, [T, K].

    Weights are divided by their sum once more, because in float32 they add up to 1 but for their last bits.
    """
    exact = weights.to(torch.float64)
    return exact / exact.sum(dim=1, keepdim=True) * answers.values[positions]
