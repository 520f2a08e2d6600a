"""Where the time of a call goes: the shares of the functions it calls itself."""

from __future__ import annotations

import cProfile
import inspect
import pstats
from collections.abc import Callable
from typing import Any

SMALLEST_SHARE = 0.01


def shares(call: Callable[[], Any], *, of: Callable[..., Any], times: int) -> dict[str, float]:
    """Share of the time of ``of``, somewhere inside ``call``, spent in each function that it calls directly."""
    profile = cProfile.Profile()
    for _ in range(times):
        profile.runcall(call)
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    code = inspect.unwrap(of).__code__  # without its decorators
    own = (code.co_filename, code.co_firstlineno, code.co_name)
    total = stats[own][3]
    inside = {_readable(key): callers[own][3] / total for key, (*_, callers) in stats.items() if own in callers}
    large = {name: share for name, share in inside.items() if share >= SMALLEST_SHARE}
    return dict(sorted(large.items(), key=lambda item: -item[1]))


def _readable(key: tuple[str, int, str]) -> str:
    file, _, function = key
    if function == "_wrapped_call_impl":
        return "encoder"
    if function == "decorate_context":  # PyTorch wraps what needs no gradient
        return "validation"
    if "torch/optim" in file or function == "inner":  # PyTorch wraps `zero_grad`
        return "optimizer"
    return function.strip("_").replace("_", " ")
