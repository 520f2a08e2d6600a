"""Settings of Metattack."""

from __future__ import annotations

from dataclasses import dataclass

from se_gnn.settings.checks import above_zero, at_least, between, check_types


@dataclass(frozen=True, slots=True, kw_only=True)
class MetattackConfig:
    """Settings of Metattack; the defaults are Meta-Self as its authors and Pro-GNN's used it.

    Args:
        approximate: A-Meta: sum the gradients at each step of training, instead of the gradient through training.
        labeled_weight: lambda: 0 raises the loss on unlabeled nodes with guessed classes (Meta-Self), 1 the loss on
            labeled nodes (Meta-Train), 0.5 both (Meta-Both).
        keep_degrees: allow only flips after which the degrees still pass for the same power law, by the likelihood
            ratio test of Nettack.
        hidden_size: D, of the surrogate.
        steps: T, of training the surrogate after each flip.
        learning_rate: of that training, gradient descent with momentum.
        momentum: of that training.
    """

    approximate: bool = False
    labeled_weight: float = 0.0
    keep_degrees: bool = False
    hidden_size: int = 16
    steps: int = 100
    learning_rate: float = 0.1
    momentum: float = 0.9

    def __post_init__(self) -> None:
        check_types(self)
        between(self, 0, 1, "labeled_weight", "momentum")
        at_least(self, 1, "hidden_size", "steps")
        above_zero(self, "learning_rate")
