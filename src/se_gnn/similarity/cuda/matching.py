"""Edge matching on a CUDA device: agrees with `reference.match_edges`, and stores nothing of size queries x keys.

Shapes: Q query edges, K key edges, L local graphs, D dimensions.

Where edges lie in many local graphs, the products of queries and distinct keys are formed once, a block of queries at a
time, and each local graph takes its maximum out of them. Else one program takes a tile of queries through a few local
graphs: a matrix product with the edges of a local graph (`products.py`), its maximum while it is in registers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.similarity.backend import Points
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
from se_gnn.similarity.items import KeyEdges, QueryEdges
from se_gnn.similarity.measure import EPS

GROUP = 8  # local graphs that one program takes its queries through
SHARED = 2  # local graphs that a key lies in, on average, from which on products are formed once for all of them
BLOCK_BYTES = 1 << 28  # products formed at a time
SMALLEST_BLOCK = 256  # queries; with fewer at a time the launches would cost more than they save


def match(points: Points, queries: QueryEdges, keys: KeyEdges) -> tuple[Tensor, Tensor]:
    """Similarity and position of the best match of each query edge in each local graph, [Q, L]; else -inf and -1."""
    edges, index, device = EdgePoints.of(points, queries, keys), keys.on(points.device), points.device
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
                scores, edges.queries, edges.keys, index.ptr, index.members, best, winners,
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
    points: Points, queries: QueryEdges, keys: KeyEdges, best: Tensor, winners: Tensor, grad: Tensor
) -> Tensor:
    """Gradient to the vectors, [N, D]: only the winning pair of each query edge and local graph receives one."""
    h, both_ends = points.vectors.contiguous(), (queries.ends_on(points.device), keys.on(points.device).node_ends)
    asking, answering = (edge_vectors(h, ends) for ends in both_ends)
    grads = torch.zeros_like(asking), torch.zeros_like(answering)
    norms = [x.norm(dim=1).clamp_min(EPS) for x in (asking, answering)]
    columns = [x.T.contiguous() for x in (best, winners, grad)]  # [L, Q], as the forward pass writes them
    if len(queries) and keys.num_local:
        depth = h.shape[1]
        _backward[(len(queries),)](
            asking, answering, *norms, *columns, *grads, len(queries), keys.num_local, depth,
            UNIT=points.measure.unit, DEPTH=max(16, triton.next_power_of_2(depth)), num_warps=1,
        )  # fmt: skip
    grad_h = torch.zeros_like(h)
    for ends, values in zip(both_ends, grads):
        for end in (0, 1):  # an edge is the mean of its two ends: each end receives half
            grad_h.index_add_(0, ends[:, end], values, alpha=0.5)
    return grad_h


def shares_products(keys: KeyEdges) -> bool:
    """Whether products are formed once for all local graphs that a key lies in.

    A block of local graphs has the members of the whole, so that it is treated alike and has the same bits.
    """
    return len(keys.members) >= SHARED * len(keys) and BLOCK_BYTES // (4 * max(1, len(keys))) >= SMALLEST_BLOCK


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
