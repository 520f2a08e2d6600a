"""Ctrl-C that waits while numba compiles: there it would get lost, or leave a compiled function in pieces."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS_BETWEEN_TRIES = 0.05


@contextmanager
def patient_interrupt() -> Iterator[None]:
    """Within it Ctrl-C raises ``KeyboardInterrupt`` as ever, but not in the middle of a compilation: right after it."""
    usual = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or usual is not signal.default_int_handler:  # somebody else takes care of it, or ignores it
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not _compiling(frame):
        raise KeyboardInterrupt
    again = threading.Timer(SECONDS_BETWEEN_TRIES, signal.raise_signal, [number])
    again.daemon = True
    again.start()


def _compiling(frame: FrameType | None) -> bool:
    """Whether numba or LLVM is among the callers: compiled code itself has no frames."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in ("numba", "llvmlite"):
            return True
        frame = frame.f_back
    return False
