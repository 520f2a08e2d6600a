"""A CUDA device with Triton: edge matching, distances, listed pairs and the search. Shapes: T queries, L cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.graph.arrays import IntArray
from se_gnn.similarity.backend import Nearest, Points
from se_gnn.similarity.cuda import matching
from se_gnn.similarity.cuda.pairs import pair_means
from se_gnn.similarity.cuda.products import EdgeHalves, EdgePoints
from se_gnn.similarity.items import KeyEdges, QueryEdges, Way
from se_gnn.similarity.torch_backend import TorchBackend

if TYPE_CHECKING:
    from se_gnn.similarity.comparison import Comparison

TILE = 64


class CudaBackend(TorchBackend):
    """Comparisons in float32 on CUDA; means, sums of rows and the largest numbers are PyTorch's own."""

    @property
    def records(self) -> bool:
        """Yes: nothing in a comparison with gradients waits for the host."""
        return True

    def match(self, points: Points, queries: QueryEdges, keys: KeyEdges) -> tuple[Tensor, Tensor]:
        """By tensor cores: see `matching.py`."""
        return matching.match(points, queries, keys)

    def pull_back(
        self, points: Points, queries: QueryEdges, keys: KeyEdges, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Through the winning pairs alone."""
        return matching.pull_back(points, queries, keys, best, winners, grad)

    def listed_means(self, points: Points, way: Way, asking: IntArray, ptr: IntArray, answers: IntArray) -> Tensor:
        """Pair by pair, with the bits of a comparison of all pairs unless that forms the products of edges once."""
        queries, keys = way
        sizes = np.diff(queries.ptr)
        if queries.weights is not None or not (len(answers) and sizes.any() and len(keys)):
            return super().listed_means(points, way, asking, ptr, answers)
        halves = EdgeHalves.of(EdgePoints.of(points, queries, keys), keys)
        owners, positions = (
            torch.from_numpy(index).to(points.device) for index in (np.repeat(asking, np.diff(ptr)), answers)
        )
        typical = float(sizes.mean()), float(keys.sizes.mean())
        rows = queries.rows(points.device)
        return pair_means(halves, rows, owners, positions, points.measure, typical, int(sizes.max()))

    def distances(self, a: Tensor, b: Tensor) -> Tensor:
        """From the differences, so that nothing cancels; PyTorch's own takes ten times as long."""
        if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
            return super().distances(a, b)
        rows, columns = a.detach().T.contiguous(), b.detach().T.contiguous()  # a dimension after the other
        found = torch.empty(len(a), len(b), device=a.device)
        if found.numel():
            grid = (triton.cdiv(len(a), TILE), triton.cdiv(len(b), TILE))
            _distances[grid](rows, columns, found, len(a), len(b), a.shape[1], TILE=TILE, num_warps=4)
        return found

    def search(self, comparison: Comparison, count: int, budget: int) -> Nearest | None:
        """By bounds: see `search.py`."""
        from se_gnn.similarity.cuda.search import nearest_by_bounds  # not needed by training

        return nearest_by_bounds(comparison, count, budget)


CUDA = CudaBackend()


@triton.jit
def _distances(rows, columns, found, num_rows, num_columns, depth, TILE: tl.constexpr):
    t = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros([TILE, TILE], tl.float32)
    for d in range(depth):
        x = tl.load(rows + tl.cast(num_rows, tl.int64) * d + t, mask=t < num_rows, other=0.0)
        y = tl.load(columns + tl.cast(num_columns, tl.int64) * d + c, mask=c < num_columns, other=0.0)
        difference = x[:, None] - y[None, :]
        total += difference * difference
    place = t.to(tl.int64)[:, None] * num_columns + c[None, :]
    tl.store(found + place, tl.sqrt_rn(total), mask=(t < num_rows)[:, None] & (c < num_columns)[None, :])
