"""How much memory a comparison may take at a time; results do not depend on it."""

from __future__ import annotations

import os
import re

import torch

from se_gnn.errors import InputError

SHARE = 4  # a quarter of what is free
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def free_memory() -> int:
    """Bytes that can be had without swapping; 4 GB where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 (a file of the system, read on every call)
            found = re.search(r"MemAvailable:\s+(\d+) kB", file.read())
        return int(found[1]) << 10 if found else 4 << 30
    except OSError:
        pages = os.sysconf_names.get("SC_AVPHYS_PAGES")
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE") if pages is not None else 4 << 30


def memory_budget(max_memory: int | str | None = None, device: torch.device | str = "cpu") -> int:
    """Bytes to work within: as asked for (``"4GB"``, ``"500M"``, a number), else a quarter of what is free there.

    >>> memory_budget("2GB") == 2 * 1024**3
    True
    """
    if max_memory is None:
        on_cuda = torch.device(device).type == "cuda"
        return (torch.cuda.mem_get_info(device)[0] if on_cuda else free_memory()) // SHARE
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?\s*", str(max_memory).upper())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if size < 1 << 20:
        raise InputError(f"max_memory must be a size of at least 1M such as 500M or 4GB, got {max_memory!r}")
    return size


def items_within(budget: int, bytes_each: int, most: int) -> int:
    """How many items of a size fit, at least one and at most ``most``."""
    return max(1, min(most, budget // max(1, bytes_each)))
