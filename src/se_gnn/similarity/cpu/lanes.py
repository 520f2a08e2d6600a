"""The inner loops of edge matching, over `LANES` query edges at a time, and of bounds, written as LLVM vectors.

Plain loops are not vectorized well here: LLVM cannot know that the arrays do not overlap, and the running maxima would
go through memory. As vectors they stay in registers, on any processor that LLVM knows.
"""

from __future__ import annotations

import itertools
from typing import Any

from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from se_gnn.deterministic.llvm import FLOATS, I64, INTS, WIDTH, Loop, Matrix, broadcast, constant, fused

LANES = 32  # queries side by side
COLUMNS = 64  # columns of a product side by side
_VECTORS = LANES // WIDTH
ROWS = 6  # rows of one register tile of the product
_TILE = 4 if binding.get_host_cpu_features().get("avx512f") else 1  # its vectors across: what the registers hold
SHORT, LONG = 8, 48  # coordinates of vectors that bounds are made of
KEYS = 8  # of them are looked at together: none waits for another

# How functions of bounds are compiled. Without counting references to arrays: they keep none, and two threads that
# count the same would wait for each other. Fast: sums in any order, as bounds decide who is compared, with room for
# rounding, and never a result.
PLAIN: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
FAST: dict[str, Any] = {**PLAIN, "fastmath": {"reassoc", "contract"}}


