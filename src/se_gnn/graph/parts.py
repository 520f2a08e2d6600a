"""Loops over rows in parts, on as many threads as numba uses.

A compiled function that lets go of the interpreter (`nogil=True`) runs on Python's threads as well as on numba's own,
and takes a third of the time to compile: with `parallel=True` everything is compiled once more for the threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numba
import numpy as np

Result = TypeVar("Result")
PARTS = 4  # per thread: one that has the short ones goes on with another


def map_parts(work: Callable[[slice], Result], count: int, *, fewest: int) -> list[Result]:
    """What ``work`` returns for consecutive parts of ``count`` rows, none of which has less than ``fewest``.

    >>> map_parts(lambda part: (part.start, part.stop), 5, fewest=3)
    [(0, 5)]
    """
    if count < 2 * fewest:
        return [work(slice(0, count))]
    threads = numba.get_num_threads()
    bounds = np.linspace(0, count, num=min(count // fewest, PARTS * threads) + 1).astype(np.int64)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, itertools.starmap(slice, itertools.pairwise(bounds.tolist()))))
