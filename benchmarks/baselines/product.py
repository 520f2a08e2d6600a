"""The roofline: one plain matrix product of all query edges with all distinct labeled edges.

Shapes: Q query edges, K distinct labeled edges, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from se_gnn.graph.arrays import FloatArray


def products(queries: FloatArray, keys: FloatArray) -> dict[str, Callable[[], object]]:
    """[Q, D] times [D, K] in float32 into memory that is there already, by NumPy and by PyTorch."""
    out = np.empty((len(queries), len(keys)), np.float32)  # [Q, K]
    flipped = np.ascontiguousarray(keys.T)
    tensors = [torch.from_numpy(array) for array in (queries, flipped, out)]
    return {
        "numpy": lambda: np.matmul(queries, flipped, out=out),
        "torch": lambda: torch.matmul(tensors[0], tensors[1], out=tensors[2]),
    }
