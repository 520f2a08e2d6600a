"""Whether several threads may run kernels at the same time: numba's plainest threading layer ends the process then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba

_ONE = threading.Lock()


@contextmanager
def turn() -> Iterator[None]:
    """Run kernels within it; threads take turns where numba has neither OpenMP nor TBB."""
    if _alone():
        with _ONE:
            yield
    else:
        yield


def _alone() -> bool:
    try:
        return bool(numba.threading_layer() == "workqueue")  # type: ignore[attr-defined]
    except ValueError:  # no kernel has run yet
        return True
