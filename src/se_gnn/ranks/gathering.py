"""Tensors that every rank has of its own, gathered on all ranks: gloo, in a group without global state.

An operation of gloo that has begun cannot be cancelled: it ends when all ranks have come, when a connection breaks, or
at its limit. So it runs in gloo's own thread, and :class:`~se_gnn.ranks.Ranks` looks at it in short steps and watches
the other ranks meanwhile.
"""

from __future__ import annotations

import ctypes
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from se_gnn.ranks.joining import CONNECTING

if TYPE_CHECKING:
    from torch import Tensor


class Gathering:
    """A connection of each rank with each other one, for tensors.

    Args:
        store: key-value store of `torch.distributed`, through which the ranks find each other's addresses.
        rank: number of this process.
        size: how many there are.
        limit: seconds after which an operation that nobody watches any more ends.
    """

    def __init__(self, store: Any, rank: int, size: int, *, limit: float) -> None:
        from torch.distributed import ProcessGroupGloo
        from torch.distributed.distributed_c10d import PrefixStore

        self.size, self.limit = size, timedelta(seconds=limit)
        own = PrefixStore("gathering", store)
        self.group: Any = ProcessGroupGloo(own, rank, size, timedelta(seconds=CONNECTING))

    def begin(self, tensor: Tensor) -> Gathered:
        """Hand in this rank's tensor, of the same shape and type on every rank, and be told when all are there."""
        import torch
        from torch.distributed.distributed_c10d import AllgatherOptions  # type: ignore[attr-defined]

        options = AllgatherOptions()
        options.timeout = self.limit
        own = tensor.detach().cpu().contiguous()
        parts = [torch.empty_like(own) for _ in range(self.size)]
        return Gathered(parts, self.group.allgather([parts], [own], options))

    def abandon(self) -> None:
        """Leave an operation that has not ended: the group is never freed, for that would wait for the operation."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.group))


class Gathered:
    """The tensors of all ranks, in the order of the ranks; whole when they have :meth:`arrived`."""

    def __init__(self, parts: list[Tensor], work: Any) -> None:
        self.parts, self._work = parts, work

    def arrived(self, seconds: float) -> bool:
        """Wait so long at most, and tell whether all tensors are there; RuntimeError where a connection is lost."""
        try:
            self._work.wait(timedelta(seconds=seconds))
        except RuntimeError:  # the time is over, or the connection lost
            if not self._work.is_completed():
                return False
            self._work.wait()
        return True
