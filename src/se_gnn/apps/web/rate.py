"""How often one address may ask: a bucket that fills steadily, and holds a burst."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MOST_ADDRESSES = 10_000  # that are remembered; the one that asked longest ago is forgotten first


class RateLimit:
    """Counts the requests of each address.

    >>> limit = RateLimit(per_second=1, burst=2, clock=iter([0.0, 0.0, 0.0, 1.5]).__next__)
    >>> [limit.wait_of("a") for _ in range(4)]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, *, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, float(burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address -> tokens, when

    def wait_of(self, address: str) -> float:
        """0 where the request may go on, else the seconds until the next may."""
        now = self._clock()
        tokens, then = self._buckets.pop(address, (self._burst, now))
        tokens = min(self._burst, tokens + (now - then) * self._per_second)
        allowed = tokens >= 1
        self._buckets[address] = (tokens - allowed, now)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / self._per_second
