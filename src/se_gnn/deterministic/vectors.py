"""Compiled code that says itself which vectors it works on, and in which order it adds: the same bits everywhere.

A loop that the compiler may reorder (`fastmath`) has other bits in the process that compiles it than in one that loads
it from the cache. What a result is made of is therefore added by the functions below, in functions without `fastmath`:
four vectors of 16 side by side, then one, these added up in halves, then the numbers that are left, one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

WIDTH = 16  # floats in one vector
CHAINS = 4  # vectors side by side: none waits for another
FLOAT = ir.FloatType()
FLOATS = ir.VectorType(FLOAT, WIDTH)
I64 = ir.IntType(64)
I32 = ir.IntType(32)
INTS = ir.VectorType(I32, WIDTH)
ZEROS = ir.Constant(FLOATS, [0.0] * WIDTH)
LOWEST = ir.Constant(FLOATS, [float("-inf")] * WIDTH)


def generated(returns: Any = types.void) -> Callable[[Callable[..., Any]], Any]:
    """Make a function that writes code into one for compiled code, which calls it without the first argument.

    It is given the builder, a :class:`Matrix` for each array, and the values of numbers: int64 or float32.
    """

    def declare(write: Callable[..., Any]) -> Any:
        @functools.wraps(write)
        def typed(typingctx: Any, *given: Any) -> Any:
            def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                made = [
                    Matrix(context, builder, kind, value) if isinstance(kind, types.Array) else value
                    for kind, value in zip(sig.args, args, strict=True)
                ]
                result = write(builder, *made)
                return context.get_dummy_value() if returns is types.void else result

            return returns(*map(_taken_as, given)), codegen

        return intrinsic(typed)

    return declare


def _taken_as(kind: Any) -> Any:
    if isinstance(kind, types.Array):
        return kind
    return types.float32 if isinstance(kind, types.Float) else types.int64


class Matrix:
    """A C-ordered array of float32 or int32 in the code that is being generated."""

    def __init__(self, context: Any, builder: Any, array_type: Any, value: Any) -> None:
        array = context.make_array(array_type)(context, builder, value)
        self.builder, self.data = builder, array.data
        self.vector = FLOATS if array_type.dtype == types.float32 else INTS
        self.stride = builder.extract_value(array.shape, array_type.ndim - 1)  # of a row, in entries

    def entry(self, row: Any, column: Any = None) -> Any:
        """Value at a place; of a vector where no column is given."""
        index = row if column is None else self.builder.add(self.builder.mul(row, self.stride), column)
        return self.builder.load(self.builder.gep(self.data, [index]))

    def whole(self, row: Any, column: Any = None) -> Any:
        """The same as a number of 64 bits."""
        return self.builder.sext(self.entry(row, column), I64)

    def load(self, row: Any, column: Any, kind: Any = None) -> Any:
        """The vector, or another kind of value, that begins in a column of a row."""
        return self.builder.load(self._place(row, column, kind or self.vector), align=4)

    def store(self, value: Any, row: Any, column: Any) -> None:
        """Write a vector that begins in a column of a row."""
        self.builder.store(value, self._place(row, column, value.type), align=4)

    def _place(self, row: Any, column: Any, kind: Any) -> Any:
        column = constant(column) if isinstance(column, int) else column
        index = self.builder.add(self.builder.mul(row, self.stride), column)
        return self.builder.bitcast(self.builder.gep(self.data, [index]), kind.as_pointer())


def constant(value: int) -> Any:
    """A whole number known beforehand."""
    return ir.Constant(I64, value)


def broadcast(builder: Any, scalar: Any) -> Any:
    """A vector with one value in all places."""
    kind = FLOATS if scalar.type == FLOAT else INTS
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(single, single, ir.Constant(INTS, [0] * WIDTH))


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` of vectors, or of numbers, rounded once."""
    name = f"llvm.fma.v{WIDTH}f32" if a.type == FLOATS else "llvm.fma.f32"
    kind = ir.FunctionType(a.type, [a.type] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [a, b, c])  # type: ignore[no-untyped-call]


