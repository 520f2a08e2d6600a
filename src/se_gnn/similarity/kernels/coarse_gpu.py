"""Bounds of the structure similarity of all pairs on a CUDA device: one product of 16 bits in place of three.

The best score of each edge in each local graph, with what rounding to 16 bits may have cost, is an upper bound of its
similarity; it is kept in 16 bits, rounded up, times a power of two. No winner is kept. Shapes: T targets, L labeled
nodes, Q query edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.similarity.kernels.halves_gpu import CHUNK, EdgeHalves, rows_at, tile_shape, width_and_chunk
from se_gnn.similarity.kernels.one_way import Rows
from se_gnn.similarity.measure import EPS, Measure

QUERIES, MEMBERS = 256, 64  # of a tile, where all dimensions fit
GROUP = 16  # local graphs that one program takes its queries through: their values fill whole sectors
COLUMNS = 128  # labeled nodes whose sums one program adds up
AT_ONCE = 8  # rows that it adds at a time
_EPS = tl.constexpr(EPS)
_UP = tl.constexpr(2.0**-11 + 2.0**-13)  # rounding to 16 bits takes less than this adds
_LOWEST = tl.constexpr(-65504.0)


@dataclass(frozen=True, slots=True, eq=False)
class CoarseBounds:
    """Upper bounds of structure similarity, [T, L], of 16 bits, times ``by``."""

    values: Tensor
    by: Tensor

    def of(self, targets: Tensor) -> Tensor:
        """Those of some targets, as they are."""
        return self.values[targets].float() / self.by


def coarse_bounds(halves: EdgeHalves, rows: Rows, num_labeled: int, measure: Measure, *, width: int) -> CoarseBounds:
    """What s^e of Eq. (6) does not exceed; ``width`` labeled nodes are matched at a time."""
    depth, num_targets, num_queries = halves.first.shape[1], len(rows.ptr) - 1, len(halves.first)
    spare, by = _spare(halves), _power(halves, measure)
    values = torch.empty(num_targets, num_labeled, dtype=torch.float16, device=spare.device)
    best = torch.empty(num_queries, width, dtype=torch.float16, device=spare.device)
    wide, chunk = width_and_chunk(depth, spare.device)
    tile, step = tile_shape(wide, chunk, len(halves.members) / max(1, num_labeled))
    if wide <= chunk and wide <= CHUNK and step >= MEMBERS:
        tile, step = QUERIES, MEMBERS
    for low in range(0, num_labeled, width):
        count = min(width, num_labeled - low)
        _best_scores[(triton.cdiv(num_queries, tile), triton.cdiv(count, GROUP))](
            halves.first, spare, halves.squares, halves.key_first, halves.offset, halves.unit, by,
            halves.ptr, best, halves.before, low, count, width, num_queries, depth,
            UNIT=measure.unit, QUERIES=tile, GROUP=GROUP, MEMBERS=step, CHUNK=chunk, WIDE=wide > chunk,
            num_warps=4, num_stages=3,
        )  # fmt: skip
        _means[(num_targets, triton.cdiv(count, COLUMNS))](
            best, rows.ptr, rows.columns, values, low, count, width, num_labeled,
            COLUMNS=COLUMNS, AT_ONCE=AT_ONCE, num_warps=1,
        )  # fmt: skip
    return CoarseBounds(values, by)


def _spare(halves: EdgeHalves) -> Tensor:
    r"""What a score may lack, [Q]: :math:`a \cdot b - a_1 \cdot b_1 \le |a_2||b| + |a_1||b_2|`, for the longest b."""
    length, lost = (half.float().norm(dim=1) for half in (halves.first, halves.more))
    key_length, key_lost = (half.float().norm(dim=1).amax() for half in (halves.key_first, halves.key_more))
    rounding = (halves.first.shape[1] + 64) * 2.0**-22
    scores = 1.0001 * (lost * (key_length + key_lost) + length * key_lost) + rounding * length * key_length
    return scores * halves.unit + rounding * (halves.squares + 2 * halves.offset.abs().amax())


def _power(halves: EdgeHalves, measure: Measure) -> Tensor:
    """The power of two that brings the largest similarity there can be below 2^15."""
    if measure.unit:
        return torch.full((), 2.0**13, device=halves.squares.device)
    largest = halves.squares.amax().sqrt() + (2 * halves.offset.abs().amax()).sqrt()
    return torch.ldexp(torch.ones_like(largest), 14 - torch.frexp(largest).exponent.clamp_min(-45))


@triton.jit
def _best_scores(
    first_half, spare, squares, key_first, offset, unit, scale, ptr, best_out,
    before, low, count, width, num_queries, depth,
    UNIT: tl.constexpr, QUERIES: tl.constexpr, GROUP: tl.constexpr, MEMBERS: tl.constexpr, CHUNK: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * QUERIES + tl.arange(0, QUERIES)
    there_rows = rows < num_queries
    probe = rows  # not read
    if not WIDE:
        probe = rows_at(first_half, rows, there_rows, 0, depth, CHUNK)
    square = tl.load(squares + rows, mask=there_rows, other=1.0)
    more = tl.load(spare + rows, mask=there_rows, other=0.0)
    by = tl.load(unit)
    times = tl.load(scale)
    group = tl.program_id(1) * GROUP
    for i in range(group, tl.minimum(group + GROUP, count)):
        start = (tl.load(ptr + low + i) - before).to(tl.int32)
        end = (tl.load(ptr + low + i + 1) - before).to(tl.int32)
        best = tl.full([QUERIES], float("-inf"), tl.float32)
        for at in range(start, end, MEMBERS):
            m = at + tl.arange(0, MEMBERS)
            there = m < end
            score = tl.zeros([QUERIES, MEMBERS], tl.float32)
            if WIDE:
                for c in range(0, depth, CHUNK):
                    part = rows_at(first_half, rows, there_rows, c, depth, CHUNK)
                    target = tl.trans(rows_at(key_first, m.to(tl.int64), there, c, depth, CHUNK))
                    score = tl.dot(part, target, score)
            else:
                target = tl.trans(rows_at(key_first, m.to(tl.int64), there, 0, depth, CHUNK))
                score = tl.dot(probe, target, score)
            score = score * by + tl.load(offset + m, mask=there, other=float("-inf"))[None, :]
            best = tl.maximum(best, tl.max(score, axis=1))
        if UNIT:
            value = (best + more) / tl.maximum(tl.sqrt_rn(square), _EPS)
            value = tl.minimum(value, 1.0)
        else:
            value = -tl.sqrt_rn(tl.maximum(square - 2 * (best + more), 0.0))
        tl.store(best_out + rows * width + i, _rounded_up(value * times), mask=there_rows)


@triton.jit
def _means(best, ptr, columns, bounds, low, count, width, num_labeled, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = c < count
    begin = tl.load(ptr + t)
    finish = tl.load(ptr + t + 1)
    total = tl.zeros([COLUMNS], tl.float32)
    for at in range(begin, finish, AT_ONCE):
        e = at + tl.arange(0, AT_ONCE)
        rows = tl.load(columns + e, mask=e < finish, other=0).to(tl.int64)
        wanted = (e < finish)[:, None] & inside[None, :]
        values = tl.load(best + rows[:, None] * width + c[None, :], mask=wanted, other=0.0)
        total += tl.sum(values.to(tl.float32), axis=0)
    mean = total / tl.maximum(finish - begin, 1).to(tl.float32)
    tl.store(bounds + t * num_labeled + low + c, _rounded_up(mean), mask=inside)


@triton.jit
def _rounded_up(value):
    """A number of 16 bits that is not below it."""
    return tl.maximum(value + tl.abs(value) * _UP + 2.0**-23, _LOWEST).to(tl.float16)
