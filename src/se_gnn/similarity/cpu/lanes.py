"""The inner loops of edge matching, over `LANES` query edges at a time, and of bounds, written as LLVM vectors.

Plain loops are not vectorized well here: LLVM cannot know that the arrays do not overlap, and the running maxima would
go through memory. As vectors they stay in registers, on any processor that LLVM knows.
"""

from __future__ import annotations

import itertools
from typing import Any

from llvmlite import binding, ir

from se_gnn.deterministic.vectors import (
    I64,
    INTS,
    LOWEST,
    WIDTH,
    ZEROS,
    Loop,
    Matrix,
    broadcast,
    constant,
    fused,
    generated,
)

LANES = 32  # queries side by side
COLUMNS = 64  # columns of a product side by side
_VECTORS = [v * WIDTH for v in range(LANES // WIDTH)]  # where the vectors of a row of lanes begin
ROWS = 6  # rows of one register tile of the product
_TILE = 4 if binding.get_host_cpu_features().get("avx512f") else 1  # its vectors across: what the registers hold
KEYS = 8  # of them are looked at together in bounds: none waits for another


@generated()
def product_tile(builder: Any, left: Matrix, row: Any, right: Matrix, block: Any, out: Matrix) -> None:
    """Columns of ``left @ right``: rows ``row`` to ``row + ROWS``, ``block`` of its columns; sums in the order of D.

    Shapes: left [U, D]; right, packed, [blocks, D, COLUMNS]; out [U, blocks * COLUMNS].
    """
    rows = [builder.add(row, constant(r)) for r in range(ROWS)]
    above, column = builder.mul(block, left.stride), builder.mul(block, constant(COLUMNS))
    for first in range(0, COLUMNS // WIDTH, _TILE):
        with Loop.over(builder, constant(0), left.stride, [ZEROS] * (ROWS * _TILE)) as loop:
            at = builder.add(above, loop.index)
            across = [right.load(at, (first + v) * WIDTH) for v in range(_TILE)]
            for r in range(ROWS):
                value = broadcast(builder, left.entry(rows[r], loop.index))
                for v in range(_TILE):
                    loop.next.append(fused(builder, value, across[v], loop.carried[r * _TILE + v]))
        for (r, v), total in zip(itertools.product(range(ROWS), range(_TILE)), loop.carried, strict=True):
            out.store(total, rows[r], builder.add(column, constant((first + v) * WIDTH)))


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """16 vectors of 16, rows and columns exchanged: four rounds that exchange blocks of 1, 2, 4 and 8 entries."""
    for half in (1, 2, 4, 8):
        low, high = [], []
        for i in range(WIDTH):
            own, other = i % (2 * half) // half, i - i % (2 * half) + i % half
            low.append(other if not own else WIDTH + other)
            high.append(other + half if not own else WIDTH + other + half)
        masks = [ir.Constant(INTS, mask) for mask in (low, high)]
        mixed = list(rows)
        for i in range(WIDTH):
            if i % (2 * half) < half:
                mixed[i] = builder.shuffle_vector(rows[i], rows[i + half], masks[0])
                mixed[i + half] = builder.shuffle_vector(rows[i], rows[i + half], masks[1])
        rows = mixed
    return rows


def _store_transposed(builder: Any, rows: list[Any], out: Matrix, row: Any, column: Any) -> None:
    for i, values in enumerate(_transposed(builder, rows)):
        out.store(values, builder.add(row, constant(i)), column)


@generated()
def edges_to_lanes(builder: Any, gram: Matrix, ends: Matrix, first: Any, lane: Any, product: Matrix) -> None:
    """``product[p, lane + i] = gram[ends[first + i, 0], p] + gram[ends[first + i, 1], p]`` for WIDTH queries i."""
    queries = [builder.add(first, constant(i)) for i in range(WIDTH)]
    both = [[ends.whole(query, constant(side)) for side in (0, 1)] for query in queries]
    with Loop.over(builder, constant(0), gram.stride, [], step=WIDTH) as loop:
        sums = [builder.fadd(*(gram.load(end, loop.index) for end in pair)) for pair in both]
        _store_transposed(builder, sums, product, loop.index, lane)


@generated()
def argmax_lanes(
    builder: Any, product: Matrix, ends: Matrix, scale: Matrix, offset: Matrix, members: Matrix, start: Any, end: Any,
    best: Matrix, keys: Matrix, row: Any,
) -> None:  # fmt: skip
    """``best[row]`` and ``keys[row]``: the highest score among the keys ``members[start:end]``; ties go to the first.

    Key k = (i, j) scores ``(product[i] + product[j]) * scale[k] + offset[k]``; without keys -inf and -1.
    """
    nothing = ir.Constant(INTS, [-1] * WIDTH)
    with Loop.over(builder, start, end, [LOWEST] * len(_VECTORS) + [nothing] * len(_VECTORS)) as loop:
        member = members.entry(loop.index)
        key = builder.sext(member, I64)
        i, j = (ends.whole(key, constant(side)) for side in (0, 1))
        factor, shift, name = (broadcast(builder, one) for one in (scale.entry(key), offset.entry(key), member))
        values, winners = loop.carried[: len(_VECTORS)], loop.carried[len(_VECTORS) :]
        for v, column in enumerate(_VECTORS):
            both = builder.fadd(product.load(i, column), product.load(j, column))
            score = fused(builder, both, factor, shift)
            better = builder.fcmp_ordered(">", score, values[v])
            values[v] = builder.select(better, score, values[v])
            winners[v] = builder.select(better, name, winners[v])
        loop.next = values + winners
    for v, column in enumerate(_VECTORS):
        best.store(loop.carried[v], row, column)
        keys.store(loop.carried[len(_VECTORS) + v], row, column)


@generated()
def transpose_tile(
    builder: Any, source: Matrix, row: Any, column: Any, out: Matrix, to_row: Any, to_column: Any
) -> None:
    """``out[to_row + i, to_column + j] = source[row + j, column + i]`` for WIDTH x WIDTH entries."""
    rows = [source.load(builder.add(row, constant(j)), column) for j in range(WIDTH)]
    _store_transposed(builder, rows, out, to_row, to_column)


@generated()
def pull_row(
    builder: Any, winners: Matrix, query: Any, weights: Matrix, asking: Matrix, row: Any, answering: Matrix, first: Any
) -> None:
    """Add the keys that a query has matched to its sum, and the query to theirs, each with the weight of the pair.

    Rows of ``asking`` and ``answering`` are vectors of WIDTH numbers, each followed by its sum; the keys begin at
    ``first``, and the one before it stands for none.
    """
    two, above = constant(2), builder.mul(query, winners.stride)
    own, own_sum = builder.mul(row, two), builder.add(builder.mul(row, two), constant(1))
    vector = asking.load(own, 0)
    with Loop.over(builder, constant(0), winners.stride, [asking.load(own_sum, 0)]) as loop:
        place = builder.add(above, loop.index)
        key = builder.mul(builder.add(first, winners.whole(place)), two)
        key_sum, weight = builder.add(key, constant(1)), broadcast(builder, weights.entry(loop.index))
        loop.next = [builder.fadd(loop.carried[0], builder.fmul(weight, answering.load(key, 0)))]
        answering.store(builder.fadd(answering.load(key_sum, 0), builder.fmul(weight, vector)), key_sum, 0)
    asking.store(loop.carried[0], own_sum, 0)


@generated()
def gather_tile(
    builder: Any, source: Matrix, listed: Matrix, first: Any, column: Any, out: Matrix, to_row: Any, to_column: Any
) -> None:
    """``out[to_row + i, to_column + j] = source[listed[first + j], column + i]`` for WIDTH x WIDTH entries."""
    rows = [source.load(listed.entry(builder.add(first, constant(j))), column) for j in range(WIDTH)]
    _store_transposed(builder, rows, out, to_row, to_column)


@generated()
def bound_lanes(
    builder: Any, lanes: Matrix, block: Any, keys: Matrix, offset: Matrix, members: Matrix, start: Any, end: Any,
    out: Matrix,
) -> None:  # fmt: skip
    """``out[block]``: the highest ``query . keys[k] + offset[k]`` among the keys ``members[start:end]``; there is one.

    Coordinate d of a block of WIDTH queries lies in row ``block * width + d`` of ``lanes``, where ``width`` is that of
    a key.
    """
    above, last = builder.mul(block, keys.stride), builder.sub(end, constant(1))
    with Loop.over(builder, start, end, [LOWEST], step=KEYS) as loop:
        names = []
        for i in range(KEYS):  # where keys end the last counts again: it changes no maximum
            place = builder.add(loop.index, constant(i))
            names.append(members.whole(builder.select(builder.icmp_signed("<", place, last), place, last)))
        sums = [broadcast(builder, offset.entry(key)) for key in names]
        with Loop.over(builder, constant(0), keys.stride, sums) as inner:
            own = lanes.load(builder.add(above, inner.index), 0)
            for key, total in zip(names, inner.carried, strict=True):
                inner.next.append(fused(builder, own, broadcast(builder, keys.entry(key, inner.index)), total))
        highest = loop.carried[0]
        for total in inner.carried:
            highest = builder.select(builder.fcmp_ordered(">", total, highest), total, highest)
        loop.next = [highest]
    out.store(loop.carried[0], block, 0)
