"""Work that takes its time runs in a few threads; what does not fit is turned away at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import ParamSpec, TypeVar

from se_gnn.apps.web.problems import busy

P = ParamSpec("P")
T = TypeVar("T")
Turn = Callable[[], AbstractContextManager[None]]  # what a call runs within


class WorkPool:
    """A bounded pool: ``workers`` calls run, ``waiting`` more wait, and each has ``seconds`` for all of it.

    A call that has begun cannot be stopped: when its time is over the request is answered, and the call keeps its place
    until it ends. So one heavy node takes one worker, never the server.
    """

    def __init__(self, *, workers: int, waiting: int, seconds: float, turn: Turn = nullcontext) -> None:
        self.workers, self.waiting, self.seconds, self._turn = workers, waiting, seconds, turn
        self._executor: ThreadPoolExecutor | None = None
        self._held: set[Future[object]] = set()

    @property
    def busy(self) -> int:
        """Calls that run or wait."""
        return len(self._held)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call; 503 where the pool is full or the time is over."""
        if len(self._held) >= self.workers + self.waiting:
            raise busy("the server is busy; ask again", 1)
        loop = asyncio.get_running_loop()

        def in_turn() -> T:
            with self._turn():
                return call(*args, **kwargs)

        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.workers, thread_name_prefix="se-gnn-work")
        future = self._executor.submit(in_turn)
        self._held.add(future)  # type: ignore[arg-type]
        future.add_done_callback(lambda done: _release(loop, self._held, done))
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            future.cancel()  # takes it away where it only waited
            raise busy(f"this took longer than {self.seconds:g} seconds; ask for less", 5) from None

    def close(self) -> None:
        """Let the threads go, and start nothing that waits; a later call has new ones."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None


def _release(loop: asyncio.AbstractEventLoop, held: set[Future[object]], done: Future[T]) -> None:
    if loop.is_closed():
        held.discard(done)
    else:
        loop.call_soon_threadsafe(held.discard, done)
