"""The kernels there are, on every device there is: the same tests run on each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from se_gnn import similarity
from se_gnn.settings.sections import MeasureName
from se_gnn.similarity.kernels.kernel import Kernel
from se_gnn.similarity.kernels.numba_cpu import CpuKernel
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.kernels.torch_any import TorchKernel
from se_gnn.similarity.measure import measure_named

ON_CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


def on_cuda(test: Callable[..., None]) -> Callable[..., None]:
    """A test of what is there on a GPU alone."""
    for mark in ON_CUDA:
        test = mark(test)
    return test


on_every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=ON_CUDA)])
on_every_backend = pytest.mark.parametrize(
    "backend",
    ["numba", "torch", pytest.param("torch on cuda", marks=ON_CUDA), pytest.param("triton", marks=ON_CUDA)],
)


def kernel_of(backend: str) -> Kernel:
    """The kernel of a backend."""
    if backend == "triton":
        from se_gnn.similarity.kernels.triton_gpu import TritonKernel  # only on machines with Triton

        return TritonKernel()
    return CpuKernel() if backend == "numba" else TorchKernel()


def device_of(backend: str) -> str:
    """Where a backend computes."""
    return "cuda" if backend in ("triton", "torch on cuda") else "cpu"


def match(backend: str, h: Tensor, plan: MatchPlan, measure: MeasureName) -> tuple[Tensor, Tensor]:
    """Best similarities and winners by a backend, on the CPU."""
    there = h.to(device_of(backend))
    best, winners = kernel_of(backend).match(there, plan, measure_named(measure), measure_named(measure).origin(there))
    return best.cpu(), winners.cpu()


def pull(backend: str, h: Tensor, plan: MatchPlan, measure: MeasureName, weights: Tensor) -> Tensor:
    """Gradient to h of the weighted sum of the best matches, by a backend, on the CPU."""
    kernel, there = kernel_of(backend), h.to(device_of(backend))
    best, winners = kernel.match(there, plan, measure_named(measure), measure_named(measure).origin(there))
    grad = weights.to(there.device).masked_fill(winners < 0, 0)
    return kernel.pull_back(there, plan, measure_named(measure), best, winners, grad).cpu()


def match_edges(h: Tensor, plan: MatchPlan, measure: MeasureName) -> tuple[Tensor, Tensor]:
    """The differentiable operation, by the kernel that belongs to where h is."""
    return similarity.match_edges(h, plan, measure_named(measure))
