"""Products of edges on a CUDA device by numbers of 16 bits, and the one loop over key edges that all kernels share.

Each number is the sum of two of 16 bits, `a = a_1 + a_2`, and `a b = a_1 b_1 + a_1 b_2 + a_2 b_1` is right to 2^-21:
three products of 16 bits take half the time of the three of 19 that tensor cores make of float32. A distance that is
small beside the lengths of the two edges is computed again in float32, as the paper writes it: there the product
cancels. Bounds take the first product alone. Shapes: Q query edges, K key edges, M memberships of keys in local graphs,
D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.similarity.backend import Points
from se_gnn.similarity.cpu.matching import CLOSE
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import LocalEdges
from se_gnn.similarity.measure import EPS

TILE = 1 << 14  # numbers in a tile of queries: what shared memory holds with the pipeline
ROOMY = 230_000  # bytes of shared memory from which on a tile holds 128 dimensions, else 32
CHUNK = 64  # dimensions that are taken at a time where there are more
_EPS = tl.constexpr(EPS)
_CLOSE = tl.constexpr(float(CLOSE))


@dataclass(frozen=True, slots=True, eq=False)
class EdgePoints:
    """Queries [Q, D] and keys [K, D] as they are, and moved and scaled so that `probe . target + offset` ranks keys."""

    queries: Tensor
    keys: Tensor
    probes: Tensor
    targets: Tensor
    offset: Tensor

    @classmethod
    def of(cls, points: Points, queries: LocalEdges, keys: LocalEdges) -> EdgePoints:
        """The vectors of the edges on both sides of a way."""
        h, ends = points.vectors.contiguous(), [side.ends_on(points.device) for side in (queries, keys)]
        asking, answering = (edge_vectors(h, some) for some in ends)
        probes, targets = asking, answering
        if not points.measure.unit:
            moved = h - points.origin  # distances stay, rounding shrinks
            probes, targets = (edge_vectors(moved, some) for some in ends)
        scale, offset = points.measure.scoring(targets.square().sum(dim=1))
        return cls(asking, answering, probes, targets * scale[:, None], offset)


@dataclass(frozen=True, slots=True, eq=False)
class EdgeHalves:
    """The same in halves: queries, and keys one local graph after the other. ``unit``: what a product stands for."""

    points: EdgePoints
    first: Tensor  # [Q, D]
    more: Tensor
    squares: Tensor  # [Q]
    key_first: Tensor  # [M, D]
    key_more: Tensor
    offset: Tensor  # [M]
    unit: Tensor
    ptr: Tensor
    members: Tensor
    before: int  # what the entries of ptr are too large by

    @classmethod
    def of(cls, points: EdgePoints, keys: LocalEdges) -> EdgeHalves:
        """The halves of all local graphs, or of a block of them."""
        low, high = int(keys.ptr[0]), int(keys.ptr[-1])
        index = keys.rows(points.keys.device)
        members = index.columns[low:high]
        (first, more), by = in_halves(points.probes)
        (key_first, key_more), key_by = in_halves(points.targets)  # of all keys: the same bits for any part of them
        return cls(
            points,
            first,
            more,
            points.probes.square().sum(dim=1),
            key_first[members],
            key_more[members],
            points.offset[members],
            1 / (by * key_by),
            index.ptr,
            members,
            low,
        )


def in_halves(vectors: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Two vectors of 16 bits that add up to each, [n, D] times a power of two, and that power.

    The largest number comes to lie just below 2^15, where the second half of one 2^14 times smaller is still normal.
    """
    by = power_below(vectors.abs().amax() if len(vectors) else vectors.new_zeros(()), 15)
    scaled = vectors * by
    first = scaled.half()
    return (first, (scaled - first).half()), by


def power_below(largest: Tensor, exponent: int) -> Tensor:
    """The power of two that brings a number just below 2^exponent; no larger than what has a finite square."""
    return torch.ldexp(torch.ones_like(largest), exponent - torch.frexp(largest).exponent.clamp_min(-45))


def width_and_chunk(depth: int, device: torch.device) -> tuple[int, int]:
    """Tile width in dimensions, and how many of them are read at a time."""
    width: int = max(16, triton.next_power_of_2(depth))
    return width, width if width <= _dimensions_held(device) else CHUNK


