"""How the processes that `torchrun` starts find each other, and how a restart is kept apart from the start before.

The store of `torchrun` outlives a restart with all that was told in it, and each machine counts restarts on its own.
So the first rank makes up a name for this start, and every other asks for it under a name of its own: an answer reaches
only who has just asked.
"""

from __future__ import annotations

import os
import secrets
import time
from datetime import timedelta
from typing import Any, NamedTuple

from se_gnn.errors import InputError, shortened

CONNECTING = 300.0  # seconds that ranks may take to find each other
STEP = 0.05  # seconds between two looks at the store


def started_by_torchrun() -> bool:
    """Whether the environment says that there are other ranks."""
    return int(os.environ.get("WORLD_SIZE", "1") or 1) > 1


def restarts_counted() -> int:
    """How often `torchrun` has started the ranks of this machine again, as the environment says."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") or 0)


class Connection(NamedTuple):
    """One process among the others."""

    rank: int
    size: int
    local_size: int  # ranks on this machine
    store: Any
    restarted: bool


def connect() -> Connection:
    """Find the others, as the environment that `torchrun` makes says."""
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=CONNECTING)))
        local_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        name, restarted = name_of_start(store, rank, size, restarts=restarts_counted())
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        told = shortened(str(error).partition("\n")[0], 200, quoted=False)
        raise InputError(f"the ranks did not find each other: {told}; start them with torchrun") from error
    return Connection(rank, size, local_size, PrefixStore(f"se-gnn/{name}", store), restarted)


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
