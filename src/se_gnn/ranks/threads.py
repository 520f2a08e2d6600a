"""The cores of a machine divided between the ranks on it."""

from __future__ import annotations

import os


def divided_threads(local_size: int) -> int:
    """Give this process its share of the cores, and tell how many threads that is; alone it keeps what it has.

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
