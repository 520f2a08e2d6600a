"""The part of a training step that one rank computes. Shapes: n rows of a batch.

Every path from the parameters to the loss leads through rows that exactly one rank computes. All ranks then have all
rows and form the same loss of them, bit for bit; but gradients run back through a rank's own rows alone. So the
gradient of the loss is the sum of the gradients that the ranks find.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from se_gnn.ranks import Ranks, alone


class Share:
    """Which rows of a batch this rank computes, and how it gets those of the others.

    Args:
        ranks: the ranks that train together; None: one process, which computes all rows.
    """

    def __init__(self, ranks: Ranks | None = None) -> None:
        self.ranks = alone() if ranks is None else ranks

    @property
    def whole(self) -> bool:
        """Whether this rank computes everything."""
        return not self.ranks.several

    def of(self, total: int, rank: int | None = None) -> slice:
        """Which rows of a batch of ``total`` are this rank's, or another's; the ranks in their order have all rows."""
        size, number = self.ranks.size, self.ranks.rank if rank is None else rank
        return slice(total * number // size, total * (number + 1) // size)

    def all_rows(self, own: Tensor, total: int) -> Tensor:
        """The rows of all ranks, (n, ...), from :meth:`of` those rows of this one."""
        return own if self.whole else _AllRows.apply(own, self, total)  # type: ignore[no-untyped-call]

    def summed(self, own: Tensor) -> Tensor:
        """The sum of what each rank has."""
        return own if self.whole else self.all_rows(own[None], self.ranks.size).sum(dim=0)

    def sum_gradients(self, parameters: list[torch.nn.Parameter]) -> None:
        """Replace the gradients by their sums over the ranks: one message, and the same bits on every rank."""
        grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if self.whole or not grads:
            return
        total = self.ranks.summed(torch.cat([grad.reshape(-1) for grad in grads]))
        for grad, part in zip(grads, torch.split(total, [grad.numel() for grad in grads])):
            grad.copy_(part.reshape(grad.shape))

    def gathered(self, own: Tensor, total: int) -> Tensor:
        """The rows of all ranks, without gradients."""
        most = -(-total // self.ranks.size)  # every rank sends as many rows: those that are too many are cut off again
        padded = own.new_zeros(most, *own.shape[1:])
        padded[: len(own)] = own
        parts = self.ranks.gathered(padded)
        counts = [self.of(total, rank) for rank in range(self.ranks.size)]
        return torch.cat([part[: rows.stop - rows.start] for part, rows in zip(parts, counts)])


class _AllRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, share: Share, total: int) -> Tensor:
        ctx.rows = share.of(total)
        return share.gathered(own.detach(), total)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad[ctx.rows], None, None
