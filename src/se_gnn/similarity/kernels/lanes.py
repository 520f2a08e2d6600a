"""The inner loops of edge matching over `LANES` queries at a time, written as LLVM vectors.

Plain loops are not vectorized well here: LLVM cannot know that the arrays do not overlap, and the running maxima would
go through memory. As vectors they stay in registers, on any processor that LLVM knows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 32  # queries side by side
COLUMNS = 64  # columns of a product side by side
WIDTH = 16  # floats in one vector
SHORT, LONG = 8, 48  # coordinates of vectors that bounds are made of
KEYS = 8  # of them are looked at together: none waits for another
_VECTORS = LANES // WIDTH
_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_INTS = ir.VectorType(_I32, WIDTH)
ROWS = 6  # rows of one register tile of the product
_TILE = 4 if binding.get_host_cpu_features().get("avx512f") else 1  # its vectors across: what the registers hold


class _Matrix:
    """A C-ordered array in the code that is being generated."""

    def __init__(self, context: Any, builder: Any, array_type: Any, value: Any) -> None:
        array = context.make_array(array_type)(context, builder, value)
        self.builder, self.data = builder, array.data
        self.stride = builder.extract_value(array.shape, array_type.ndim - 1)  # of a row, in entries

    def entry(self, row: Any, column: Any = None) -> Any:
        """Value at a place; of a vector where no column is given."""
        index = row if column is None else self.builder.add(self.builder.mul(row, self.stride), column)
        return self.builder.load(self.builder.gep(self.data, [index]))

    def place(self, row: Any, column: Any, kind: Any) -> Any:
        """Pointer to a vector in a row."""
        index = self.builder.add(self.builder.mul(row, self.stride), column)
        return self.builder.bitcast(self.builder.gep(self.data, [index]), kind.as_pointer())

    def load(self, row: Any, vector: int, kind: Any = _FLOATS) -> Any:
        """The n-th vector of a row."""
        return self.builder.load(self.place(row, _index(vector * WIDTH), kind), align=4)

    def store(self, value: Any, row: Any, vector: int) -> None:
        """Write the n-th vector of a row."""
        self.builder.store(value, self.place(row, _index(vector * WIDTH), value.type), align=4)


def _index(value: int) -> Any:
    return ir.Constant(_I64, value)


def _broadcast(builder: Any, scalar: Any, kind: Any) -> Any:
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(_I32, 0))
    return builder.shuffle_vector(single, single, ir.Constant(_INTS, [0] * WIDTH))


def _fma(builder: Any) -> Any:
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{WIDTH}f32")  # type: ignore[no-untyped-call]


class _Loop:
    """``for index in range(start, end, step)`` with values that are carried from turn to turn in registers."""

    def __init__(self, builder: Any, index: Any, carried: list[Any]) -> None:
        self.builder, self.index, self.carried = builder, index, carried
        self.next: list[Any] = []

    @classmethod
    @contextmanager
    def over(cls, builder: Any, start: Any, end: Any, initial: list[Any], step: int = 1) -> Iterator[_Loop]:
        entry = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(_I64)
        index.add_incoming(start, entry)
        carried = [builder.phi(value.type) for value in initial]
        for phi, value in zip(carried, initial, strict=True):
            phi.add_incoming(value, entry)
        builder.cbranch(builder.icmp_signed("<", index, end), body, done)
        builder.position_at_end(body)
        loop = cls(builder, index, carried)
        yield loop
        index.add_incoming(builder.add(index, _index(step)), builder.block)
        for phi, value in zip(carried, loop.next, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(done)


@intrinsic
def product_tile(typingctx: Any, left: Any, row: Any, right: Any, block: Any, out: Any) -> Any:
    """Columns of ``left @ right``: rows ``row`` to ``row + ROWS``, ``block`` of its columns; sums in the order of D.

    Shapes: left [U, D]; right, packed, [blocks, D, COLUMNS]; out [U, blocks * COLUMNS].
    """
    signature = types.void(left, types.int64, right, types.int64, out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, target = (_Matrix(context, builder, sig.args[i], args[i]) for i in (0, 4))
        packed = _Matrix(context, builder, sig.args[2], args[2])
        depth = matrix.stride
        rows = [builder.add(args[1], _index(r)) for r in range(ROWS)]
        above = builder.mul(args[3], depth)
        column = builder.mul(args[3], _index(COLUMNS))
        fma = _fma(builder)
        for first in range(0, COLUMNS // WIDTH, _TILE):
            zeros = [ir.Constant(_FLOATS, [0.0] * WIDTH)] * (ROWS * _TILE)
            with _Loop.over(builder, _index(0), depth, zeros) as loop:
                across = [packed.load(builder.add(above, loop.index), first + v) for v in range(_TILE)]
                for r in range(ROWS):
                    value = _broadcast(builder, matrix.entry(rows[r], loop.index), _FLOATS)
                    for v in range(_TILE):
                        loop.next.append(builder.call(fma, [value, across[v], loop.carried[r * _TILE + v]]))
            for (r, v), total in zip(itertools.product(range(ROWS), range(_TILE)), loop.carried, strict=True):
                place = target.place(rows[r], builder.add(column, _index((first + v) * WIDTH)), _FLOATS)
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
        masks = [ir.Constant(_INTS, mask) for mask in (low, high)]
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
        matrix, pairs, target = (_Matrix(context, builder, sig.args[i], args[i]) for i in (0, 1, 4))
        queries = [builder.add(args[2], _index(i)) for i in range(WIDTH)]
        ends = [[builder.sext(pairs.entry(q, _index(side)), _I64) for side in (0, 1)] for q in queries]
        with _Loop.over(builder, _index(0), matrix.stride, [], step=WIDTH) as loop:
            sums = [
                builder.fadd(*(builder.load(matrix.place(end, loop.index, _FLOATS), align=4) for end in pair))
                for pair in ends
            ]
            for i, column in enumerate(_transposed(builder, sums)):
                place = target.place(builder.add(loop.index, _index(i)), args[3], _FLOATS)
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
        rows, pairs, factors, shifts, listed = (_Matrix(context, builder, sig.args[i], args[i]) for i in range(5))
        top, names = (_Matrix(context, builder, sig.args[i], args[i]) for i in (7, 8))
        fma = _fma(builder)
        lowest = ir.Constant(_FLOATS, [float("-inf")] * WIDTH)
        nothing = ir.Constant(_INTS, [-1] * WIDTH)
        with _Loop.over(builder, args[5], args[6], [lowest] * _VECTORS + [nothing] * _VECTORS) as loop:
            member = listed.entry(loop.index)
            key = builder.sext(member, _I64)
            i, j = (builder.sext(pairs.entry(key, _index(side)), _I64) for side in (0, 1))
            factor = _broadcast(builder, factors.entry(key), _FLOATS)
            shift = _broadcast(builder, shifts.entry(key), _FLOATS)
            name = _broadcast(builder, member, _INTS)
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
        scores, labels, places = (_Matrix(context, builder, sig.args[i], args[i]) for i in range(3))
        top, held = (_Matrix(context, builder, sig.args[i], args[i]) for i in (5, 6))
        before = [top.load(args[7], v) for v in range(_VECTORS)]
        before += [held.load(args[7], v, _INTS) for v in range(_VECTORS)]
        with _Loop.over(builder, args[3], args[4], before) as loop:
            place = builder.sext(places.entry(loop.index), _I64)
            values, winners = loop.carried[:_VECTORS], loop.carried[_VECTORS:]
            for v in range(_VECTORS):
                score, key = scores.load(place, v), labels.load(place, v, _INTS)
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
        matrix, target = (_Matrix(context, builder, sig.args[i], args[i]) for i in (0, 3))
        kind = _FLOATS if sig.args[0].dtype == types.float32 else _INTS
        rows = [
            builder.load(matrix.place(builder.add(args[1], _index(j)), args[2], kind), align=4) for j in range(WIDTH)
        ]
        for i, values in enumerate(_transposed(builder, rows)):
            builder.store(values, target.place(builder.add(args[4], _index(i)), args[5], kind), align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def gather_tile(
    typingctx: Any, source: Any, listed: Any, first: Any, column: Any, out: Any, to_row: Any, to_column: Any
) -> Any:
    """``out[to_row + i, to_column + j] = source[listed[first + j], column + i]`` for WIDTH x WIDTH entries."""
    signature = types.void(source, listed, types.int64, types.int64, out, types.int64, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, names, target = (_Matrix(context, builder, sig.args[i], args[i]) for i in (0, 1, 4))
        chosen = [names.entry(builder.add(args[2], _index(j))) for j in range(WIDTH)]
        rows = [builder.load(matrix.place(row, args[3], _FLOATS), align=4) for row in chosen]
        for i, values in enumerate(_transposed(builder, rows)):
            builder.store(values, target.place(builder.add(args[5], _index(i)), args[6], _FLOATS), align=4)
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
                _Matrix(context, builder, sig.args[i], args[i]) for i in (0, 2, 3, 4, 7)
            )
            fma = _fma(builder)
            above = builder.mul(args[1], _index(SHORT))
            own = [queries.load(builder.add(above, _index(row)), 0) for row in range(blocks * SHORT)]
            lowest = ir.Constant(_FLOATS, [float("-inf")] * WIDTH)
            with _Loop.over(builder, args[5], args[6], [lowest] * blocks) as loop:
                key = builder.sext(listed.entry(loop.index), _I64)
                sums = [_broadcast(builder, shifts.entry(key), _FLOATS)] * blocks
                for d in range(SHORT):
                    value = _broadcast(builder, table.entry(key, _index(d)), _FLOATS)
                    sums = [builder.call(fma, [own[b * SHORT + d], value, sums[b]]) for b in range(blocks)]
                loop.next = [_higher(builder, *pair) for pair in zip(sums, loop.carried, strict=True)]
            for b in range(blocks):
                bounds.store(loop.carried[b], builder.add(args[1], _index(b)), 0)
            return context.get_dummy_value()

        return signature, codegen

    return bound


# ``out[first]``: the highest ``query . keys[k] + offset[k]`` among the keys ``members[start:end]``, of one block of
# WIDTH queries, or of two. They lie side by side, coordinate d of block b in row ``b * SHORT + d`` of ``lanes``; sums in
# any order.
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

    Coordinate d of a block of WIDTH queries lies in row ``block * LONG + d`` of ``lanes``; the last coordinate is the length of the
    rest, whose product counts for the one and against the other. Sums in any order.
    """
    signature = types.void(lanes, types.int64, keys, offset, members, types.int64, types.int64, high, out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        queries, table, shifts, listed, each, bounds = (
            _Matrix(context, builder, sig.args[i], args[i]) for i in (0, 2, 3, 4, 7, 8)
        )
        fma = _fma(builder)
        above, last = builder.mul(args[1], _index(LONG)), builder.sub(args[6], _index(1))
        lowest = ir.Constant(_FLOATS, [float("-inf")] * WIDTH)
        with _Loop.over(builder, args[5], args[6], [lowest, lowest], step=KEYS) as loop:
            names = []
            for i in range(KEYS):  # where keys end the last counts again: it changes no maximum
                place = builder.add(loop.index, _index(i))
                place = builder.select(builder.icmp_signed("<", place, last), place, last)
                names.append(builder.sext(listed.entry(place), _I64))
            sums = [_broadcast(builder, shifts.entry(key), _FLOATS) for key in names]
            with _Loop.over(builder, _index(0), _index(LONG - 1), sums) as inner:
                own = queries.load(builder.add(above, inner.index), 0)
                for key, total in zip(names, inner.carried, strict=True):
                    value = _broadcast(builder, table.entry(key, inner.index), _FLOATS)
                    inner.next.append(builder.call(fma, [own, value, total]))
            rest = queries.load(builder.add(above, _index(LONG - 1)), 0)
            most, least = loop.carried
            at = builder.sub(loop.index, args[5])
            for i, (key, total) in enumerate(zip(names, inner.carried, strict=True)):
                apart = builder.fmul(rest, _broadcast(builder, table.entry(key, _index(LONG - 1)), _FLOATS))
                sure = builder.fadd(total, apart)
                each.store(sure, builder.add(at, _index(i)), 0)
                most = _higher(builder, sure, most)
                least = _higher(builder, builder.fsub(total, apart), least)
            loop.next = [most, least]
        for b in range(2):
            bounds.store(loop.carried[b], _index(b), 0)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def which_reach(typingctx: Any, values: Any, row: Any, start: Any, least: Any) -> Any:
    """Which of WIDTH values from ``start`` on in a row are not below those of ``least``, as bits of a whole number."""
    signature = types.int64(values, types.int64, types.int64, least)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, limits = (_Matrix(context, builder, sig.args[i], args[i]) for i in (0, 3))
        some = builder.load(matrix.place(args[1], args[2], _FLOATS), align=4)
        reached = builder.fcmp_unordered(">=", some, limits.load(_index(0), 0))
        return builder.zext(builder.bitcast(reached, ir.IntType(WIDTH)), _I64)

    return signature, codegen


def _higher(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)
