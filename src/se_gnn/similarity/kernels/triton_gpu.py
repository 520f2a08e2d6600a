"""Edge matching on a CUDA device: agrees with `reference.match_edges`, and stores nothing of size queries x keys.

Shapes: Q query edges, K key edges, L local graphs, D dimensions.

Where edges lie in many local graphs, the products of queries and distinct keys are formed once, a block of queries at a
time, and each local graph takes its maximum out of them. Else one program takes a tile of queries through a few local
graphs: a matrix product with the edges of a local graph, its maximum while it is in registers. For that product each
number is the sum of two of 16 bits, `a = a_1 + a_2`, and `a b = a_1 b_1 + a_1 b_2 + a_2 b_1` is right to 2^-21: three
products of 16 bits take half the time of the three of 19 that tensor cores make of float32. A distance that is small
beside the lengths of the two edges is computed again in float32, as the paper writes it: there the product cancels.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.similarity.edge import edge_vectors
from se_gnn.similarity.kernels.kernel import Kernel
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.kernels.rounding import CLOSE, center
from se_gnn.similarity.measure import EPS, Measure

TILE = 1 << 14  # numbers in a tile of queries: what shared memory holds with the pipeline
ROOMY = 230_000  # bytes of shared memory from which on a tile holds 128 dimensions, else 32
CHUNK = 64  # dimensions that are taken at a time where there are more
GROUP = 8  # local graphs that one program takes its queries through
SHARED = 2  # local graphs that a key lies in, on average, from which on products are formed once for all of them
BLOCK_BYTES = 1 << 28  # products formed at a time
_EPS = tl.constexpr(EPS)
_CLOSE = tl.constexpr(float(CLOSE))
SMALLEST_BLOCK = 256  # queries; with fewer at a time the launches would cost more than they save


class TritonKernel(Kernel):
    """Edge matching on CUDA, in float32."""

    def match(self, h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
        """As `reference.match_edges`."""
        h = h.contiguous()
        index = plan.on(h.device)
        queries, keys = edge_vectors(h, index.query_ends), edge_vectors(h, index.key_node_ends)
        probes, targets = queries, keys
        if not measure.unit:
            moved = h - center(h)  # distances stay, rounding shrinks
            probes, targets = edge_vectors(moved, index.query_ends), edge_vectors(moved, index.key_node_ends)
        scale, offset = measure.scoring(targets.square().sum(dim=1))
        targets = targets * scale[:, None]
        num_queries, num_local = plan.num_queries, plan.num_local
        best = torch.empty(
            num_local, num_queries, device=h.device
        )  # one local graph after the other: whole lines written
        winners = torch.empty(num_local, num_queries, dtype=torch.int32, device=h.device)
        depth = h.shape[1]
        width = max(16, triton.next_power_of_2(depth))
        chunk = width if width <= _dimensions_held(h.device) else CHUNK
        memberships = int(plan.ptr[-1] - plan.ptr[0])
        step = BLOCK_BYTES // (4 * max(1, len(keys)))  # queries in a block
        if num_queries and num_local and memberships >= SHARED * len(keys) and step >= SMALLEST_BLOCK:
            tile = max(16, min(64, TILE // (2 * chunk)))
            for low in range(0, num_queries, step):
                scores = torch.addmm(
                    offset[:, None], targets, probes[low : low + step].T
                )  # [K, block]: a row for each key
                _best_of_scores[(triton.cdiv(scores.shape[1], tile), num_local)](
                    scores, queries, keys, index.ptr, index.members, best, winners,
                    low, scores.shape[1], num_queries, depth,
                    UNIT=measure.unit, QUERIES=tile, MEMBERS=16, CHUNK=chunk, num_warps=4,
                )  # fmt: skip
        elif num_queries and num_local:
            low = int(plan.ptr[0])
            members = index.members[low : low + memberships]
            (first, more), by = _in_halves(probes)
            (key_first, key_more), key_by = _in_halves(targets[members])  # one local graph after the other
            tile, step = _shape(width, chunk, memberships / num_local)
            _forward[(triton.cdiv(num_queries, tile), triton.cdiv(num_local, GROUP))](
                first, more, probes.square().sum(dim=1), key_first, key_more, offset[members], 1 / (by * key_by),
                queries, keys, index.ptr, members, best, winners,
                low, num_queries, num_local, depth,
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


def _shape(width: int, chunk: int, typical: float) -> tuple[int, int]:
    """Queries and keys of a tile, by dimensions and edges of a typical local graph."""
    step = 128 if typical > 96 else 64 if typical > 48 else 32 if typical > 16 else 16
    if width > chunk:
        return 64, min(64, step)
    return min(128, TILE // chunk), min(step, TILE // (2 * chunk))


def _dimensions_held(device: torch.device) -> int:
    """How many dimensions of a tile of queries stay on the chip."""
    return 128 if torch.cuda.get_device_properties(device).shared_memory_per_block_optin >= ROOMY else 32


def _in_halves(vectors: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Two vectors of 16 bits that add up to each, [n, D] times a power of two, and that power.

    The largest number comes to lie just below 2^15, where the second half of one 2^14 times smaller is still normal.
    """
    largest = vectors.abs().amax() if len(vectors) else vectors.new_zeros(())
    exponent = torch.frexp(largest).exponent.clamp_min(-45)  # so that the square of the power is finite
    by = torch.ldexp(torch.ones_like(largest), 15 - exponent)
    scaled = vectors * by
    first = scaled.half()
    return (first, (scaled - first).half()), by


