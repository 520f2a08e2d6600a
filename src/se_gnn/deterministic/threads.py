"""PyTorch on one thread: how it splits a sum depends on the number of threads, and so do the bits of the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
