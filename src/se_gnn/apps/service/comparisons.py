"""The last nodes that were looked at, compared with all labeled nodes: moving a slider compares nothing again."""

from __future__ import annotations

import threading
from collections import OrderedDict

from se_gnn.explain import Comparison, Explainer

MOST = 64
MOST_BYTES = 128 * 2**20  # in all
LARGEST_BYTES = 32 * 2**20  # of one that is kept


class Comparisons:
    """A bounded memory of comparisons; the one that was used longest ago goes first."""

    def __init__(self, explainer: Explainer) -> None:
        self._explainer, self._lock = explainer, threading.Lock()
        self._kept: OrderedDict[int, Comparison] = OrderedDict()
        self._bytes = 0

    def of(self, node: int) -> Comparison:
        """The comparison of one node."""
        with self._lock:
            if node in self._kept:
                self._kept.move_to_end(node)
                return self._kept[node]
        found = self._explainer.compare(node)
        if found.num_bytes <= LARGEST_BYTES:
            self._keep(found)
        return found

    def _keep(self, found: Comparison) -> None:
        with self._lock:
            if found.node in self._kept:
                return
            self._kept[found.node] = found
            self._bytes += found.num_bytes
            while len(self._kept) > MOST or self._bytes > MOST_BYTES:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.num_bytes
