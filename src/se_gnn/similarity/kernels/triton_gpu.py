"""Edge matching on a CUDA device: agrees with `reference.match_edges`, and stores nothing of size queries x keys.

Shapes: Q query edges, K key edges, L local graphs, D dimensions.

Where edges lie in many local graphs, the products of queries and distinct keys are formed once, a block of queries at a
time, and each local graph takes its maximum out of them. Else one program takes a tile of queries through a few local
graphs: a matrix product with the edges of a local graph, its maximum while it is in registers. Either way the winners
are scored again in float32, as the paper writes it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.kernels.torch_any import midpoints

TILE = 1 << 14  # numbers in a tile of queries: what shared memory holds with the pipeline
GROUP = 8  # local graphs that one program takes its queries through
SHARED = 2  # local graphs that a key lies in, on average, from which on products are formed once for all of them
BLOCK_BYTES = 1 << 28  # products formed at a time
SMALLEST_BLOCK = 256  # queries; with fewer at a time the launches would cost more than they save
SHORTEST = 1e-12  # a shorter vector counts as this long


def match_edges(h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
    """Similarity and position of the best match of each query in each local graph, [Q, L]; -inf and -1 where empty."""
    h = h.contiguous()
    index = plan.on(h.device)
    queries, keys = midpoints(h, index.query_ends), midpoints(h, index.key_node_ends)
    if measure == "distance":  # the nearest key b has the largest r.b - |b|^2 / 2
        center = h.mean(dim=0)  # distances stay, rounding shrinks
        probes, targets = queries - center, keys - center
        offset = -targets.square().sum(dim=1) / 2
    else:  # r.b / |b|; the length of r changes no order
        probes, targets = queries, keys / keys.norm(dim=1, keepdim=True).clamp_min(SHORTEST)
        offset = torch.zeros(len(keys), device=h.device)
    num_queries, num_local = plan.num_queries, plan.num_local
    best = torch.empty(num_local, num_queries, device=h.device)  # one local graph after the other: whole lines written
    winners = torch.empty(num_local, num_queries, dtype=torch.int32, device=h.device)
    depth = h.shape[1]
    width = max(16, triton.next_power_of_2(depth))
    memberships = int(plan.ptr[-1] - plan.ptr[0])
    step = BLOCK_BYTES // (4 * max(1, len(keys)))  # queries in a block
    if num_queries and num_local and memberships >= SHARED * len(keys) and step >= SMALLEST_BLOCK:
        tile = max(16, min(64, TILE // (2 * width)))
        for low in range(0, num_queries, step):
            scores = torch.addmm(offset[:, None], targets, probes[low : low + step].T)  # [K, block]: a row for each key
            _best_of_scores[(triton.cdiv(scores.shape[1], tile), num_local)](
                scores, queries, keys, index.ptr, index.members, best, winners,
                low, scores.shape[1], num_queries, depth,
                DISTANCE=measure == "distance", QUERIES=tile, MEMBERS=16, DEPTH=width, num_warps=4,
            )  # fmt: skip
    elif num_queries and num_local:
        tile = min(256, max(16, TILE // width))
        typical = memberships / num_local
        grid = (triton.cdiv(num_queries, tile), triton.cdiv(num_local, GROUP))
        _forward[grid](
            probes, targets, offset, queries, keys, index.ptr, index.members, best, winners,
            num_queries, num_local, depth,
            DISTANCE=measure == "distance", QUERIES=tile, GROUP=GROUP,
            MEMBERS=64 if typical > 48 else 32 if typical > 16 else 16,
            DEPTH=width, num_warps=8 if tile >= 128 else 4,
        )  # fmt: skip
    return best.T, winners.T


def match_edges_backward(
    h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
) -> Tensor:
    """Gradient to the embeddings, [N, D]: only the winning pair of each (query, local graph) receives one."""
    h = h.contiguous()
    index = plan.on(h.device)
    queries, keys = midpoints(h, index.query_ends), midpoints(h, index.key_node_ends)
    grad_queries, grad_keys = torch.zeros_like(queries), torch.zeros_like(keys)
    norms = [x.norm(dim=1).clamp_min(SHORTEST) for x in (queries, keys)]
    columns = [x.T.contiguous() for x in (best, winners, grad)]  # [L, Q], as the forward pass writes them
    if plan.num_queries and plan.num_local:
        depth = h.shape[1]
        _backward[(plan.num_queries,)](
            queries, keys, *norms, *columns, grad_queries, grad_keys, plan.num_queries, plan.num_local, depth,
            DISTANCE=measure == "distance", DEPTH=max(16, triton.next_power_of_2(depth)), num_warps=1,
        )  # fmt: skip
    grad_h = torch.zeros_like(h)
    for ends, values in ((index.query_ends, grad_queries), (index.key_node_ends, grad_keys)):
        for end in (0, 1):  # an edge is the mean of its two ends: each end receives half
            grad_h.index_add_(0, ends[:, end], values, alpha=0.5)
    return grad_h


def segment_mean(values: Tensor, ptr: Tensor, columns: Tensor) -> Tensor:
    """Mean of the rows ``values[columns[ptr[t]:ptr[t + 1]]]`` for each t, in order; 0 where there is none: [T, L].

    ``values`` [Q, L] comes as :func:`match_edges` gives it; its rows are gathered from a contiguous copy.
    """
    rows = values.contiguous()
    out = torch.empty(len(ptr) - 1, rows.shape[1], device=rows.device)
    block = min(128, triton.next_power_of_2(max(16, rows.shape[1])))
    grid = (len(out), triton.cdiv(rows.shape[1], block))
    if out.numel():
        _segment_mean[grid](rows, ptr, columns, out, rows.shape[1], BLOCK=block, num_warps=1)
    return out


@triton.jit
def _forward(
    probes, targets, offset, queries, keys, ptr, members, best_out, win_out,
    num_queries, num_local, depth,
    DISTANCE: tl.constexpr, QUERIES: tl.constexpr, GROUP: tl.constexpr, MEMBERS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * QUERIES + tl.arange(0, QUERIES)
    d = tl.arange(0, DEPTH)
    inside = (rows[:, None] < num_queries) & (d[None, :] < depth)
    probe = tl.load(probes + rows[:, None] * depth + d[None, :], mask=inside, other=0.0)
    first = tl.program_id(1) * GROUP
    for t in range(first, tl.minimum(first + GROUP, num_local)):
        start = tl.load(ptr + t)
        end = tl.load(ptr + t + 1)
        best = tl.full([QUERIES], float("-inf"), tl.float32)
        win = tl.full([QUERIES], -1, tl.int32)
        for low in range(start, end, MEMBERS):
            m = low + tl.arange(0, MEMBERS)
            there = m < end
            key = tl.load(members + m, mask=there, other=0).to(tl.int64)
            wanted = there[:, None] & (d[None, :] < depth)
            target = tl.load(targets + key[:, None] * depth + d[None, :], mask=wanted, other=0.0)
            score = tl.dot(probe, tl.trans(target), input_precision="tf32x3")
            score += tl.load(offset + key, mask=there, other=0.0)[None, :]
            score = tl.where(there[None, :], score, float("-inf"))
            top, at = tl.max(score, axis=1, return_indices=True, return_indices_tie_break_left=True)
            better = top > best
            best = tl.where(better, top, best)
            win = tl.where(better, (low - start).to(tl.int32) + at.to(tl.int32), win)
        found = win >= 0
        key = tl.load(members + start + win, mask=found, other=0).to(tl.int64)
        a = tl.load(queries + rows[:, None] * depth + d[None, :], mask=inside, other=0.0)
        b = tl.load(keys + key[:, None] * depth + d[None, :], mask=inside & found[:, None], other=0.0)
        exact = tl.where(found, _similarity(a, b, DISTANCE), float("-inf"))
        place = t.to(tl.int64) * num_queries + rows
        tl.store(best_out + place, exact, mask=rows < num_queries)
        tl.store(win_out + place, tl.where(found, key.to(tl.int32), -1), mask=rows < num_queries)


@triton.jit
def _best_of_scores(
    scores, queries, keys, ptr, members, best_out, win_out,
    first, width, num_queries, depth,
    DISTANCE: tl.constexpr, QUERIES: tl.constexpr, MEMBERS: tl.constexpr, DEPTH: tl.constexpr,
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
    d = tl.arange(0, DEPTH)
    wanted = found[:, None] & (d[None, :] < depth)
    a = tl.load(queries + rows[:, None] * depth + d[None, :], mask=wanted, other=0.0)
    b = tl.load(keys + key[:, None] * depth + d[None, :], mask=wanted, other=0.0)
    exact = tl.where(found, _similarity(a, b, DISTANCE), float("-inf"))
    place = t.to(tl.int64) * num_queries + rows
    tl.store(best_out + place, exact, mask=inside)
    tl.store(win_out + place, tl.where(found, key.to(tl.int32), -1), mask=inside)


@triton.jit
def _similarity(a, b, DISTANCE: tl.constexpr):
    if DISTANCE:
        return -tl.sqrt(tl.sum((a - b) * (a - b), axis=1))
    a_length = tl.maximum(tl.sqrt(tl.sum(a * a, axis=1)), 1e-12)
    b_length = tl.maximum(tl.sqrt(tl.sum(b * b, axis=1)), 1e-12)
    return tl.sum(a * b, axis=1) / (a_length * b_length)


@triton.jit
def _backward(
    queries, keys, query_norms, key_norms, best, winners, grad, grad_queries,
    grad_keys, num_queries, num_local, depth,
    DISTANCE: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    q = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, DEPTH)
    inside = d < depth
    a = tl.load(queries + q * depth + d, mask=inside, other=0.0)
    length = tl.load(query_norms + q)
    total = tl.zeros([DEPTH], tl.float32)
    for t in range(num_local):
        place = t.to(tl.int64) * num_queries + q
        g = tl.load(grad + place)
        key = tl.load(winners + place).to(tl.int64)
        value = tl.load(best + place)
        if (key >= 0) & (g != 0):
            b = tl.load(keys + key * depth + d, mask=inside, other=0.0)
            if DISTANCE:  # d(-|a - b|) / da = (b - a) / |a - b|; two equal edges: no slope there
                slope = tl.where(value == 0, 0.0, -g / tl.where(value == 0, 1.0, value))
                total += slope * (b - a)
                tl.atomic_add(grad_keys + key * depth + d, slope * (a - b), mask=inside)
            else:  # d cos / da = (b / |b| - cos a / |a|) / |a|
                other = tl.load(key_norms + key)
                total += g * (b / other - value * a / length) / length
                tl.atomic_add(grad_keys + key * depth + d, g * (a / length - value * b / other) / other, mask=inside)
    tl.store(grad_queries + q * depth + d, total, mask=inside)


@triton.jit
def _segment_mean(values, ptr, columns, out, width, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    start = tl.load(ptr + t)
    end = tl.load(ptr + t + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(start, end):
        row = tl.load(columns + i).to(tl.int64)
        total += tl.load(values + row * width + c, mask=c < width, other=0.0)
    tl.store(out + t * width + c, total / tl.maximum(end - start, 1).to(tl.float32), mask=c < width)
