"""Building blocks of compiled code that says itself which vectors it works on, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils

WIDTH = 16  # floats in one vector
FLOAT = ir.FloatType()
FLOATS = ir.VectorType(FLOAT, WIDTH)
I64 = ir.IntType(64)
I32 = ir.IntType(32)
INTS = ir.VectorType(I32, WIDTH)


class Matrix:
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

    def load(self, row: Any, vector: int, kind: Any = FLOATS) -> Any:
        """The n-th vector of a row."""
        return self.builder.load(self.place(row, constant(vector * WIDTH), kind), align=4)

    def store(self, value: Any, row: Any, vector: int) -> None:
        """Write the n-th vector of a row."""
        self.builder.store(value, self.place(row, constant(vector * WIDTH), value.type), align=4)


def constant(value: int) -> Any:
    """A whole number known beforehand."""
    return ir.Constant(I64, value)


def broadcast(builder: Any, scalar: Any, kind: Any) -> Any:
    """A vector with one value in all places."""
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(single, single, ir.Constant(INTS, [0] * WIDTH))


def fused(builder: Any, kind: Any = FLOATS) -> Any:
    """The function a * b + c of vectors, or of numbers, rounded once."""
    name = f"llvm.fma.v{WIDTH}f32" if kind is FLOATS else "llvm.fma.f32"
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)  # type: ignore[no-untyped-call]


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
