"""The backends there are, on every device there is: the same tests run on each.

With ``TRITON_INTERPRET=1`` and Triton installed, tests of the CUDA backend run on the CPU, in Triton's interpreter.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from torch import Tensor

from se_gnn.settings.sections import MeasureName
from se_gnn.similarity import comparison
from se_gnn.similarity.backend import TORCH, Backend, Points
from se_gnn.similarity.cpu.backend import CPU
from se_gnn.similarity.items import Way
from se_gnn.similarity.measure import measure_named

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton") is not None
GPU = "cpu" if INTERPRETED else "cuda"  # where kernels for CUDA run here
ON_CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
ON_TRITON = [pytest.mark.gpu] if INTERPRETED else ON_CUDA


def on_triton(test: Callable[..., None]) -> Callable[..., None]:
    """A test of what the CUDA backend alone has."""
    for mark in ON_TRITON:
        test = mark(test)
    return test


on_every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=ON_CUDA)])
on_every_backend = pytest.mark.parametrize(
    "backend",
    ["numba", "torch", pytest.param("torch on cuda", marks=ON_CUDA), pytest.param("triton", marks=ON_TRITON)],
)


def backend_named(name: str) -> Backend:
    """A backend."""
    return cuda_backend() if name == "triton" else CPU if name == "numba" else TORCH


def cuda_backend() -> Backend:
    """The CUDA backend, in the interpreter as if a device with much shared memory were there."""
    from se_gnn.similarity.cuda import products  # only on machines with Triton
    from se_gnn.similarity.cuda.backend import CUDA

    if INTERPRETED:
        mock.patch.object(products, "_dimensions_held", return_value=128).start()
    return CUDA


def device_of(backend: str) -> str:
    """Where a backend computes."""
    return {"triton": GPU, "torch on cuda": "cuda"}.get(backend, "cpu")


def points_of(h: Tensor, measure: MeasureName) -> Points:
    """Vectors of nodes that edges are made of."""
    return Points(h, measure_named(measure).origin(h), measure_named(measure))


def match(backend: str, h: Tensor, way: Way, measure: MeasureName) -> tuple[Tensor, Tensor]:
    """Best similarities and winners by a backend, on the CPU."""
    best, winners = backend_named(backend).match(points_of(h.to(device_of(backend)), measure), *way)
    return best.cpu(), winners.cpu()


def pull(backend: str, h: Tensor, way: Way, measure: MeasureName, weights: Tensor) -> Tensor:
    """Gradient to h of the weighted sum of the best matches, by a backend, on the CPU."""
    chosen, points = backend_named(backend), points_of(h.to(device_of(backend)), measure)
    best, winners = chosen.match(points, *way)
    grad = weights.to(points.device).masked_fill(winners < 0, 0)
    return chosen.pull_back(points, *way, best, winners, grad).cpu()


def match_edges(h: Tensor, way: Way, measure: MeasureName) -> tuple[Tensor, Tensor]:
    """The differentiable operation, by the backend that belongs to where h is."""
    return comparison.match_edges(points_of(h, measure), way)
