"""Ranks as threads of one process, for tests: the store is one in memory, and all else is as under `torchrun`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from torch.distributed import HashStore

from se_gnn.ranks import Ranks

Work = Callable[[Ranks], Any]


def in_ranks(size: int, work: Work, **limits: float) -> list[Any]:
    """Run the same work as ranks 0 to ``size`` - 1; what each returned, or the error that it ended with."""
    store, results = HashStore(), [None] * size

    def run(rank: int) -> None:
        ranks = Ranks(rank, size, size, store, **limits)
        try:
            with ranks.together():
                results[rank] = work(ranks)
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a rank waits without end"
    return results
