"""A dense layer, rows of a matrix and loops over rows, with the same bits on any number of threads.

How PyTorch splits a sum depends on the number of threads, and so do the bits of the result. A compiled function that
lets go of the interpreter (as :func:`~se_gnn.compiled_code.compiled` makes it) runs on Python's threads as well as on
numba's own, and takes a third of the time to compile: with `parallel=True` everything is compiled once more for the
threads. Shapes: I inputs, O outputs, N rows, D columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import multiply_add

Result = TypeVar("Result")
PARTS_PER_THREAD = 4  # a thread whose parts are short takes another


@contextmanager
def one_thread() -> Iterator[None]:
    """Run PyTorch's own operators on one thread, also as a decorator; numba kernels keep all of theirs.

    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def map_parts(work: Callable[[slice], Result], count: int, *, fewest: int) -> list[Result]:
    """What ``work`` returns for consecutive parts of ``count`` rows, none of which has less than ``fewest``.

    >>> map_parts(lambda part: (part.start, part.stop), 5, fewest=3)
    [(0, 5)]
    """
    if count < 2 * fewest:
        return [work(slice(0, count))]
    threads = numba.get_num_threads()
    bounds = np.linspace(0, count, num=min(count // fewest, PARTS_PER_THREAD * threads) + 1).astype(np.int64)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, itertools.starmap(slice, itertools.pairwise(bounds.tolist()))))


def rows(matrix: Tensor, index: Tensor) -> Tensor:
    """As ``matrix[index]``, [N, D] and [...] to [..., D].

    The gradient of ``matrix[index]`` adds rows that are taken twice in whichever order the threads arrive; here one
    thread owns each row of the gradient and adds in the order of ``index``.
    """
    return torch.nn.functional.embedding(index, matrix)


FloatArray = npt.NDArray[np.float32]

ALIGNMENT = 64  # bytes: a BLAS may sum an array that starts elsewhere in another order


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""As ``torch.nn.functional.linear``: :math:`x W^T + b`, with gradients to all three.

    A BLAS splits the sums of a product, above all those of the weight's gradient, by the number of threads: on the CPU
    it runs on one.

    Shapes:
        - **x:** :math:`(..., I)`, **weight:** :math:`(O, I)`, **bias:** :math:`(O,)`
        - **output:** :math:`(..., O)`
    """
    if x.device.type != "cpu":
        return torch.nn.functional.linear(x, weight, bias)
    flat = x.reshape(-1, x.shape[-1])
    out: Tensor = _Linear.apply(flat, weight, bias)  # type: ignore[no-untyped-call]
    return out.reshape(*x.shape[:-1], len(weight))


def linear_by_row(x: Tensor, weight: Tensor) -> Tensor:
    """As :func:`linear` without a bias; on the CPU a row has the same bits alone and among any others.

    A BLAS sums in an order that depends on how many rows there are. This one is made for few inputs, I.
    """
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return torch.nn.functional.linear(x, weight)
    out: Tensor = _LinearByRow.apply(x, weight, None)  # type: ignore[no-untyped-call]
    return out


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        x = _aligned(x)
        ctx.save_for_backward(x, weight)
        with one_thread():
            return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        grad = _aligned(grad)
        for_x, for_weight, for_bias = ctx.needs_input_grad
        with one_thread():
            return (
                grad @ weight if for_x else None,
                grad.T @ x if for_weight else None,
                grad.sum(0) if for_bias else None,
            )


class _LinearByRow(_Linear):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        x = _aligned(x)
        ctx.save_for_backward(x, weight)
        out = torch.zeros(len(x), len(weight))
        _add_products(x.detach().numpy(), weight.detach().T.contiguous().numpy(), out.numpy())
        return out


@compiled(parallel=True)
def _add_products(x: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """Add the product of each row of x and the weight, [I, O], one input after the other."""
    for row in numba.prange(len(x)):
        for i in range(len(weight)):
            for o in range(out.shape[1]):
                out[row, o] = multiply_add(x[row, i], weight[i, o], out[row, o])


def _aligned(matrix: Tensor) -> Tensor:
    matrix = matrix.contiguous()
    return matrix if matrix.data_ptr() % ALIGNMENT == 0 else matrix.clone()
