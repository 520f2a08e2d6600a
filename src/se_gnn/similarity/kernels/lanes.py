"""The three inner loops over `LANES` queries at a time, written as LLVM vectors.

Plain loops are not vectorized well here: LLVM cannot know that the arrays do not overlap, and the running maxima would
go through memory. As vectors they stay in registers, on any processor that LLVM knows.
"""

from __future__ import annotations

import itertools
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 64  # queries side by side
_WIDTH = 16  # floats in one vector
_VECTORS = LANES // _WIDTH
_FLOATS = ir.VectorType(ir.FloatType(), _WIDTH)
_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_INTS = ir.VectorType(_I32, _WIDTH)
ROWS = 6  # rows of one register tile of the product
_TILE = 4 if binding.get_host_cpu_features().get("avx512f") else 1  # its vectors across: what the registers hold


def _data(context: Any, builder: Any, array_type: Any, value: Any) -> Any:
    return context.make_array(array_type)(context, builder, value).data


def _address(builder: Any, base: Any, row: Any, stride: Any, column: Any, vector: int, kind: Any) -> Any:
    """Pointer to a vector in a row of a C-ordered matrix."""
    index = builder.add(builder.mul(row, stride), builder.add(column, ir.Constant(_I64, vector * _WIDTH)))
    return builder.bitcast(builder.gep(base, [index]), kind.as_pointer())


def _broadcast(builder: Any, scalar: Any, kind: Any) -> Any:
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(_I32, 0))
    zeros = ir.Constant(_INTS, [0] * _WIDTH)
    return builder.shuffle_vector(single, single, zeros)


@intrinsic
def product_lanes(typingctx: Any, nodes: Any, row: Any, block: Any, out: Any) -> Any:
    """``out[row:row+ROWS, :] = nodes[row:row+ROWS, :] @ block``, each sum in the order of the columns of ``nodes``."""
    signature = types.void(nodes, types.int64, block, out)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix = context.make_array(sig.args[0])(context, builder, args[0])
        depth = builder.extract_value(matrix.shape, 1)
        lanes = _data(context, builder, sig.args[2], args[2])
        target = _data(context, builder, sig.args[3], args[3])
        width = ir.Constant(_I64, LANES)
        rows = [builder.add(args[1], ir.Constant(_I64, r)) for r in range(ROWS)]
        fma = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, ir.FunctionType(_FLOATS, [_FLOATS] * 3), f"llvm.fma.v{_WIDTH}f32"
        )
        for first in range(0, _VECTORS, _TILE):
            entry = builder.block
            head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
            builder.branch(head)

            builder.position_at_end(head)
            d = builder.phi(_I64)
            d.add_incoming(ir.Constant(_I64, 0), entry)
            sums = [[builder.phi(_FLOATS) for _ in range(_TILE)] for _ in range(ROWS)]
            for total in itertools.chain.from_iterable(sums):
                total.add_incoming(ir.Constant(_FLOATS, [0.0] * _WIDTH), entry)
            builder.cbranch(builder.icmp_signed("<", d, depth), body, done)

            builder.position_at_end(body)
            zero = ir.Constant(_I64, 0)
            across = [
                builder.load(_address(builder, lanes, d, width, zero, first + v, _FLOATS), align=4)
                for v in range(_TILE)
            ]
            for r in range(ROWS):
                value = builder.load(builder.gep(matrix.data, [builder.add(builder.mul(rows[r], depth), d)]))
                values = _broadcast(builder, value, _FLOATS)
                for v in range(_TILE):
                    sums[r][v].add_incoming(builder.call(fma, [values, across[v], sums[r][v]]), body)
            d.add_incoming(builder.add(d, ir.Constant(_I64, 1)), body)
            builder.branch(head)

            builder.position_at_end(done)
            for r in range(ROWS):
                for v in range(_TILE):
                    builder.store(
                        sums[r][v], _address(builder, target, rows[r], width, zero, first + v, _FLOATS), align=4
                    )
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def score_lanes(typingctx: Any, product: Any, i: Any, j: Any, scale: Any, offset: Any, scores: Any, k: Any) -> Any:
    """``scores[k, :] = (product[i] + product[j]) * scale + offset``."""
    signature = types.void(product, types.int64, types.int64, types.float32, types.float32, scores, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        matrix, left, right, factor, shift, out, row = args
        source = _data(context, builder, sig.args[0], matrix)
        target = _data(context, builder, sig.args[5], out)
        factors, shifts = _broadcast(builder, factor, _FLOATS), _broadcast(builder, shift, _FLOATS)
        zero, lanes = ir.Constant(_I64, 0), ir.Constant(_I64, LANES)
        for v in range(_VECTORS):
            a = builder.load(_address(builder, source, left, lanes, zero, v, _FLOATS), align=4)
            b = builder.load(_address(builder, source, right, lanes, zero, v, _FLOATS), align=4)
            value = builder.fadd(builder.fmul(builder.fadd(a, b), factors), shifts)
            builder.store(value, _address(builder, target, row, lanes, zero, v, _FLOATS), align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def argmax_lanes(
    typingctx: Any, scores: Any, base: Any, members: Any, start: Any, end: Any, best: Any, keys: Any, t: Any
) -> Any:
    """Raise ``best[t, :]`` and ``keys[t, :]`` by the keys ``members[start:end]``; of equals the earlier one stays.

    The score of key k stands in ``scores[k - base, :]``.
    """
    signature = types.void(scores, types.int64, members, types.int64, types.int64, best, keys, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = _data(context, builder, sig.args[0], args[0])
        shift = args[1]
        listed = _data(context, builder, sig.args[2], args[2])
        first, last = args[3], args[4]
        top = _data(context, builder, sig.args[5], args[5])
        names = _data(context, builder, sig.args[6], args[6])
        place = args[7]
        zero, lanes = ir.Constant(_I64, 0), ir.Constant(_I64, LANES)

        def at(base: Any, v: int, kind: Any) -> Any:
            return _address(builder, base, place, lanes, zero, v, kind)

        before = [builder.load(at(top, v, _FLOATS), align=4) for v in range(_VECTORS)]
        held = [builder.load(at(names, v, _INTS), align=4) for v in range(_VECTORS)]
        entry = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)

        builder.position_at_end(head)
        m = builder.phi(_I64)
        m.add_incoming(first, entry)
        values = [builder.phi(_FLOATS) for _ in range(_VECTORS)]
        winners = [builder.phi(_INTS) for _ in range(_VECTORS)]
        for v in range(_VECTORS):
            values[v].add_incoming(before[v], entry)
            winners[v].add_incoming(held[v], entry)
        builder.cbranch(builder.icmp_signed("<", m, last), body, done)

        builder.position_at_end(body)
        key = builder.load(builder.gep(listed, [m]))
        row = builder.sub(builder.sext(key, _I64), shift)
        name = _broadcast(builder, key, _INTS)
        for v in range(_VECTORS):
            score = builder.load(_address(builder, rows, row, lanes, zero, v, _FLOATS), align=4)
            better = builder.fcmp_ordered(">", score, values[v])
            values[v].add_incoming(builder.select(better, score, values[v]), body)
            winners[v].add_incoming(builder.select(better, name, winners[v]), body)
        m.add_incoming(builder.add(m, ir.Constant(_I64, 1)), body)
        builder.branch(head)

        builder.position_at_end(done)
        for v in range(_VECTORS):
            builder.store(values[v], at(top, v, _FLOATS), align=4)
            builder.store(winners[v], at(names, v, _INTS), align=4)
        return context.get_dummy_value()

    return signature, codegen
