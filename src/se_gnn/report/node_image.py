"""Nodes that are pictures, as PNG inside the page."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray


class NodeImages:
    """The pictures of a graph's nodes, all on one scale; None where nodes are no pictures."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        stored = graph.features if isinstance(graph.features, np.ndarray) else graph.features.data
        self.low, self.high = float(stored.min(initial=0)), float(stored.max(initial=0))

    def uri(self, node: int) -> str | None:
        """The node's pixels as a `data:` address, dark where the values are high."""
        shape = self.graph.image_shape
        if shape is None:
            return None
        row = self.graph.features[[node]]
        dense: FloatArray = row if isinstance(row, np.ndarray) else row.toarray()
        share = (dense.reshape(shape) - self.low) / (self.high - self.low or 1)
        content = _png(np.round(255 * (1 - share)).astype(np.uint8))
        return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"


def _png(grey: npt.NDArray[np.uint8]) -> bytes:
    """A grey picture, 8 bits a pixel, in the format of the PNG specification."""
    height, width = grey.shape
    lines = np.hstack([np.zeros((height, 1), np.uint8), grey]).tobytes()  # each line unfiltered
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