@triton.jit
def _forward(
    first_half, second_half, squares, key_first, key_second, offset, unit, queries, keys, ptr, members,
    best_out, win_out, before, num_queries, num_local, depth,
    UNIT: tl.constexpr, QUERIES: tl.constexpr, GROUP: tl.constexpr, MEMBERS: tl.constexpr, CHUNK: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * QUERIES + tl.arange(0, QUERIES)
    there_rows = rows < num_queries
    if not WIDE:  # the queries stay on the chip
        probe = _rows_at(first_half, rows, there_rows, 0, depth, CHUNK)
        more = _rows_at(second_half, rows, there_rows, 0, depth, CHUNK)
    square = tl.load(squares + rows, mask=there_rows, other=1.0)
    by = tl.load(unit)  # what a product of the halves is to be multiplied with
    first = tl.program_id(1) * GROUP
    for t in range(first, tl.minimum(first + GROUP, num_local)):
        start = (tl.load(ptr + t) - before).to(tl.int32)
        end = (tl.load(ptr + t + 1) - before).to(tl.int32)
        best = tl.full([QUERIES], float("-inf"), tl.float32)
        win = tl.full([QUERIES], -1, tl.int32)
        for low in range(start, end, MEMBERS):
            m = low + tl.arange(0, MEMBERS)
            there = m < end
            score = tl.zeros([QUERIES, MEMBERS], tl.float32)
            if WIDE:
                for c in range(0, depth, CHUNK):
                    part = _rows_at(first_half, rows, there_rows, c, depth, CHUNK)
                    rest = _rows_at(second_half, rows, there_rows, c, depth, CHUNK)
                    score = _product(score, part, rest, key_first, key_second, m, there, c, depth, CHUNK)
            else:
                score = _product(score, probe, more, key_first, key_second, m, there, 0, depth, CHUNK)
            score = score * by + tl.load(offset + m, mask=there, other=float("-inf"))[None, :]
            top = tl.max(score, axis=1)
            at = tl.min(tl.where(score == top[:, None], tl.arange(0, MEMBERS)[None, :], MEMBERS), axis=1)
            better = top > best
            best = tl.where(better, top, best)
            win = tl.where(better, low + at, win)
        found = win >= 0
        key = tl.load(members + win, mask=found, other=0).to(tl.int64)
        if UNIT:
            value = best / tl.maximum(tl.sqrt_rn(square), _EPS)
        else:  # |a - b|^2 = |a|^2 - 2 (a.b - |b|^2 / 2)
            distance = tl.maximum(square - 2 * best, 0.0)
            other = -2 * tl.load(offset + win, mask=found, other=0.0)
            value = -tl.sqrt_rn(distance)
            close = there_rows & found & (distance < _CLOSE * (square + other))
            if tl.max(close.to(tl.int32), axis=0) > 0:
                again = _similarity(queries, keys, rows, key, close, depth, UNIT, QUERIES, CHUNK)
                value = tl.where(close, again, value)
        value = tl.where(found, value, float("-inf"))
        place = t.to(tl.int64) * num_queries + rows
        tl.store(best_out + place, value, mask=there_rows)
        tl.store(win_out + place, tl.where(found, key.to(tl.int32), -1), mask=there_rows)


@triton.jit
def _product(score, probe, more, key_first, key_second, m, there, at, depth, CHUNK: tl.constexpr):
    """Add the products of some queries and keys over some dimensions; the smallest terms come first."""
    target = tl.trans(_rows_at(key_first, m.to(tl.int64), there, at, depth, CHUNK))
    rest = tl.trans(_rows_at(key_second, m.to(tl.int64), there, at, depth, CHUNK))
    score = tl.dot(probe, rest, score)
    score = tl.dot(more, target, score)
    return tl.dot(probe, target, score)


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
    exact = _similarity(queries, keys, rows, key, found, depth, UNIT, QUERIES, CHUNK)
    exact = tl.where(found, exact, float("-inf"))
    place = t.to(tl.int64) * num_queries + rows
    tl.store(best_out + place, exact, mask=inside)
    tl.store(win_out + place, tl.where(found, key.to(tl.int32), -1), mask=inside)


@triton.jit
def _rows_at(matrix, rows, there, first, depth, CHUNK: tl.constexpr):
    """Some dimensions of some rows, 0 where there are none."""
    d = first + tl.arange(0, CHUNK)
    wanted = there[:, None] & (d[None, :] < depth)
    return tl.load(matrix + rows[:, None] * depth + d[None, :], mask=wanted, other=0.0)


@triton.jit
def _similarity(
    queries, keys, rows, key, there, depth, UNIT: tl.constexpr, QUERIES: tl.constexpr, CHUNK: tl.constexpr
):  # fmt: skip
    """Of each query with its winner, CHUNK dimensions at a time."""
    product = tl.zeros([QUERIES], tl.float32)
    a_square = tl.zeros([QUERIES], tl.float32)
    b_square = tl.zeros([QUERIES], tl.float32)
    for c in range(0, depth, CHUNK):
        a = _rows_at(queries, rows, there, c, depth, CHUNK)
        b = _rows_at(keys, key, there, c, depth, CHUNK)
        if UNIT:
            product += tl.sum(a * b, axis=1)
            a_square += tl.sum(a * a, axis=1)
            b_square += tl.sum(b * b, axis=1)
        else:
            product += tl.sum((a - b) * (a - b), axis=1)
    if UNIT:
        return product / (tl.maximum(tl.sqrt_rn(a_square), _EPS) * tl.maximum(tl.sqrt_rn(b_square), _EPS))
    return -tl.sqrt_rn(product)


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
        place = t.to(tl.int64) * num_queries + q
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
