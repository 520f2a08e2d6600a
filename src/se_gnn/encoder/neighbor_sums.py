r"""What each node aggregates, some dimensions at a time. Shapes: N nodes, B of them, D dimensions, e entries.

Which row comes next is known to nobody before it is read: a sum over neighbors waits for memory. So 32 dimensions of a
row are added at a time, in registers, and no weight is looked up beside it: neighbors are added as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from se_gnn.deterministic.llvm import FLOATS, I64, WIDTH, Loop, Matrix, constant
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray


def aligned(rows: int, columns: int) -> FloatArray:
    """An array without values, [rows, columns], of which no row of 16 lies in two lines of the cache."""
    whole = np.empty(rows * columns + WIDTH, np.float32)
    start = -(whole.ctypes.data // 4) % WIDTH
    return whole[start : start + rows * columns].reshape(rows, columns)


def _sum_of(vectors: int) -> Callable[..., Any]:
    """``out[row, first:] = sum of h[columns[low:high], first:]``, for some vectors of 16 dimensions."""

    def typed(typingctx: Any, out: Any, row: Any, h: Any, columns: Any, low: Any, high: Any, first: Any) -> Any:
        signature = types.void(out, types.int64, h, columns, types.int64, types.int64, types.int64)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            target, rows, numbers = (Matrix(context, builder, sig.args[i], args[i]) for i in (0, 2, 3))
            places = [builder.add(args[6], constant(v * WIDTH)) for v in range(vectors)]
            zeros = [ir.Constant(FLOATS, [0.0] * WIDTH)] * vectors
            with Loop.over(builder, args[4], args[5], zeros) as loop:
                other = builder.sext(numbers.entry(loop.index), I64)
                for place, total in zip(places, loop.carried, strict=True):
                    found = builder.load(rows.place(other, place, FLOATS), align=4)
                    loop.next.append(builder.fadd(total, found))
            for place, total in zip(places, loop.carried, strict=True):
                builder.store(total, target.place(args[1], place, FLOATS), align=4)
            return context.get_dummy_value()

        return signature, codegen

    made: Callable[..., Any] = intrinsic(typed)
    return made


_sum_of_one, _sum_of_two = _sum_of(1), _sum_of(2)


@numba.njit(parallel=True, cache=True, nogil=True)
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
