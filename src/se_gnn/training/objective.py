"""What a training step minimizes. The trainer knows the loop, an objective knows the loss.

Shapes: T validation nodes, C classes.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from se_gnn.encoder import EncoderInputs


class Objective(Protocol):
    """One way to train."""

    names: tuple[str, ...]  # of the losses, the whole one first
    inputs: EncoderInputs  # the graph as the model reads it
    recordable: bool  # on CUDA a step can be recorded once and replayed

    def draw(self, epoch: int) -> Any:
        """All that is random in an epoch, from the seed and its number."""

    def losses(self, draws: Any) -> Tensor:
        """The losses of ``names``; the first is minimized."""

    def probabilities(self) -> Tensor:
        """Class probabilities of the validation nodes by the model as it is now, [T, C]."""
