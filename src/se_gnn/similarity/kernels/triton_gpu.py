"""Edge matching on a CUDA device: agrees with `reference.match_edges`, and stores nothing of size queries x keys.

Shapes: Q query edges, K key edges, L local graphs, D dimensions.

Where edges lie in many local graphs, the products of queries and distinct keys are formed once, a block of queries at a
time, and each local graph takes its maximum out of them. Else one program takes a tile of queries through a few local
graphs: a matrix product with the edges of a local graph (:mod:`~se_gnn.similarity.kernels.halves_gpu`), its maximum
while it is in registers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.similarity.edge import edge_vectors
from se_gnn.similarity.kernels.halves_gpu import (
    TILE,
    EdgeHalves,
    EdgePoints,
    best_match,
    exact_similarity,
    matched_similarity,
    rows_at,
    tile_shape,
    width_and_chunk,
)
from se_gnn.similarity.kernels.kernel import Kernel
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.measure import EPS, Measure

GROUP = 8  # local graphs that one program takes its queries through
SHARED = 2  # local graphs that a key lies in, on average, from which on products are formed once for all of them
BLOCK_BYTES = 1 << 28  # products formed at a time
SMALLEST_BLOCK = 256  # queries; with fewer at a time the launches would cost more than they save


class TritonKernel(Kernel):
    """Edge matching on CUDA, in float32."""

    def match(self, h: Tensor, plan: MatchPlan, measure: Measure, origin: Tensor) -> tuple[Tensor, Tensor]:
        """As `reference.match_edges`."""
        h = h.contiguous()
        index = plan.on(h.device)
        points = EdgePoints.of(h, index, measure, origin)
        num_queries, num_local, num_keys = plan.num_queries, plan.num_local, len(points.keys)
        best = torch.empty(num_local, num_queries, device=h.device)  # a local graph after the other: whole lines
        winners = torch.empty(num_local, num_queries, dtype=torch.int32, device=h.device)
        depth = h.shape[1]
        width, chunk = width_and_chunk(depth, h.device)
        memberships = int(plan.ptr[-1] - plan.ptr[0])
        if num_queries and num_local and shares_products(plan):
            step = BLOCK_BYTES // (4 * max(1, num_keys))  # queries in a block
            tile = max(16, min(64, TILE // (2 * chunk)))
            for low in range(0, num_queries, step):
                some = points.probes[low : low + step]
                scores = torch.addmm(points.offset[:, None], points.targets, some.T)  # [K, block]: a row for each key
                _best_of_scores[(triton.cdiv(scores.shape[1], tile), num_local)](
                    scores, points.queries, points.keys, index.ptr, index.members, best, winners,
                    low, scores.shape[1], num_queries, depth,
                    UNIT=measure.unit, QUERIES=tile, MEMBERS=16, CHUNK=chunk, num_warps=4,
                )  # fmt: skip
        elif num_queries and num_local:
            halves = EdgeHalves.of(points, index, plan)
            tile, step = tile_shape(width, chunk, memberships / num_local)
            _forward[(triton.cdiv(num_queries, tile), triton.cdiv(num_local, GROUP))](
                halves.first, halves.more, halves.squares, halves.key_first, halves.key_more, halves.offset,
                halves.unit, points.queries, points.keys, halves.ptr, halves.members, best, winners,
                halves.before, num_queries, num_local, depth,
                UNIT=measure.unit, QUERIES=tile, GROUP=GROUP, MEMBERS=step,
                CHUNK=chunk, WIDE=width > chunk, num_warps=4, num_stages=2,
            )  # fmt: skip
        return best.T, winners.T

    def pull_back(
        self, h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradient to the embeddings, [N, D]: only the winning pair of each (query, local graph) receives one."""
        h = h.contiguous()
        index = plan.on(h.device)
        queries, keys = edge_vectors(h, index.query_ends), edge_vectors(h, index.key_node_ends)
        grad_queries, grad_keys = torch.zeros_like(queries), torch.zeros_like(keys)
        norms = [x.norm(dim=1).clamp_min(EPS) for x in (queries, keys)]
        columns = [x.T.contiguous() for x in (best, winners, grad)]  # [L, Q], as the forward pass writes them
        if plan.num_queries and plan.num_local:
            depth = h.shape[1]
            _backward[(plan.num_queries,)](
                queries, keys, *norms, *columns, grad_queries, grad_keys, plan.num_queries, plan.num_local, depth,
                UNIT=measure.unit, DEPTH=max(16, triton.next_power_of_2(depth)), num_warps=1,
            )  # fmt: skip
        grad_h = torch.zeros_like(h)
        for ends, values in ((index.query_ends, grad_queries), (index.key_node_ends, grad_keys)):
            for end in (0, 1):  # an edge is the mean of its two ends: each end receives half
                grad_h.index_add_(0, ends[:, end], values, alpha=0.5)
        return grad_h


def shares_products(plan: MatchPlan) -> bool:
    """Whether products are formed once for all local graphs that a key lies in.

    A part of a plan has the members of the whole, so that it is treated alike and has the same bits.
    """
    num_keys = len(plan.key_ids)
    return len(plan.members) >= SHARED * num_keys and BLOCK_BYTES // (4 * max(1, num_keys)) >= SMALLEST_BLOCK


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
        best, win = best_match(
            probe, more, rows, there_rows, first_half, second_half, key_first, key_second, offset, by, start, end,
            depth, QUERIES, MEMBERS, CHUNK, WIDE,
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
    queries, keys, query_norms, key_norms, best, winners, grad, grad_queries,
    grad_keys, num_queries, num_local, depth,
    UNIT: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    q = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, DEPTH)
    inside = d < depth
    a = tl.load(queries + q * depth + d, mask=inside, other=0.0)
    length = tl.load(query_norms + q)
    total = tl.zeros([DEPTH], tl.float32)
    for t in range(num_local):
        place = tl.cast(t, tl.int64) * num_queries + q
        g = tl.load(grad + place)
        key = tl.load(winners + place).to(tl.int64)
        value = tl.load(best + place)
        if (key >= 0) & (g != 0):
            b = tl.load(keys + key * depth + d, mask=inside, other=0.0)
            if UNIT:  # d cos / da = (b / |b| - cos a / |a|) / |a|
                other = tl.load(key_norms + key)
                total += g * (b / other - value * a / length) / length
                tl.atomic_add(grad_keys + key * depth + d, g * (a / length - value * b / other) / other, mask=inside)
            else:  # d(-|a - b|) / da = (b - a) / |a - b|; two equal edges: no slope there
                slope = tl.where(value == 0, 0.0, -g / tl.where(value == 0, 1.0, value))
                total += slope * (b - a)
                tl.atomic_add(grad_keys + key * depth + d, slope * (a - b), mask=inside)
    tl.store(grad_queries + q * depth + d, total, mask=inside)
