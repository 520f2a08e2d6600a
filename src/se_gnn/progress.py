"""What people see of long work: bars with the time left, on stderr, and only where they are asked for.

A *phase* is work that may take long: `with phase("scoring", shown=True)`. Loops within it that go over `tiles` show a
bar under its name once two seconds have passed; without a phase they are plain loops. What is computed is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

PATIENCE = 2.0  # seconds before a bar appears: what is done sooner needs none
MOST_TILES = 50  # a bar that moves this often is smooth enough
SMALLEST_TILE = 2048  # smaller ones would cost time

_PHASE: ContextVar[str | None] = ContextVar("phase", default=None)


def bar(*, total: int | None, name: str, unit: str, shown: bool, initial: int = 0) -> Any:
    """A bar on stderr with the time left; nothing where it is not ``shown``."""
    from tqdm import tqdm

    return tqdm(
        total=total,
        initial=initial,
        desc=name,
        unit=unit,
        delay=PATIENCE,
        disable=not shown,
        dynamic_ncols=True,
        file=sys.stderr,
    )


def tell(text: str) -> None:
    """A line on stderr, never behind a bar that is being drawn."""
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
    """Slices of ``step`` of ``count`` things; in a phase they are smaller, so that its bar moves, and inner loops are.

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
    """Within it, the first kernel that numba has to compile is announced, and those compiled are counted.

    Compiled kernels are kept beside the package or in the user's cache folder: it happens once per machine.
    """
    if not shown:
        yield
        return
    from numba.core import event

    listener = _compilation_listener(event.Listener)
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]
        listener.bar.close()


def _compilation_listener(base: Any) -> Any:
    class Compilation(base):
        """Counts compiled functions; the first one says what is going on."""

        def __init__(self) -> None:
            self.bar = bar(total=None, name="compiling", unit="function", shown=True)
            self.said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                print("Compiling kernels, once per machine; it takes a minute or two ...", file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            self.bar.update()

    return Compilation()
