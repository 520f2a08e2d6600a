"""Where to compute, and how much memory a comparison may take at a time; results do not depend on it."""

from __future__ import annotations

import importlib.util
import os
import re
from functools import cache

import psutil
import torch

from se_gnn.errors import InputError, shortened


def resolve_device(device: str) -> torch.device:
    """The device asked for, if it is available; ``auto`` uses CUDA if available.

    A device with a number becomes the current one of this process: Triton starts kernels on the current device.
    """
    present = torch.cuda.is_available()
    if device == "auto":
        return torch.device("cuda" if present else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise InputError(f"device must be auto, cpu or cuda, got {device!r}")
    if device != "cpu" and not present:
        raise InputError(f"device {device!r} was asked for, but PyTorch sees no CUDA device here; use cpu or auto")
    resolved = torch.device(device)
    if resolved.index is not None:
        if resolved.index >= (count := torch.cuda.device_count()):
            raise InputError(
                f"device {device!r} was asked for, but PyTorch sees {count} CUDA devices here, from cuda:0"
            )
        torch.cuda.set_device(resolved)
    return resolved


@cache
def has_triton() -> bool:
    """Whether kernels for a CUDA device can be compiled here."""
    return importlib.util.find_spec("triton") is not None and torch.cuda.is_available()


SHARE = 4  # a quarter of what is free
_MOST = 1e15  # bytes: more than any machine has
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def free_memory() -> int:
    """Bytes that can be had without swapping."""
    return int(psutil.virtual_memory().available)


def memory_budget(max_memory: int | str | None = None, device: torch.device | str = "cpu") -> int:
    """Bytes to work within: as asked for (``"4GB"``, ``"500M"``, a number), else a quarter of the free memory there.

    The environment variable ``SE_GNN_MAX_MEMORY`` replaces the default.

    >>> memory_budget("2GB") == 2 * 1024**3
    True
    """
    if max_memory is None:
        max_memory = os.environ.get("SE_GNN_MAX_MEMORY")
    if max_memory is None:
        on_cuda = torch.device(device).type == "cuda"
        return (torch.cuda.mem_get_info(device)[0] if on_cuda else free_memory()) // SHARE
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?\s*", str(max_memory).upper())
    size = int(min(float(match[1]) * _UNITS[match[2]], _MOST)) if match else 0  # no number is too long
    if size < 1 << 20:
        raise InputError(f"max_memory must be a size of at least 1M such as 500M or 4GB, got {shortened(max_memory)}")
    return size


def items_within(budget: int, bytes_each: int, most: int) -> int:
    """How many items of a size fit, at least one and at most ``most``."""
    return max(1, min(most, budget // max(1, bytes_each)))
