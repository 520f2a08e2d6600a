"""How the processes that `torchrun` starts find each other, gather tensors, and share the cores of a machine.

The store of `torchrun` outlives a restart with all that was written to it, and each machine counts restarts on its own.
So the first rank makes up a name for this start, and every other asks for it under a name of its own: an answer reaches
only who has just asked.

Tensors are gathered by gloo, in a group without global state. An operation of gloo that has begun cannot be canceled:
it ends when all ranks have come, when a connection breaks, or at its limit. So it runs in gloo's own thread, and
:class:`~se_gnn.ranks.Ranks` looks at it in short steps and watches the other ranks meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from se_gnn.errors import InputError, shortened

if TYPE_CHECKING:
    from torch import Tensor


CONNECTING = 300.0  # seconds that ranks may take to find each other
STEP = 0.05  # seconds between two looks at the store


def started_by_torchrun() -> bool:
    """Whether the environment says that there are other ranks."""
    return int(os.environ.get("WORLD_SIZE", "1") or 1) > 1


def restarts_counted() -> int:
    """How often `torchrun` has started the ranks of this machine again, as the environment says."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") or 0)


def connect() -> dict[str, Any]:
    """Find the others, as the environment that `torchrun` makes says; the arguments of :class:`~se_gnn.ranks.Ranks`."""
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=CONNECTING)))
        found = {"rank": rank, "size": size, "local_size": int(os.environ.get("LOCAL_WORLD_SIZE", "1"))}
        name, restarted = name_of_start(store, rank, size, restarts=restarts_counted())
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        reason = shortened(str(error).partition("\n")[0], 200, quoted=False)
        raise InputError(f"the ranks did not find each other: {reason}; start them with torchrun") from error
    return {**found, "store": PrefixStore(f"se-gnn/{name}", store), "restarted": restarted}


def name_of_start(
    store: Any, rank: int, size: int, *, restarts: int = 0, limit: float = CONNECTING
) -> tuple[str, bool]:
    """A name that all ranks of this start have, and none of an earlier one; whether there was one.

    ``restarts`` is what this rank's machine has counted.
    """
    own, end = secrets.token_hex(8), time.monotonic() + limit
    if rank:
        store.set(f"hello/{rank}", own)
        _wait(store, f"welcome/{own}", end, "rank 0", limit)
        name = bytes(store.get(f"welcome/{own}")).decode()
        store.add(f"restarts/{name}", restarts)
        store.set(f"joined/{name}/{rank}", b"yes")
        _wait(store, f"complete/{name}", end, "rank 0", limit)
        return name, store.add(f"restarts/{name}", 0) > 0
    store.add(f"restarts/{own}", restarts)
    missing = list(range(1, size))
    while missing:
        for other in list(missing):
            if store.check([f"joined/{own}/{other}"]):
                missing.remove(other)
            elif store.check([f"hello/{other}"]):  # it may be that of an earlier start: asked again until it has joined
                store.set(f"welcome/{bytes(store.get(f'hello/{other}')).decode()}", own)
        _check_time(end, f"rank {missing[0]}" if missing else "", limit)
        time.sleep(STEP)
    store.set(f"complete/{own}", b"yes")
    return own, store.add(f"restarts/{own}", 0) > 0


def _wait(store: Any, key: str, end: float, who: str, limit: float) -> None:
    while not store.check([key]):
        _check_time(end, who, limit)
        time.sleep(STEP)


def _check_time(end: float, who: str, limit: float) -> None:
    if time.monotonic() > end:
        raise InputError(f"{who} did not answer within {limit:g} s: it has not started, or is out of reach")


class Gathering:
    """A connection of each rank with each other one, for tensors, those of one operation at a time.

    Args:
        store: key-value store of `torch.distributed`, through which the ranks find each other's addresses.
        rank: number of this process.
        size: how many there are.
        limit: seconds after which an abandoned operation ends.
    """

    def __init__(self, store: Any, rank: int, size: int, *, limit: float) -> None:
        from torch.distributed import ProcessGroupGloo
        from torch.distributed.distributed_c10d import PrefixStore

        self.size, self.limit = size, timedelta(seconds=limit)
        own = PrefixStore("gathering", store)
        self.group: Any = ProcessGroupGloo(own, rank, size, timedelta(seconds=CONNECTING))

    def begin(self, tensor: Tensor) -> None:
        """Hand in this rank's tensor, of the same shape and type on every rank."""
        import torch
        from torch.distributed.distributed_c10d import AllgatherOptions  # type: ignore[attr-defined]

        options = AllgatherOptions()
        options.timeout = self.limit
        own = tensor.detach().cpu().contiguous()
        self.parts = [torch.empty_like(own) for _ in range(self.size)]  # those of all ranks, once they have arrived
        self._work = self.group.allgather([self.parts], [own], options)

    def arrived(self, seconds: float) -> bool:
        """Wait at most this long; whether all tensors are there. RuntimeError if a connection is lost."""
        try:
            self._work.wait(timedelta(seconds=seconds))
        except RuntimeError:  # the time is over, or the connection lost
            if not self._work.is_completed():
                return False
            self._work.wait()
        return True

    def abandon(self) -> None:
        """Leave an operation that has not ended: the group is never freed, for that would wait for the operation."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.group))


def divided_threads(local_size: int) -> int:
    """Give this process its share of the cores and return the number of threads; a single process keeps what it has.

    `torchrun` sets one thread of OpenMP for every rank, however many cores there are, and numba takes all of them in
    every rank.
    """
    import numba
    import torch

    if local_size == 1:
        return int(numba.get_num_threads())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = max(1, cores // local_size)
    torch.set_num_threads(threads)
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    return threads
