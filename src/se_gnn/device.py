"""Where to compute."""

from __future__ import annotations

import importlib.util
import re
from functools import cache

import torch

from se_gnn.errors import InputError


def resolve_device(device: str) -> torch.device:
    """The device asked for, if it is there; ``auto`` takes CUDA where it is."""
    present = torch.cuda.is_available()
    if device == "auto":
        return torch.device("cuda" if present else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise InputError(f"device must be auto, cpu or cuda, got {device!r}")
    if device != "cpu" and not present:
        raise InputError(f"device {device!r} was asked for, but PyTorch sees no CUDA device here; use cpu or auto")
    return torch.device(device)


@cache
def has_triton() -> bool:
    """Whether kernels for a CUDA device can be compiled here."""
    return importlib.util.find_spec("triton") is not None and torch.cuda.is_available()
