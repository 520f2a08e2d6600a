"""Threads without a say in the result: PyTorch on one of them, and loops over rows in parts on all of them.

How PyTorch splits a sum depends on the number of threads, and so do the bits of the result. A compiled function that
lets go of the interpreter (`nogil=True`) runs on Python's threads as well as on numba's own, and takes a third of the
time to compile: with `parallel=True` everything is compiled once more for the threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numba
import numpy as np
import torch

Result = TypeVar("Result")
PARTS_PER_THREAD = 4  # one that has the short ones goes on with another


@contextmanager
def one_thread() -> Iterator[None]:
    """Run PyTorch's own operators on one thread, also as a decorator; numba kernels keep all of theirs.

    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def map_parts(work: Callable[[slice], Result], count: int, *, fewest: int) -> list[Result]:
    """What ``work`` returns for consecutive parts of ``count`` rows, none of which has less than ``fewest``.

    >>> map_parts(lambda part: (part.start, part.stop), 5, fewest=3)
    [(0, 5)]
    """
    if count < 2 * fewest:
        return [work(slice(0, count))]
    threads = numba.get_num_threads()
    bounds = np.linspace(0, count, num=min(count // fewest, PARTS_PER_THREAD * threads) + 1).astype(np.int64)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, itertools.starmap(slice, itertools.pairwise(bounds.tolist()))))
