"""A dense layer with the same bits on any number of threads. Shapes: I inputs, O outputs."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from se_gnn.deterministic.sums import multiply_add
from se_gnn.deterministic.threads import one_thread

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


@numba.njit(parallel=True, cache=True, nogil=True)
def _add_products(x: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """Add the product of each row of x and the weight, [I, O], one input after the other."""
    for row in numba.prange(len(x)):
        for i in range(len(weight)):
            for o in range(out.shape[1]):
                out[row, o] = multiply_add(x[row, i], weight[i, o], out[row, o])


def _aligned(matrix: Tensor) -> Tensor:
    matrix = matrix.contiguous()
    return matrix if matrix.data_ptr() % ALIGNMENT == 0 else matrix.clone()
