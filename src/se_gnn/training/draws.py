"""The randomness of an epoch, drawn beforehand: what is left is a function of it. Shapes: L labeled nodes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from se_gnn.similarity import Items
from se_gnn.training.contrast import ContrastDraws


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """All that is random in one epoch.

    Shapes:
        - **references:** :math:`(L, L)`
    """

    sample: Items | None  # of the edges of the labeled nodes, which these are compared on; None: all edges
    references: Tensor  # samples the references of Eq. (11)
    contrast: ContrastDraws | None  # None: no self-supervision

    def to(self, device: torch.device) -> Draws:
        """The same draws on a device."""
        contrast = None if self.contrast is None else self.contrast.to(device)
        return Draws(self.sample, self.references.to(device), contrast)

    def copy_(self, other: Draws) -> None:
        """Take over other draws, in place; none of the two has a sample."""
        assert self.sample is None
        assert other.sample is None
        self.references.copy_(other.references)
        if self.contrast is not None and other.contrast is not None:
            self.contrast.copy_(other.contrast)