class Loop:
    """``for index in range(start, end, step)`` with values that are carried from turn to turn in registers."""

    def __init__(self, builder: Any, index: Any, carried: list[Any]) -> None:
        self.builder, self.index, self.carried = builder, index, carried
        self.next: list[Any] = []

    @classmethod
    @contextmanager
    def over(cls, builder: Any, start: Any, end: Any, initial: list[Any], step: int = 1) -> Iterator[Loop]:
        """The body of the loop; what it carries afterwards is in ``carried``."""
        entry = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(I64)
        index.add_incoming(start, entry)
        carried = [builder.phi(value.type) for value in initial]
        for phi, value in zip(carried, initial, strict=True):
            phi.add_incoming(value, entry)
        builder.cbranch(builder.icmp_signed("<", index, end), body, done)
        builder.position_at_end(body)
        loop = cls(builder, index, carried)
        yield loop
        index.add_incoming(builder.add(index, constant(step)), builder.block)
        for phi, value in zip(carried, loop.next, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(done)


@generated(types.float32)
def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` of float32, rounded once."""
    return fused(builder, a, b, c)


@generated(types.float32)
def dot_of_rows(builder: Any, a: Matrix, i: Any, b: Matrix, j: Any) -> Any:
    """``a[i] . b[j]``."""
    return _sum(builder, a.stride, lambda at, kind: (a.load(i, at, kind), b.load(j, at, kind)))


@generated(types.float32)
def apart_of_rows(builder: Any, a: Matrix, i: Any, b: Matrix, j: Any) -> Any:
    """``|a[i] - b[j]|^2``."""
    return _sum(builder, a.stride, lambda at, kind: (builder.fsub(a.load(i, at, kind), b.load(j, at, kind)),) * 2)


@generated(types.float32)
def apart_from_edge(builder: Any, a: Matrix, i: Any, h: Matrix, u: Any, v: Any) -> Any:
    """``|a[i] - (h[u] + h[v]) / 2|^2``."""
    return _sum(builder, a.stride, lambda at, kind: (builder.fsub(a.load(i, at, kind), _edge(h, u, v, at, kind)),) * 2)


@generated(types.float32)
def dot_of_edges(builder: Any, h: Matrix, t: Any, u: Any, v: Any, w: Any) -> Any:
    """``(h[t] + h[u]) / 2 . (h[v] + h[w]) / 2``."""
    return _sum(builder, h.stride, lambda at, kind: (_edge(h, t, u, at, kind), _edge(h, v, w, at, kind)))


def _edge(h: Matrix, u: Any, v: Any, at: Any, kind: Any) -> Any:
    """The mean of two rows, a number or a vector of it."""
    half = ir.Constant(kind, 0.5 if kind is FLOAT else [0.5] * WIDTH)
    return h.builder.fmul(h.builder.fadd(h.load(u, at, kind), h.load(v, at, kind)), half)


def _sum(builder: Any, depth: Any, factors: Callable[[Any, Any], tuple[Any, Any]]) -> Any:
    """The sum over all dimensions of the product of two ``factors`` at a place, a number or a vector at a time."""
    by_chains, by_vectors = (builder.and_(depth, constant(-size)) for size in (CHAINS * WIDTH, WIDTH))
    with Loop.over(builder, constant(0), by_chains, [ZEROS] * CHAINS, step=CHAINS * WIDTH) as loop:
        for i, total in enumerate(loop.carried):
            place = builder.add(loop.index, constant(i * WIDTH))
            loop.next.append(fused(builder, *factors(place, FLOATS), total))
    chains = loop.carried
    with Loop.over(builder, by_chains, by_vectors, chains[:1], step=WIDTH) as loop:
        loop.next = [fused(builder, *factors(loop.index, FLOATS), loop.carried[0])]
    total = builder.fadd(builder.fadd(loop.carried[0], chains[1]), builder.fadd(chains[2], chains[3]))
    for half in (8, 4, 2, 1):
        other = [min(i + half, WIDTH - 1) for i in range(WIDTH)]
        total = builder.fadd(total, builder.shuffle_vector(total, total, ir.Constant(INTS, other)))
    single = builder.extract_element(total, ir.Constant(I32, 0))
    with Loop.over(builder, by_vectors, depth, [single]) as loop:
        loop.next = [fused(builder, *factors(loop.index, FLOAT), loop.carried[0])]
    return loop.carried[0]
