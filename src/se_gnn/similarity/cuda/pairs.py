"""Structure similarity of listed pairs on a CUDA device, and bounds of it from short vectors of their edges.

Shapes: P pairs, Q query edges, M memberships of keys in local graphs, D dimensions, S coordinates of a short vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.similarity.cuda.products import (
    EdgeHalves,
    best_of_keys,
    fitting,
    matched_similarity,
    power_below,
    rows_at,
    tile_shape,
    width_and_chunk,
)
from se_gnn.similarity.items import Rows
from se_gnn.similarity.measure import EPS, Measure

SHORT = 32  # S
BLOCK_BYTES = 1 << 30  # best matches held at a time
SMALL = 64  # edges of a query up to which a tile has no more rows: the fewest that tensor cores take at full speed
TOGETHER = 64  # pairs that one program adds up
IN_A_ROW = 16  # pairs that one program bounds


def pair_means(
    halves: EdgeHalves,
    rows: Rows,
    owners: Tensor,
    positions: Tensor,
    measure: Measure,
    typical: tuple[float, float],
    longest: int,
) -> Tensor:
    """s^e of queries ``owners`` and cases ``positions``, Eq. (6), [P]; nothing of use where one has no edges.

    ``typical``: how many edges queries and cases have; ``longest``: how many a query has at most. Every bit is that of
    a comparison of all pairs: an edge at a time is added, in the order of the edges.
    """
    depth = halves.first.shape[1]
    width, chunk = width_and_chunk(depth, owners.device)
    tile, step = tile_shape(width, chunk, typical[1])
    means, at_once = torch.empty(len(owners), device=owners.device), max(1, BLOCK_BYTES // (4 * max(1, longest)))
    for low in range(0, len(owners), at_once):
        asked = owners[low : low + at_once]
        count = len(asked)
        best = torch.empty(longest, count, device=owners.device)
        _pair_matches[(count,)](
            halves.first, halves.more, halves.squares, halves.key_first, halves.key_more, halves.offset, halves.unit,
            halves.points.queries, halves.points.keys, halves.ptr, halves.members, rows.ptr, rows.columns,
            asked, positions[low : low + at_once], best, halves.before, count, depth,
            UNIT=measure.unit, QUERIES=tile if typical[0] > SMALL else min(tile, SMALL), MEMBERS=step,
            CHUNK=chunk, WIDE=width > chunk, num_warps=4, num_stages=2,
        )  # fmt: skip
        _added_in_order[(triton.cdiv(count, TOGETHER),)](
            best, rows.ptr, asked, means[low:], count, TOGETHER=TOGETHER, num_warps=2
        )
    return means


@triton.jit
def _pair_matches(
    first_half, second_half, squares, key_first, key_second, offset, unit, queries, keys, ptr, members,
    rows_ptr, columns, owners, positions, best_out, before, count, depth,
    UNIT: tl.constexpr, QUERIES: tl.constexpr, MEMBERS: tl.constexpr, CHUNK: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0).to(tl.int64)
    t = tl.load(owners + p)
    label = tl.load(positions + p)
    by = tl.load(unit)
    begin = tl.load(rows_ptr + t)
    finish = tl.load(rows_ptr + t + 1)
    start = (tl.load(ptr + label) - before).to(tl.int32)
    end = (tl.load(ptr + label + 1) - before).to(tl.int32)
    for low in range(begin, finish, QUERIES):
        e = low + tl.arange(0, QUERIES)
        there = e < finish
        rows = tl.load(columns + e, mask=there, other=0).to(tl.int64)
        probe = rows  # not read
        more = rows
        if not WIDE:
            probe = rows_at(first_half, rows, there, 0, depth, CHUNK)
            more = rows_at(second_half, rows, there, 0, depth, CHUNK)
        square = tl.load(squares + rows, mask=there, other=1.0)
        best, win = best_of_keys(
            probe, more, rows, there, first_half, second_half, key_first, key_second, offset, by, start, end,
            depth, True, QUERIES, MEMBERS, CHUNK, WIDE,
        )  # fmt: skip
        key = tl.load(members + win, mask=win >= 0, other=0).to(tl.int64)
        value = matched_similarity(
            best, win, key, square, rows, there, queries, keys, offset, depth, UNIT, QUERIES, CHUNK
        )
        tl.store(best_out + (e - begin).to(tl.int64) * count + p, value, mask=there)


@triton.jit
def _added_in_order(best, rows_ptr, owners, means, count, TOGETHER: tl.constexpr):
    p = tl.program_id(0).to(tl.int64) * TOGETHER + tl.arange(0, TOGETHER)
    there = p < count
    t = tl.load(owners + p, mask=there, other=0)
    sizes = tl.load(rows_ptr + t + 1, mask=there, other=0) - tl.load(rows_ptr + t, mask=there, other=0)
    total = tl.zeros([TOGETHER], tl.float32)
    for e in range(tl.max(sizes, axis=0)):
        total += tl.load(best + tl.cast(e, tl.int64) * count + p, mask=there & (e < sizes), other=0.0)
    tl.store(means + p, tl.div_rn(total, tl.maximum(sizes, 1).to(tl.float32)), mask=there)


@dataclass(frozen=True, slots=True, eq=False)
class ShortEdges:
    r"""Edges made short, so that products of them bound those of the long ones from above, in numbers of 16 bits.

    A vector becomes its coordinates along S - 1 directions and the length of all the rest: by Cauchy-Schwarz
    :math:`a \cdot b \le a_1 \cdot b_1 + |a_2||b_2|`. ``spare``: what a score of the query may lack, all rounding
    included.
    """

    short: Tensor  # [Q, S], times a power of two
    spare: Tensor  # [Q]
    squares: Tensor  # [Q]
    key_short: Tensor  # [M, S], times a power of two
    offset: Tensor  # [M]
    unit: Tensor

    @classmethod
    def of(cls, halves: EdgeHalves, measure: Measure) -> ShortEdges:
        """Along the directions in which keys spread most."""
        points, members = halves.points, halves.members
        probes, targets = points.probes, points.targets
        if measure.unit:
            probes = torch.nn.functional.normalize(probes, dim=1, eps=EPS)
        sample = targets[:: len(targets) // 65536 + 1].double()
        axes = torch.linalg.eigh(sample.T @ sample).eigenvectors.flip(1)[:, : SHORT - 1].float().contiguous()
        short, lost, length = _shortened(probes, axes)
        key_short, key_lost, key_length = _shortened(targets, axes)
        by, key_by = power_below(short.abs().amax(), 15), power_below(key_short.abs().amax(), 15)
        half, key_half = (short * by).half(), (key_short * key_by).half()
        lost = lost + (half.float() / by - short).norm(dim=1)
        key_most = (key_lost + (key_half.float() / key_by - key_short).norm(dim=1)).amax()
        longest, depth = key_length.amax(), probes.shape[1]
        squares = probes.square().sum(dim=1)
        spare = lost * longest + length * key_most + _rounding(depth) * (length + longest).square()
        return cls(half, spare, squares, key_half[members], points.offset[members], 1 / (by * key_by))


def _shortened(vectors: Tensor, axes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Short vectors, [n, S], what their coordinates may lack by rounding and their lengths, [n] each."""
    depth, count = axes.shape
    seen = vectors @ axes
    length = vectors.norm(dim=1)
    short = vectors.new_zeros(len(vectors), SHORT)
    short[:, :count] = seen
    rest = (length.square() - seen.square().sum(dim=1)).clamp_min(0) + _rounding(depth) * length.square()
    short[:, -1] = rest.sqrt() if depth > count else 0.0
    return short, _rounding(depth) * length, length * (1 + _rounding(depth))