def tile_shape(width: int, chunk: int, typical: float) -> tuple[int, int]:
    """Queries and keys of a tile, by dimensions and edges of a typical local graph."""
    step = fitting(typical)
    if width > chunk:
        return 64, min(64, step)
    return min(128, TILE // chunk), min(step, TILE // (2 * chunk))


def fitting(typical: float) -> int:
    """How many edges a tile takes at a time where local graphs have so many."""
    return 128 if typical > 96 else 64 if typical > 48 else 32 if typical > 16 else 16


def _dimensions_held(device: torch.device) -> int:
    """How many dimensions of a tile of queries stay on the chip."""
    return 128 if torch.cuda.get_device_properties(device).shared_memory_per_block_optin >= ROOMY else 32


@triton.jit
def best_of_keys(
    probe, more, rows, there_rows, first_half, second_half, key_first, key_second, offset, by, start, end, depth,
    EXACT: tl.constexpr, QUERIES: tl.constexpr, MEMBERS: tl.constexpr, CHUNK: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The best score of some queries among the keys ``start`` to ``end``, and which has it; -1: there is none.

    EXACT: by both halves, with the winner; else by the first half alone, without. WIDE, if exact: not all dimensions
    stay on the chip, so that ``probe`` and ``more``, the halves of the queries, are read again for each tile of keys.
    """
    best = tl.full([QUERIES], float("-inf"), tl.float32)
    win = tl.full([QUERIES], -1, tl.int32)
    for low in range(start, end, MEMBERS):
        m = low + tl.arange(0, MEMBERS)
        there = m < end
        score = tl.zeros([QUERIES, MEMBERS], tl.float32)
        if WIDE:
            for c in range(0, depth, CHUNK):
                part = rows_at(first_half, rows, there_rows, c, depth, CHUNK)
                rest = rows_at(second_half, rows, there_rows, c, depth, CHUNK)
                score = _product(score, part, rest, key_first, key_second, m, there, c, depth, EXACT, CHUNK)
        else:
            score = _product(score, probe, more, key_first, key_second, m, there, 0, depth, EXACT, CHUNK)
        score = score * by + tl.load(offset + m, mask=there, other=float("-inf"))[None, :]
        top = tl.max(score, axis=1)
        if EXACT:
            at = tl.min(tl.where(score == top[:, None], tl.arange(0, MEMBERS)[None, :], MEMBERS), axis=1)
            win = tl.where(top > best, low + at, win)
        best = tl.maximum(best, top)
    return best, win


@triton.jit
def matched_similarity(
    best, win, key, square, rows, there_rows, queries, keys, offset, depth,
    UNIT: tl.constexpr, QUERIES: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """What the best scores stand for; -inf where there is no key."""
    found = win >= 0
    if UNIT:
        value = best / tl.maximum(tl.sqrt_rn(square), _EPS)
    else:  # |a - b|^2 = |a|^2 - 2 (a.b - |b|^2 / 2)
        distance = tl.maximum(square - 2 * best, 0.0)
        other = -2 * tl.load(offset + win, mask=found, other=0.0)
        value = -tl.sqrt_rn(distance)
        close = there_rows & found & (distance < _CLOSE * (square + other))
        if tl.max(close.to(tl.int32), axis=0) > 0:
            again = exact_similarity(queries, keys, rows, key, close, depth, UNIT, QUERIES, CHUNK)
            value = tl.where(close, again, value)
    return tl.where(found, value, float("-inf"))


@triton.jit
def _product(
    score, probe, more, key_first, key_second, m, there, at, depth, EXACT: tl.constexpr, CHUNK: tl.constexpr
):  # fmt: skip
    """Add the products of some queries and keys over some dimensions; the smallest terms come first."""
    target = tl.trans(rows_at(key_first, m.to(tl.int64), there, at, depth, CHUNK))
    if EXACT:
        rest = tl.trans(rows_at(key_second, m.to(tl.int64), there, at, depth, CHUNK))
        score = tl.dot(probe, rest, score)
        score = tl.dot(more, target, score)
    return tl.dot(probe, target, score)


@triton.jit
def rows_at(matrix, rows, there, first, depth, CHUNK: tl.constexpr):
    """Some dimensions of some rows, 0 where there are none."""
    d = first + tl.arange(0, CHUNK)
    wanted = there[:, None] & (d[None, :] < depth)
    return tl.load(matrix + rows[:, None] * depth + d[None, :], mask=wanted, other=0.0)


@triton.jit
def exact_similarity(
    queries, keys, rows, key, there, depth, UNIT: tl.constexpr, QUERIES: tl.constexpr, CHUNK: tl.constexpr
):  # fmt: skip
    """Similarity of each query with its winner, in float32, CHUNK dimensions at a time."""
    product = tl.zeros([QUERIES], tl.float32)
    a_square = tl.zeros([QUERIES], tl.float32)
    b_square = tl.zeros([QUERIES], tl.float32)
    for c in range(0, depth, CHUNK):
        a = rows_at(queries, rows, there, c, depth, CHUNK)
        b = rows_at(keys, key, there, c, depth, CHUNK)
        if UNIT:
            product += tl.sum(a * b, axis=1)
            a_square += tl.sum(a * a, axis=1)
            b_square += tl.sum(b * b, axis=1)
        else:
            product += tl.sum((a - b) * (a - b), axis=1)
    if UNIT:
        return product / (tl.maximum(tl.sqrt_rn(a_square), _EPS) * tl.maximum(tl.sqrt_rn(b_square), _EPS))
    return -tl.sqrt_rn(product)
