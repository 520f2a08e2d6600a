"""Sums over the dimensions of vectors in compiled code, each with one order and one rounding, written down here.

A loop that the compiler may reorder (`fastmath`) has other bits in the process that compiles it than in one that loads
it from the cache. What a result is made of is therefore added by these functions, in functions without `fastmath`:
four vectors of 16 side by side, then one, these added up in halves, then the numbers that are left, one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from se_gnn.deterministic.llvm import FLOAT, FLOATS, I32, INTS, WIDTH, Loop, Matrix, constant, fused

CHAINS = 4  # vectors side by side: none waits for another


def _generated(function: Callable[..., Any]) -> Any:
    """A function for compiled code, which calls it without the first argument."""
    return intrinsic(function)


@_generated
def multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` of float32, rounded once."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.call(fused(builder, FLOAT), args)

    return types.float32(types.float32, types.float32, types.float32), codegen


@_generated
def dot_of_rows(typingctx: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    """``a[i] . b[j]``."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = _Rows(context, builder, sig, args)
        return _sum(rows, lambda at, kind: (rows.row(0, 1, at, kind), rows.row(2, 3, at, kind)))

    return types.float32(a, types.int64, b, types.int64), codegen


@_generated
def apart_of_rows(typingctx: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    """``|a[i] - b[j]|^2``."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = _Rows(context, builder, sig, args)

        def apart(at: Any, kind: Any) -> tuple[Any, Any]:
            difference = builder.fsub(rows.row(0, 1, at, kind), rows.row(2, 3, at, kind))
            return difference, difference

        return _sum(rows, apart)

    return types.float32(a, types.int64, b, types.int64), codegen


@_generated
def apart_from_edge(typingctx: Any, a: Any, i: Any, h: Any, u: Any, v: Any) -> Any:
    """``|a[i] - (h[u] + h[v]) / 2|^2``."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = _Rows(context, builder, sig, args)

        def apart(at: Any, kind: Any) -> tuple[Any, Any]:
            difference = builder.fsub(rows.row(0, 1, at, kind), rows.edge(2, 3, 4, at, kind))
            return difference, difference

        return _sum(rows, apart)

    return types.float32(a, types.int64, h, types.int64, types.int64), codegen


@_generated
def dot_of_edges(typingctx: Any, h: Any, t: Any, u: Any, v: Any, w: Any) -> Any:
    """``(h[t] + h[u]) / 2 . (h[v] + h[w]) / 2``."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = _Rows(context, builder, sig, args)
        return _sum(rows, lambda at, kind: (rows.edge(0, 1, 2, at, kind), rows.edge(0, 3, 4, at, kind)))

    return types.float32(h, types.int64, types.int64, types.int64, types.int64), codegen


class _Rows:
    """Rows of the arrays among the arguments of a function that is being generated; all are as long."""

    def __init__(self, context: Any, builder: Any, sig: Any, args: Any) -> None:
        self.builder, self.args = builder, args
        self.arrays = {
            i: Matrix(context, builder, kind, args[i])
            for i, kind in enumerate(sig.args)
            if isinstance(kind, types.Array)
        }
        self.depth = self.arrays[0].stride

    def row(self, array: int, row: int, at: Any, kind: Any) -> Any:
        """A number or a vector of the row that the argument ``row`` names, in the array that ``array`` names."""
        return self.builder.load(self.arrays[array].place(self.args[row], at, kind), align=4)

    def edge(self, array: int, first: int, second: int, at: Any, kind: Any) -> Any:
        """The mean of two rows."""
        both = self.builder.fadd(self.row(array, first, at, kind), self.row(array, second, at, kind))
        half = ir.Constant(kind, 0.5 if kind is FLOAT else [0.5] * WIDTH)
        return self.builder.fmul(both, half)


def _sum(rows: _Rows, factors: Callable[[Any, Any], tuple[Any, Any]]) -> Any:
    """The sum over all dimensions of the product of two ``factors`` at a place, a number or a vector at a time."""
    builder, depth = rows.builder, rows.depth
    by_chains, by_vectors = (builder.and_(depth, constant(-size)) for size in (CHAINS * WIDTH, WIDTH))
    zeros = [ir.Constant(FLOATS, [0.0] * WIDTH)] * CHAINS
    with Loop.over(builder, constant(0), by_chains, zeros, step=CHAINS * WIDTH) as loop:
        for i, total in enumerate(loop.carried):
            place = builder.add(loop.index, constant(i * WIDTH))
            loop.next.append(builder.call(fused(builder), [*factors(place, FLOATS), total]))
    chains = loop.carried
    with Loop.over(builder, by_chains, by_vectors, chains[:1], step=WIDTH) as loop:
        loop.next = [builder.call(fused(builder), [*factors(loop.index, FLOATS), loop.carried[0]])]
    total = builder.fadd(builder.fadd(loop.carried[0], chains[1]), builder.fadd(chains[2], chains[3]))
    for half in (8, 4, 2, 1):
        other = [min(i + half, WIDTH - 1) for i in range(WIDTH)]
        total = builder.fadd(total, builder.shuffle_vector(total, total, ir.Constant(INTS, other)))
    single = builder.extract_element(total, ir.Constant(I32, 0))
    with Loop.over(builder, by_vectors, depth, [single]) as loop:
        loop.next = [builder.call(fused(builder, FLOAT), [*factors(loop.index, FLOAT), loop.carried[0]])]
    return loop.carried[0]
