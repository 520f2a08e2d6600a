"""The inner loops of bounds over `WIDTH` queries at a time, written as LLVM vectors; see `lanes.py`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from se_gnn.deterministic.llvm import FLOATS, I64, WIDTH, Loop, Matrix, broadcast, constant, fused

SHORT, LONG = 8, 48  # coordinates of vectors that bounds are made of
KEYS = 8  # of them are looked at together: none waits for another

# How functions of bounds are compiled. Without counting references to arrays: they keep none, and two threads that
# count the same would wait for each other. Fast: sums in any order, as bounds decide who is compared, with room for
# rounding, and never a result.
PLAIN: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
FAST: dict[str, Any] = {**PLAIN, "fastmath": {"reassoc", "contract"}}


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