def _rounding(depth: int) -> float:
    """What a product of float32 vectors may be wrong by, relative to their lengths, generously."""
    return (depth + 64) * 2.0**-22


def pair_bounds(
    edges: ShortEdges,
    halves: EdgeHalves,
    rows: Rows,
    owners: Tensor,
    positions: Tensor,
    measure: Measure,
    typical: tuple[float, float],
) -> Tensor:
    """What :func:`pair_means` does not exceed, [P]."""
    bounds = torch.empty(len(owners), device=owners.device)
    if len(owners):
        _pair_bounds[(triton.cdiv(len(owners), IN_A_ROW),)](
            edges.short, edges.spare, edges.squares, edges.key_short, edges.offset, edges.unit, halves.ptr,
            rows.ptr, rows.columns, owners, positions, bounds, halves.before, len(owners),
            UNIT=measure.unit, QUERIES=min(64, fitting(typical[0])), MEMBERS=min(64, fitting(typical[1])),
            SHORT=SHORT, IN_A_ROW=IN_A_ROW, num_warps=2,
        )  # fmt: skip
    return bounds


@triton.jit
def _pair_bounds(
    short, spare, squares, key_short, offset, unit, ptr, rows_ptr, columns, owners, positions, bounds, before, count,
    UNIT: tl.constexpr, QUERIES: tl.constexpr, MEMBERS: tl.constexpr, SHORT: tl.constexpr, IN_A_ROW: tl.constexpr,
):  # fmt: skip
    by = tl.load(unit)
    first = tl.program_id(0).to(tl.int64) * IN_A_ROW
    for p in range(first, tl.minimum(first + IN_A_ROW, count)):
        t = tl.load(owners + p)
        label = tl.load(positions + p)
        begin = tl.load(rows_ptr + t)
        finish = tl.load(rows_ptr + t + 1)
        start = (tl.load(ptr + label) - before).to(tl.int32)
        end = (tl.load(ptr + label + 1) - before).to(tl.int32)
        total = tl.zeros([QUERIES], tl.float32)
        for low in range(begin, finish, QUERIES):
            e = low + tl.arange(0, QUERIES)
            there = e < finish
            rows = tl.load(columns + e, mask=there, other=0).to(tl.int64)
            probe = rows_at(short, rows, there, 0, SHORT, SHORT)
            best, _ = best_of_keys(
                probe, probe, rows, there, short, short, key_short, key_short, offset, by, start, end,
                SHORT, False, QUERIES, MEMBERS, SHORT, False,
            )  # fmt: skip
            best += tl.load(spare + rows, mask=there, other=0.0)
            if UNIT:
                value = best
            else:
                square = tl.load(squares + rows, mask=there, other=1.0)
                value = -tl.sqrt_rn(tl.maximum(square - 2 * best, 0.0))
            total += tl.where(there, value, 0.0)
        mean = tl.sum(total, axis=0) / tl.maximum(finish - begin, 1).to(tl.float32)
        tl.store(bounds + p, mean + 1e-6 * tl.abs(mean))
