"""A sparse matrix in CSR form times a dense one on all threads. Shapes: N rows, M columns, D columns of the dense one.

Each row of the result belongs to one thread, which adds the stored values in their order: the same bits on any number
of threads. Rows are dealt out by their stored values, so that a few long rows do not keep the other threads waiting.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic.sums import multiply_add
from se_gnn.deterministic.threads import one_thread
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray

PARTS = 64  # of about as many stored values each


def csr_product(matrix: Tensor, dense: Tensor) -> Tensor:
    """[N, M] @ [M, D] -> [N, D]; no gradients."""
    if matrix.device.type != "cpu":
        return matrix @ dense
    if not matrix.dtype == dense.dtype == torch.float32:
        with one_thread():
            return matrix @ dense
    out = torch.empty(matrix.shape[0], dense.shape[1])
    pattern = (matrix.crow_indices().numpy(), matrix.col_indices().numpy())
    bounds = np.searchsorted(pattern[0], int(pattern[0][-1]) * np.arange(PARTS + 1) // PARTS)
    bounds[0], bounds[PARTS] = 0, len(out)
    _product(bounds, *pattern, matrix.values().detach().numpy(), dense.detach().contiguous().numpy(), out.numpy())
    return out


@numba.njit(parallel=True, cache=True, nogil=True)
def _product(
    bounds: IntArray, ptr: Int32Array, columns: Int32Array, values: FloatArray, dense: FloatArray, out: FloatArray
) -> None:
    for part in numba.prange(PARTS):
        for row in range(bounds[part], bounds[part + 1]):
            for d in range(out.shape[1]):
                out[row, d] = 0
            i, end = ptr[row], ptr[row + 1]
            while i + 4 <= end:  # four at a time: the sums are read and written a quarter as often
                a, b, c, e = values[i], values[i + 1], values[i + 2], values[i + 3]
                p, q, r, s = columns[i], columns[i + 1], columns[i + 2], columns[i + 3]
                for d in range(out.shape[1]):
                    two = multiply_add(b, dense[q, d], a * dense[p, d])
                    out[row, d] += multiply_add(e, dense[s, d], multiply_add(c, dense[r, d], two))
                i += 4
            while i < end:
                value, p = values[i], columns[i]
                for d in range(out.shape[1]):
                    out[row, d] = multiply_add(value, dense[p, d], out[row, d])
                i += 1
