"""Names and captions of all nodes as one array of bytes: a search is a few passes over it, with no loop over rows.

Shapes: N nodes, B bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, IntArray

BETWEEN = b"\xff"  # no byte of any text in UTF-8
MOST_WORDS = 8


class NodeText:
    """Finds the nodes whose name or caption holds some words, in any case."""

    def __init__(self, graph: Graph) -> None:
        names = (_bytes(name) for name in graph.node_names)
        if graph.captions is not None:
            names = (name + BETWEEN + _bytes(caption) for name, caption in zip(names, graph.captions))
        rows = list(names)
        sizes = np.fromiter((len(row) + 1 for row in rows), np.int64, len(rows))
        self._starts: IntArray = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(rows) else np.zeros(0, np.int64)
        self._text: npt.NDArray[np.uint8] = np.frombuffer(BETWEEN.join([*rows, b""]), np.uint8)  # [B]
        self._counts = np.bincount(self._text, minlength=256)

    def __len__(self) -> int:
        return len(self._starts)

    def having(self, query: str) -> BoolArray:
        """Whether each node has all words of a query, [N]."""
        found = np.ones(len(self), dtype=bool)
        for word in query.split()[:MOST_WORDS]:
            found &= self._having(_bytes(word))
        return found

    def _having(self, word: bytes) -> BoolArray:
        pattern = np.frombuffer(word, np.uint8)
        rarest = int(np.argmin(self._counts[pattern]))
        at = np.flatnonzero(self._text == pattern[rarest]) - rarest
        at = at[(at >= 0) & (at <= len(self._text) - len(pattern))]
        for place in np.argsort(self._counts[pattern], kind="stable").tolist():  # those that rule out most come first
            at = at[self._text[at + place] == pattern[place]]
        found = np.zeros(len(self), dtype=bool)
        found[np.searchsorted(self._starts, at, side="right") - 1] = True
        return found


def _bytes(text: str) -> bytes:
    return text.casefold().encode("utf-8", "surrogatepass")
