"""What people see of long work, on stderr: bars with the time left on a terminal, otherwise one line per phase.

A *phase* is work that may take long: `with phase("scoring", shown=True)`. Loops within it that go over `tiles` show a
bar under its name once two seconds have passed; without a phase they are plain loops. What is computed is the same.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

PATIENCE = 2.0  # seconds before a bar or a line appears: quicker work needs none
MOST_TILES = 50  # a bar that moves this often is smooth enough
SECONDS_BETWEEN_TRIES = 0.05  # of an interrupt that waits for a compilation
SMALLEST_TILE = 2048  # smaller ones would cost time

_PHASE: ContextVar[str | None] = ContextVar("phase", default=None)


def bar(*, total: int | None, name: str, unit: str, shown: bool, initial: int = 0) -> Any:
    """A bar on stderr with the time left, or a line if that is not a terminal; nothing if it is not ``shown``."""
    from tqdm import tqdm

    if shown and not sys.stderr.isatty():
        return Line(name, initial)
    return tqdm(
        total=total,
        initial=initial,
        desc=name,
        unit=f" {unit}" if total is None else unit,
        delay=PATIENCE,
        disable=not shown,
        dynamic_ncols=True,
        file=sys.stderr,
    )


class Line:
    """Takes the place of a bar in a log: one line when the work turns out to take long, and nothing else."""

    def __init__(self, name: str, initial: int = 0) -> None:
        self.n = initial
        self._name, self._began, self._printed = name, time.monotonic(), False

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, steps: int = 1) -> None:
        """Count some steps."""
        self.n += steps
        if not self._printed and time.monotonic() - self._began >= PATIENCE:
            self._printed = True
            print(f"{self._name} ...", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing to do."""

    def set_postfix(self, **_: object) -> None:
        """Nothing to show."""

    def set_description(self, _: str) -> None:
        """Nothing to show."""


def tell(text: str) -> None:
    """Print a line on stderr, never behind a bar that is being drawn."""
    from tqdm import tqdm

    drawn = any(one.last_print_n > one.initial for one in getattr(tqdm, "_instances", ()))
    print(("\n" if drawn else "") + text, file=sys.stderr, flush=True)


@contextmanager
def phase(name: str, *, shown: bool) -> Iterator[None]:
    """Within it, loops over :func:`tiles` show a bar of this name."""
    token = _PHASE.set(name if shown else None)
    try:
        yield
    finally:
        _PHASE.reset(token)


def tiles(count: int, step: int, *, unit: str) -> Iterator[slice]:
    """Slices of ``step`` of ``count`` things; in a phase they are smaller, so that its bar moves.

    >>> list(tiles(5, 2, unit="edge"))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    name = _PHASE.get()
    if name is None:
        yield from (slice(low, min(low + step, count)) for low in range(0, count, step))
        return
    step = max(1, min(step, max(SMALLEST_TILE, -(-count // MOST_TILES))))
    token = _PHASE.set(None)  # one bar at a time
    try:
        with bar(total=count, name=name, unit=unit, shown=True) as shown:
            for low in range(0, count, step):
                part = slice(low, min(low + step, count))
                yield part
                shown.update(part.stop - part.start)
    finally:
        _PHASE.reset(token)


@contextmanager
def announce_compilation(*, shown: bool) -> Iterator[None]:
    """Within it, the first kernel that numba has to compile is announced.

    Compiled kernels are kept beside the package or in the user's cache folder: it happens once per machine.
    """
    if not shown:
        yield
        return
    from numba.core import event

    class Compilation(event.Listener):
        """Announces the first function that is compiled."""

        announced = False

        def on_start(self, event: Any) -> None:
            if not self.announced:
                self.announced = True
                print("Compiling kernels, once per machine; it takes a minute or two ...", file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Compilation()):
        yield


@contextmanager
def patient_interrupt() -> Iterator[None]:
    """Within it, Ctrl-C during a compilation takes effect right after it.

    In the middle of one, `KeyboardInterrupt` would get lost or leave a compiled function unfinished.
    """
    usual = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or usual is not signal.default_int_handler:  # somebody else handles or ignores it
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
    """Whether numba or LLVM is among the callers; compiled code itself has no frames."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in ("numba", "llvmlite"):
            return True
        frame = frame.f_back
    return False
