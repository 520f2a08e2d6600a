"""A dense layer with the same bits on any number of threads. Shapes: I inputs, O outputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from se_gnn.deterministic.threads import one_thread

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


def _aligned(matrix: Tensor) -> Tensor:
    matrix = matrix.contiguous()
    return matrix if matrix.data_ptr() % ALIGNMENT == 0 else matrix.clone()
