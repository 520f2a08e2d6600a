"""A sparse product on a CUDA device with the same bits in every run. It is imported on machines with Triton alone.

One program adds up a row, some stored values at a time: no atomics, and no other program writes there. cuSPARSE, which
PyTorch calls, promises no order. Shapes: N rows, M columns, D columns of the dense matrix.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

CHUNK = 128  # columns of the dense matrix that one program adds up
FEWEST, MOST = 8, 64  # stored values that it takes at a time


def csr_product(ptr: Tensor, columns: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    """[N, M] in CSR form times [M, D] -> [N, D]; no gradients."""
    num_rows, width, dense = len(ptr) - 1, dense.shape[1], dense.contiguous()
    out = torch.empty(num_rows, width, dtype=dense.dtype, device=dense.device)
    if out.numel():
        chunk = min(CHUNK, max(16, triton.next_power_of_2(width)))
        members = min(MOST, max(FEWEST, triton.next_power_of_2(triton.cdiv(len(values), num_rows))))
        _add_rows[(num_rows, triton.cdiv(width, chunk))](
            ptr, columns, values, dense, out, width, MEMBERS=members, CHUNK=chunk, num_warps=4
        )
    return out


@triton.jit
def _add_rows(ptr, columns, values, dense, out, width, MEMBERS: tl.constexpr, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    inside = d < width
    end = tl.load(ptr + row + 1)
    total = tl.zeros([CHUNK], out.dtype.element_ty)
    for low in range(tl.load(ptr + row), end, MEMBERS):
        i = low + tl.arange(0, MEMBERS)
        there = i < end
        column = tl.load(columns + i, mask=there, other=0).to(tl.int64)
        value = tl.load(values + i, mask=there, other=0.0)
        x = tl.load(dense + column[:, None] * width + d[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        total += tl.sum(value[:, None] * x, axis=0)
    tl.store(out + row * width + d, total, mask=inside)
