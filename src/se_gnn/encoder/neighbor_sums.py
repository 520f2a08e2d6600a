r"""What each node aggregates, some dimensions at a time. Shapes: N nodes, B of them, D dimensions, e entries.

Which row comes next is known to nobody before it is read: a sum over neighbors waits for memory. So 32 dimensions of a
row are added at a time, in registers, and no weight is looked up beside it: neighbors are added as they are.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH, ZEROS, Loop, Matrix, constant, generated
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray


def aligned(rows: int, columns: int) -> FloatArray:
    """An array without values, [rows, columns], of which no row of 16 lies in two lines of the cache."""
    whole = np.empty(rows * columns + WIDTH, np.float32)
    start = -(whole.ctypes.data // 4) % WIDTH
    return whole[start : start + rows * columns].reshape(rows, columns)


def _sum_of(vectors: int) -> Any:
    """``out[row, first:] = sum of h[columns[low:high], first:]``, for some vectors of 16 dimensions."""

    @generated()
    def add(builder: Any, out: Matrix, row: Any, h: Matrix, columns: Matrix, low: Any, high: Any, first: Any) -> None:
        places = [builder.add(first, constant(v * WIDTH)) for v in range(vectors)]
        with Loop.over(builder, low, high, [ZEROS] * vectors) as loop:
            other = columns.whole(loop.index)
            loop.next = [builder.fadd(total, h.load(other, at)) for at, total in zip(places, loop.carried, strict=True)]
        for place, total in zip(places, loop.carried, strict=True):
            out.store(total, row, place)

    return add


_sum_of_one, _sum_of_two = _sum_of(1), _sum_of(2)


@compiled(parallel=True)
def aggregate_rows(
    ptr: IntArray,
    columns: Int32Array,
    low: int,
    with_itself: bool,
    factor: FloatArray,
    h: FloatArray,
    weight: float,
    own: FloatArray,
    out: FloatArray,
) -> None:
    r"""Write rows ``low`` and on of :math:`diag(f) A h + g\,own`, A with ones on its diagonal where ``with_itself``.

    One thread adds the neighbors of a node, in the order of ``columns``.

    Shapes:
        - **ptr:** :math:`(B + 1,)`, **columns:** :math:`(e,)`, **factor:** :math:`(N,)`
        - **h**, **own**, **out:** :math:`(N, D)`
    """
    width, g = h.shape[1], np.float32(weight)
    for i in numba.prange(len(ptr) - 1):
        row, first = low + i, 0
        while first + 2 * WIDTH <= width:
            _sum_of_two(out, row, h, columns, ptr[i], ptr[i + 1], first)
            first += 2 * WIDTH
        if first + WIDTH <= width:
            _sum_of_one(out, row, h, columns, ptr[i], ptr[i + 1], first)
            first += WIDTH
        for d in range(first, width):
            out[row, d] = 0
        for j in range(ptr[i], ptr[i + 1] if first < width else ptr[i]):
            for d in range(first, width):
                out[row, d] += h[columns[j], d]
        for d in range(width):
            total = out[row, d] + h[row, d] if with_itself else out[row, d]
            out[row, d] = factor[row] * total + g * own[row, d]
