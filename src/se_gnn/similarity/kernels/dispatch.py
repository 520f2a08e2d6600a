"""Which kernel runs: decided by where the embeddings are."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Protocol, cast

import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.similarity.kernels import numba_cpu, torch_any
from se_gnn.similarity.kernels.plan import MatchPlan


class Kernel(Protocol):
    """What every kernel offers."""

    def match_edges(self, h: Tensor, plan: MatchPlan, measure: Measure) -> tuple[Tensor, Tensor]:
        """Similarity and position of the best match of each query in each local graph, [Q, L]."""

    def match_edges_backward(
        self, h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradient to the embeddings, [N, D]."""


def kernel_for(h: Tensor) -> Kernel:
    """Numba on the CPU, Triton on CUDA, plain PyTorch for the rest (other devices and other precisions)."""
    if h.dtype == torch.float32:
        if h.device.type == "cpu":
            return cast(Kernel, numba_cpu)
        if h.device.type == "cuda" and has_triton():
            from se_gnn.similarity.kernels import triton_gpu  # there where Triton is

            return cast(Kernel, triton_gpu)
    return cast(Kernel, torch_any)


@cache
def has_triton() -> bool:
    """Whether Triton can be used here."""
    return importlib.util.find_spec("triton") is not None and torch.cuda.is_available()
