"""The mean of Eq. (6): over the edges of a node, of the similarity with their best matches.

Matching does not depend on the target: `M[e, l]`, the similarity of edge e with its best match in the local graph of
l, is found once per edge, and `S = P M` with `P` the row-normalized membership of edges in the targets' local graphs.
Sums run in the order of the edges, so that no bit depends on threads or on how `M` comes in parts.
Shapes: T nodes that ask, L nodes that answer, Q distinct edges of those that ask.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.graph.arrays import FloatArray, Int32Array
from se_gnn.similarity.kernels.one_way import OneWay, Rows


def edge_mean(best: Tensor, way: OneWay) -> Tensor:
    """P M, [Q, L] to [T, L], with a gradient to ``best``; 0 for a node without edges. P has the weights of ``way``."""
    mean: Tensor = _EdgeMean.apply(way.weighted(best), way)  # type: ignore[no-untyped-call]
    return mean


class _EdgeMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, best: Tensor, way: OneWay) -> Tensor:
        ctx.way = way
        rows = way.rows(best.device)
        return _sums(best, rows) / rows.sizes

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        sizes = ctx.way.rows(grad.device).sizes
        return _sums(grad / sizes, ctx.way.flipped(grad.device)), None


def _sums(values: Tensor, rows: Rows) -> Tensor:
    """The sum of some rows of ``values`` for each t, [T, L]."""
    if values.device.type == "cpu":
        total = RunningSums(rows, values.shape[1], values.dtype)
        total.add(values)
        return total.sums
    sums: Tensor = torch.nn.functional.embedding_bag(
        rows.columns, values.contiguous(), rows.ptr, mode="sum", include_last_offset=True
    )
    return sums


class RunningSums:
    """Sums of rows of a matrix that comes in parts, one after the other, on the CPU."""

    def __init__(self, rows: Rows, width: int, dtype: torch.dtype = torch.float32) -> None:
        self.rows = rows
        self.sums = torch.zeros(len(rows.ptr) - 1, width, dtype=dtype)
        self.taken = 0  # rows of the matrix so far
        self.cursor = rows.ptr[:-1].numpy().copy()

    def add(self, part: Tensor) -> None:
        """The next rows of the matrix."""
        index = (self.rows.columns.numpy(), self.rows.ptr.numpy(), self.cursor)
        _add_rows(np.ascontiguousarray(part.detach().numpy()), self.taken, *index, self.sums.numpy())
        self.taken += len(part)

    def mean(self) -> Tensor:
        """P M, when all parts came."""
        return self.sums.div_(self.rows.sizes)


@numba.njit(parallel=True, cache=True, nogil=True)
def _add_rows(
    part: FloatArray, low: int, columns: Int32Array, ptr: Int32Array, cursor: Int32Array, sums: FloatArray
) -> None:
    """Add to each t those of its rows that lie in this part."""
    high = low + len(part)
    for t in numba.prange(len(sums)):
        i = cursor[t]
        while i < ptr[t + 1] and columns[i] < high:
            row = columns[i] - low
            for c in range(sums.shape[1]):
                sums[t, c] += part[row, c]
            i += 1
        cursor[t] = i


def edge_sums(way: OneWay, weights: Tensor) -> Tensor:
    """What the edges of each node count together, by the weight of each query [Q], with gradients, [T]."""
    rows = way.rows(weights.device)
    sizes = rows.ptr.diff().long()
    owners = torch.repeat_interleave(torch.arange(len(sizes), device=weights.device), sizes)
    return torch.zeros(len(sizes), dtype=weights.dtype, device=weights.device).index_add(
        0, owners, weights[rows.columns.long()]
    )


def weighted_edge_mean(best: Tensor, way: OneWay, weights: Tensor) -> Tensor:
    """The same where each query counts with its weight, [Q], with gradients to both; 0 for a node without edges."""
    best = best.masked_fill(torch.isneginf(best), 0)
    rows = way.rows(best.device)
    sizes = rows.ptr.diff().long()
    owners = torch.repeat_interleave(torch.arange(len(sizes), device=best.device), sizes)
    columns = rows.columns.long()
    member = weights[columns]
    total = torch.zeros(len(sizes), dtype=member.dtype, device=best.device).index_add(0, owners, member)
    shares, places = member / total[owners], torch.stack([owners, columns])
    matrix = torch.sparse_coo_tensor(places, shares, (len(sizes), len(best)), check_invariants=False)
    mean: Tensor = torch.sparse.mm(matrix, best)
    return mean
