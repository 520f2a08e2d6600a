"""A CUDA device with Triton: edge matching, distances, listed pairs and the search.

Shapes: T queries, L cases or local graphs, Q query edges, K key edges, D dimensions.

Matching agrees with `reference.match_edges`, and stores nothing of size queries x keys. Where edges lie in many local
graphs, the products of queries and distinct keys are formed once, a block of queries at a time, and each local graph
takes its maximum out of them. Else one program takes a tile of queries through a few local graphs: a matrix product
with the edges of a local graph (`products.py`), its maximum while it is in registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.graph.arrays import IntArray
from se_gnn.similarity.backend import Backend, Nearest, Points
from se_gnn.similarity.cuda.pairs import pair_means
from se_gnn.similarity.cuda.products import (
    TILE,
    EdgeHalves,
    EdgePoints,
    best_of_keys,
    exact_similarity,
    matched_similarity,
    rows_at,
    tile_shape,
    width_and_chunk,
)
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import LocalEdges, Way
from se_gnn.similarity.measure import EPS

if TYPE_CHECKING:
    from se_gnn.similarity.comparison import Comparison

GROUP = 8  # local graphs that one program takes its queries through
SHARED = 2  # local graphs that a key lies in, on average, from which on products are formed once for all of them
BLOCK_BYTES = 1 << 28  # products formed at a time
SMALLEST_BLOCK = 256  # queries; with fewer at a time the launches would cost more than they save
SQUARE = 64  # rows and columns of a tile of distances
PULLED = 128  # dimensions of a gradient that one program adds up


class CudaBackend(Backend):
    """Comparisons in float32 on CUDA; means, sums of rows and the largest numbers are PyTorch's own."""

    records = True

    def match(self, points: Points, queries: LocalEdges, keys: LocalEdges) -> tuple[Tensor, Tensor]:
        """Find best matches with tensor cores, with the products of keys in many local graphs formed once."""
        edges, index, device = EdgePoints.of(points, queries, keys), keys.rows(points.device), points.device
        num_queries, num_local, num_keys = len(queries), keys.num_local, len(keys)
        best = torch.empty(num_local, num_queries, device=device)  # a local graph after the other: whole lines
        winners = torch.empty(num_local, num_queries, dtype=torch.int32, device=device)
        depth, unit = points.vectors.shape[1], points.measure.unit
        width, chunk = width_and_chunk(depth, device)
        memberships = int(keys.ptr[-1] - keys.ptr[0])
        if num_queries and num_local and shares_products(keys):
            step = BLOCK_BYTES // (4 * max(1, num_keys))  # queries in a block
            tile = max(16, min(64, TILE // (2 * chunk)))
            for low in range(0, num_queries, step):
                some = edges.probes[low : low + step]
                scores = torch.addmm(edges.offset[:, None], edges.targets, some.T)  # [K, block]: a row for each key
                _best_of_scores[(triton.cdiv(scores.shape[1], tile), num_local)](
                    scores, edges.queries, edges.keys, index.ptr, index.columns, best, winners,
                    low, scores.shape[1], num_queries, depth,
                    UNIT=unit, QUERIES=tile, MEMBERS=16, CHUNK=chunk, num_warps=4,
                )  # fmt: skip
        elif num_queries and num_local:
            halves = EdgeHalves.of(edges, keys)
            tile, step = tile_shape(width, chunk, memberships / num_local)
            _forward[(triton.cdiv(num_queries, tile), triton.cdiv(num_local, GROUP))](
                halves.first, halves.more, halves.squares, halves.key_first, halves.key_more, halves.offset,
                halves.unit, edges.queries, edges.keys, halves.ptr, halves.members, best, winners,
                halves.before, num_queries, num_local, depth,
                UNIT=unit, QUERIES=tile, GROUP=GROUP, MEMBERS=step,
                CHUNK=chunk, WIDE=width > chunk, num_warps=4, num_stages=2,
            )  # fmt: skip
        return best.T, winners.T

    def pull_back(
        self, points: Points, queries: LocalEdges, keys: LocalEdges, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradients flow through the winning pairs alone; each row adds up its pairs in a fixed order, without atomics.

        Sorting brings the pairs that a key edge has won together, one query edge after the other.
        """
        h, both_ends = points.vectors, torch.cat([side.ends_on(points.device) for side in (queries, keys)])
        vectors, count = edge_vectors(h, both_ends), len(queries)  # [Q + K, D]
        norms, grads = vectors.norm(dim=1).clamp_min(EPS), torch.zeros_like(vectors)
        best, winners, grad = (x.T.contiguous() for x in (best, winners, grad))  # [L, Q], as the forward pass writes
        won, order = winners.view(-1).sort(stable=True)
        ptr = torch.searchsorted(won, torch.arange(len(keys) + 1, dtype=won.dtype, device=won.device))
        depth = h.shape[1]
        chunk = min(PULLED, max(16, triton.next_power_of_2(depth)))
        for first, rows in ((0, count), (count, len(keys))):
            if rows and winners.numel():
                _backward[(rows, triton.cdiv(depth, chunk))](
                    vectors, norms, best, winners, grad, grads, order, ptr, first, count, keys.num_local, depth,
                    OF_KEYS=first > 0, UNIT=points.measure.unit, PAIRS=32, CHUNK=chunk, num_warps=4,
                )  # fmt: skip
        halves = (grads / 2)[:, None].expand(-1, 2, -1)  # an edge is the mean of its two ends: each end receives half
        pulled: Tensor = torch.ops.aten.embedding_dense_backward(halves, both_ends, len(h), -1, False)
        return pulled

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
        """Computed from the differences, so that nothing cancels; PyTorch's own takes ten times as long."""
        if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
            return super().distances(a, b)
        rows, columns = a.detach().T.contiguous(), b.detach().T.contiguous()  # a dimension after the other
        found = torch.empty(len(a), len(b), device=a.device)
        if found.numel():
            grid = (triton.cdiv(len(a), SQUARE), triton.cdiv(len(b), SQUARE))
            _distances[grid](rows, columns, found, len(a), len(b), a.shape[1], TILE=SQUARE, num_warps=4)
        return found

    def search(self, comparison: Comparison, count: int, budget: int) -> Nearest | None:
        """Search by bounds: see `search.py`."""
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


def shares_products(keys: LocalEdges) -> bool:
    """Whether products are formed once for all local graphs that a key lies in.

    A block of local graphs has the members of the whole, so that it is treated alike and has the same bits.
    """
    return len(keys.columns) >= SHARED * len(keys) and BLOCK_BYTES // (4 * max(1, len(keys))) >= SMALLEST_BLOCK


@triton.jit
def _forward(
    first_half, second_half, squares, key_first, key_second, offset, unit, queries, keys, ptr, members,
    best_out, win_out, before, num_queries, num_local, depth,
    UNIT: tl.constexpr, QUERIES: tl.constexpr, GROUP: tl.constexpr, MEMBERS: tl.constexpr, CHUNK: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * QUERIES + tl.arange(0, QUERIES)
    there_rows = rows < num_queries
    probe = rows  # not read
    more = rows
    if not WIDE:  # the queries stay on the chip
        probe = rows_at(first_half, rows, there_rows, 0, depth, CHUNK)
        more = rows_at(second_half, rows, there_rows, 0, depth, CHUNK)
    square = tl.load(squares + rows, mask=there_rows, other=1.0)
    by = tl.load(unit)  # what a product of the halves is to be multiplied with
    first = tl.program_id(1) * GROUP
    for t in range(first, tl.minimum(first + GROUP, num_local)):
        start = (tl.load(ptr + t) - before).to(tl.int32)
        end = (tl.load(ptr + t + 1) - before).to(tl.int32)
        best, win = best_of_keys(
            probe, more, rows, there_rows, first_half, second_half, key_first, key_second, offset, by, start, end,
            depth, True, QUERIES, MEMBERS, CHUNK, WIDE,
        )  # fmt: skip
        key = tl.load(members + win, mask=win >= 0, other=0).to(tl.int64)
        value = matched_similarity(
            best, win, key, square, rows, there_rows, queries, keys, offset, depth, UNIT, QUERIES, CHUNK
        )
        place = tl.cast(t, tl.int64) * num_queries + rows
        tl.store(best_out + place, value, mask=there_rows)
        tl.store(win_out + place, tl.where(win >= 0, key.to(tl.int32), -1), mask=there_rows)


@triton.jit
def _best_of_scores(
    scores, queries, keys, ptr, members, best_out, win_out,
    first, width, num_queries, depth,
    UNIT: tl.constexpr, QUERIES: tl.constexpr, MEMBERS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    inside = column < width
    t = tl.program_id(1)
    start = tl.load(ptr + t)
    end = tl.load(ptr + t + 1)
    best = tl.full([QUERIES], float("-inf"), tl.float32)
    win = tl.full([QUERIES], -1, tl.int32)
    for low in range(start, end, MEMBERS):
        m = low + tl.arange(0, MEMBERS)
        key = tl.load(members + m, mask=m < end, other=0).to(tl.int64)
        wanted = (m < end)[:, None] & inside[None, :]
        score = tl.load(scores + key[:, None] * width + column[None, :], mask=wanted, other=float("-inf"))
        top, at = tl.max(score, axis=0, return_indices=True, return_indices_tie_break_left=True)
        better = top > best
        best = tl.where(better, top, best)
        win = tl.where(better, (low - start).to(tl.int32) + at.to(tl.int32), win)
    found = inside & (win >= 0)
    key = tl.load(members + start + win, mask=found, other=0).to(tl.int64)
    rows = column.to(tl.int64) + first
    exact = exact_similarity(queries, keys, rows, key, found, depth, UNIT, QUERIES, CHUNK)
    exact = tl.where(found, exact, float("-inf"))
    place = tl.cast(t, tl.int64) * num_queries + rows
    tl.store(best_out + place, exact, mask=inside)
    tl.store(win_out + place, tl.where(found, key.to(tl.int32), -1), mask=inside)


@triton.jit
def _backward(
    vectors, norms, best, winners, grad, grads, order, ptr, first, num_queries, num_local, depth,
    OF_KEYS: tl.constexpr, UNIT: tl.constexpr, PAIRS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """The gradient to one query edge or key edge, from all pairs of a query edge and its winner that it belongs to."""
    row = tl.program_id(0).to(tl.int64)
    own = first + row  # query edges come first, then key edges
    d = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    inside = d < depth
    a = tl.load(vectors + own * depth + d, mask=inside, other=0.0)
    length = tl.load(norms + own)
    if OF_KEYS:
        start = tl.load(ptr + row)
        end = tl.load(ptr + row + 1)
    else:  # a pair with each local graph
        start = tl.cast(0, tl.int64)
        end = tl.cast(num_local, tl.int64)
    total = tl.zeros([CHUNK], tl.float32)
    for low in range(start, end, PAIRS):
        i = low + tl.arange(0, PAIRS)
        there = i < end
        if OF_KEYS:
            pair = tl.load(order + i, mask=there, other=0)
            other = pair % num_queries
        else:
            pair = i * num_queries + row
            winner = tl.load(winners + pair, mask=there, other=-1).to(tl.int64)
            there = winner >= 0
            other = num_queries + winner
        g = tl.load(grad + pair, mask=there, other=0.0)
        there = there & (g != 0)
        value = tl.load(best + pair, mask=there, other=0.0)
        b = tl.load(vectors + other[:, None] * depth + d[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        if UNIT:  # d cos / da = (b / |b| - cos a / |a|) / |a|
            norm = tl.load(norms + other, mask=there, other=1.0)
            total += tl.sum(g[:, None] * (b / norm[:, None] - value[:, None] * a[None, :] / length) / length, axis=0)
        else:  # d(-|a - b|) / da = (b - a) / |a - b|; two equal edges: no slope there
            slope = tl.where(value == 0, 0.0, -g / tl.where(value == 0, 1.0, value))
            total += tl.sum(slope[:, None] * (b - a[None, :]), axis=0)
    tl.store(grads + own * depth + d, total, mask=inside)