@intrinsic
def product_tile(typingctx: Any, left: Any, row: Any, right: Any, block: Any, out: Any) -> Any:
    """Columns of ``left @ right``: rows ``row`` to ``row + ROWS``, ``block`` of its columns; sums in the order of D.

    Shapes: left [U, D]; right, packed, [blocks, D, COLUMNS]; out [U, blocks * COLUMNS].
    """
    signature = types.void(left, types.int64, right, types.int64, out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, target = (Matrix(context, builder, sig.args[i], args[i]) for i in (0, 4))
        packed = Matrix(context, builder, sig.args[2], args[2])
        depth = matrix.stride
        rows = [builder.add(args[1], constant(r)) for r in range(ROWS)]
        above = builder.mul(args[3], depth)
        column = builder.mul(args[3], constant(COLUMNS))
        fma = fused(builder)
        for first in range(0, COLUMNS // WIDTH, _TILE):
            zeros = [ir.Constant(FLOATS, [0.0] * WIDTH)] * (ROWS * _TILE)
            with Loop.over(builder, constant(0), depth, zeros) as loop:
                across = [packed.load(builder.add(above, loop.index), first + v) for v in range(_TILE)]
                for r in range(ROWS):
                    value = broadcast(builder, matrix.entry(rows[r], loop.index), FLOATS)
                    for v in range(_TILE):
                        loop.next.append(builder.call(fma, [value, across[v], loop.carried[r * _TILE + v]]))
            for (r, v), total in zip(itertools.product(range(ROWS), range(_TILE)), loop.carried, strict=True):
                place = target.place(rows[r], builder.add(column, constant((first + v) * WIDTH)), FLOATS)
                builder.store(total, place, align=4)
        return context.get_dummy_value()

    return signature, codegen


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


@intrinsic
def edges_to_lanes(typingctx: Any, gram: Any, ends: Any, first: Any, lane: Any, product: Any) -> Any:
    """``product[p, lane + i] = gram[ends[first + i, 0], p] + gram[ends[first + i, 1], p]`` for WIDTH queries i."""
    signature = types.void(gram, ends, types.int64, types.int64, product)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, pairs, target = (Matrix(context, builder, sig.args[i], args[i]) for i in (0, 1, 4))
        queries = [builder.add(args[2], constant(i)) for i in range(WIDTH)]
        ends = [[builder.sext(pairs.entry(q, constant(side)), I64) for side in (0, 1)] for q in queries]
        with Loop.over(builder, constant(0), matrix.stride, [], step=WIDTH) as loop:
            sums = [
                builder.fadd(*(builder.load(matrix.place(end, loop.index, FLOATS), align=4) for end in pair))
                for pair in ends
            ]
            for i, column in enumerate(_transposed(builder, sums)):
                place = target.place(builder.add(loop.index, constant(i)), args[3], FLOATS)
                builder.store(column, place, align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def argmax_lanes(
    typingctx: Any,
    product: Any,
    ends: Any,
    scale: Any,
    offset: Any,
    members: Any,
    start: Any,
    end: Any,
    best: Any,
    keys: Any,
    row: Any,
) -> Any:
    """``best[row]`` and ``keys[row]``: the highest score among the keys ``members[start:end]``, of equals the first.

    Key k = (i, j) scores ``(product[i] + product[j]) * scale[k] + offset[k]``; without keys -inf and -1.
    """
    signature = types.void(product, ends, scale, offset, members, types.int64, types.int64, best, keys, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows, pairs, factors, shifts, listed = (Matrix(context, builder, sig.args[i], args[i]) for i in range(5))
        top, names = (Matrix(context, builder, sig.args[i], args[i]) for i in (7, 8))
        fma = fused(builder)
        lowest = ir.Constant(FLOATS, [float("-inf")] * WIDTH)
        nothing = ir.Constant(INTS, [-1] * WIDTH)
        with Loop.over(builder, args[5], args[6], [lowest] * _VECTORS + [nothing] * _VECTORS) as loop:
            member = listed.entry(loop.index)
            key = builder.sext(member, I64)
            i, j = (builder.sext(pairs.entry(key, constant(side)), I64) for side in (0, 1))
            factor = broadcast(builder, factors.entry(key), FLOATS)
            shift = broadcast(builder, shifts.entry(key), FLOATS)
            name = broadcast(builder, member, INTS)
            values, winners = loop.carried[:_VECTORS], loop.carried[_VECTORS:]
            for v in range(_VECTORS):
                both = builder.fadd(rows.load(i, v), rows.load(j, v))
                score = builder.call(fma, [both, factor, shift])
                better = builder.fcmp_ordered(">", score, values[v])
                values[v] = builder.select(better, score, values[v])
                winners[v] = builder.select(better, name, winners[v])
            loop.next = values + winners
        for v in range(_VECTORS):
            top.store(loop.carried[v], args[9], v)
            names.store(loop.carried[_VECTORS + v], args[9], v)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def argmax_rows(
    typingctx: Any, tops: Any, names: Any, listed: Any, start: Any, end: Any, best: Any, keys: Any, row: Any
) -> Any:
    """Raise ``best[row]`` and ``keys[row]`` by the rows ``listed[start:end]`` of ``tops`` and ``names``.

    Of equals the lowest key wins.
    """
    signature = types.void(tops, names, listed, types.int64, types.int64, best, keys, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scores, labels, places = (Matrix(context, builder, sig.args[i], args[i]) for i in range(3))
        top, held = (Matrix(context, builder, sig.args[i], args[i]) for i in (5, 6))
        before = [top.load(args[7], v) for v in range(_VECTORS)]
        before += [held.load(args[7], v, INTS) for v in range(_VECTORS)]
        with Loop.over(builder, args[3], args[4], before) as loop:
            place = builder.sext(places.entry(loop.index), I64)
            values, winners = loop.carried[:_VECTORS], loop.carried[_VECTORS:]
            for v in range(_VECTORS):
                score, key = scores.load(place, v), labels.load(place, v, INTS)
                equal = builder.fcmp_ordered("==", score, values[v])
                earlier = builder.and_(equal, builder.icmp_signed("<", key, winners[v]))
                better = builder.or_(builder.fcmp_ordered(">", score, values[v]), earlier)
                values[v] = builder.select(better, score, values[v])
                winners[v] = builder.select(better, key, winners[v])
            loop.next = values + winners
        for v in range(_VECTORS):
            top.store(loop.carried[v], args[7], v)
            held.store(loop.carried[_VECTORS + v], args[7], v)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def transpose_tile(typingctx: Any, source: Any, row: Any, column: Any, out: Any, to_row: Any, to_column: Any) -> Any:
    """``out[to_row + i, to_column + j] = source[row + j, column + i]`` for WIDTH x WIDTH entries."""
    signature = types.void(source, types.int64, types.int64, out, types.int64, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, target = (Matrix(context, builder, sig.args[i], args[i]) for i in (0, 3))
        kind = FLOATS if sig.args[0].dtype == types.float32 else INTS
        rows = [
            builder.load(matrix.place(builder.add(args[1], constant(j)), args[2], kind), align=4) for j in range(WIDTH)
        ]
        for i, values in enumerate(_transposed(builder, rows)):
            builder.store(values, target.place(builder.add(args[4], constant(i)), args[5], kind), align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def gather_tile(
    typingctx: Any, source: Any, listed: Any, first: Any, column: Any, out: Any, to_row: Any, to_column: Any
) -> Any:
    """``out[to_row + i, to_column + j] = source[listed[first + j], column + i]`` for WIDTH x WIDTH entries."""
    signature = types.void(source, listed, types.int64, types.int64, out, types.int64, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, names, target = (Matrix(context, builder, sig.args[i], args[i]) for i in (0, 1, 4))
        chosen = [names.entry(builder.add(args[2], constant(j))) for j in range(WIDTH)]
        rows = [builder.load(matrix.place(row, args[3], FLOATS), align=4) for row in chosen]
        for i, values in enumerate(_transposed(builder, rows)):
            builder.store(values, target.place(builder.add(args[5], constant(i)), args[6], FLOATS), align=4)
        return context.get_dummy_value()

    return signature, codegen


def _bounding(blocks: int) -> Any:
    @intrinsic
    def bound(
        typingctx: Any, lanes: Any, first: Any, keys: Any, offset: Any, members: Any, start: Any, end: Any, out: Any
    ) -> Any:
        signature = types.void(lanes, types.int64, keys, offset, members, types.int64, types.int64, out)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            queries, table, shifts, listed, bounds = (
                Matrix(context, builder, sig.args[i], args[i]) for i in (0, 2, 3, 4, 7)
            )
            fma = fused(builder)
            above = builder.mul(args[1], constant(SHORT))
            own = [queries.load(builder.add(above, constant(row)), 0) for row in range(blocks * SHORT)]
            lowest = ir.Constant(FLOATS, [float("-inf")] * WIDTH)
            with Loop.over(builder, args[5], args[6], [lowest] * blocks) as loop:
                key = builder.sext(listed.entry(loop.index), I64)
                sums = [broadcast(builder, shifts.entry(key), FLOATS)] * blocks
                for d in range(SHORT):
                    value = broadcast(builder, table.entry(key, constant(d)), FLOATS)
                    sums = [builder.call(fma, [own[b * SHORT + d], value, sums[b]]) for b in range(blocks)]
                loop.next = [_higher(builder, *pair) for pair in zip(sums, loop.carried, strict=True)]
            for b in range(blocks):
                bounds.store(loop.carried[b], builder.add(args[1], constant(b)), 0)
            return context.get_dummy_value()

        return signature, codegen

    return bound


# ``out[first]``: the highest ``query . keys[k] + offset[k]`` among the keys ``members[start:end]``, of one block of
# queries, or of two. Coordinate d of block b lies in row ``b * SHORT + d`` of ``lanes``; sums in any order.
bound_short, bound_two_short = _bounding(1), _bounding(2)


@intrinsic
def bound_long(
    typingctx: Any,
    lanes: Any,
    block: Any,
    keys: Any,
    offset: Any,
    members: Any,
    start: Any,
    end: Any,
    high: Any,
    out: Any,
) -> Any:
    """``out[0]`` and ``out[1]``: what the highest ``query . key + offset`` is at most, and at least; there is a key.

    Row k of ``high`` is what that of the k-th key is at most; there are up to `KEYS` - 1 rows more than keys.

    Coordinate d of a block of WIDTH queries lies in row ``block * LONG + d`` of ``lanes``; the last coordinate is the
    length of the rest, whose product counts for the one and against the other. Sums in any order.
    """
    signature = types.void(lanes, types.int64, keys, offset, members, types.int64, types.int64, high, out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        queries, table, shifts, listed, each, bounds = (
            Matrix(context, builder, sig.args[i], args[i]) for i in (0, 2, 3, 4, 7, 8)
        )
        fma = fused(builder)
        above, last = builder.mul(args[1], constant(LONG)), builder.sub(args[6], constant(1))
        lowest = ir.Constant(FLOATS, [float("-inf")] * WIDTH)
        with Loop.over(builder, args[5], args[6], [lowest, lowest], step=KEYS) as loop:
            names = []
            for i in range(KEYS):  # where keys end the last counts again: it changes no maximum
                place = builder.add(loop.index, constant(i))
                place = builder.select(builder.icmp_signed("<", place, last), place, last)
                names.append(builder.sext(listed.entry(place), I64))
            sums = [broadcast(builder, shifts.entry(key), FLOATS) for key in names]
            with Loop.over(builder, constant(0), constant(LONG - 1), sums) as inner:
                own = queries.load(builder.add(above, inner.index), 0)
                for key, total in zip(names, inner.carried, strict=True):
                    value = broadcast(builder, table.entry(key, inner.index), FLOATS)
                    inner.next.append(builder.call(fma, [own, value, total]))
            rest = queries.load(builder.add(above, constant(LONG - 1)), 0)
            most, least = loop.carried
            at = builder.sub(loop.index, args[5])
            for i, (key, total) in enumerate(zip(names, inner.carried, strict=True)):
                apart = builder.fmul(rest, broadcast(builder, table.entry(key, constant(LONG - 1)), FLOATS))
                sure = builder.fadd(total, apart)
                each.store(sure, builder.add(at, constant(i)), 0)
                most = _higher(builder, sure, most)
                least = _higher(builder, builder.fsub(total, apart), least)
            loop.next = [most, least]
        for b in range(2):
            bounds.store(loop.carried[b], constant(b), 0)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def which_reach(typingctx: Any, values: Any, row: Any, start: Any, least: Any) -> Any:
    """Which of WIDTH values from ``start`` on in a row are not below those of ``least``, as bits of a whole number."""
    signature = types.int64(values, types.int64, types.int64, least)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, limits = (Matrix(context, builder, sig.args[i], args[i]) for i in (0, 3))
        some = builder.load(matrix.place(args[1], args[2], FLOATS), align=4)
        reached = builder.fcmp_unordered(">=", some, limits.load(constant(0), 0))
        return builder.zext(builder.bitcast(reached, ir.IntType(WIDTH)), I64)

    return signature, codegen


def _higher(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)
