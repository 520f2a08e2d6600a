"""Run an application until it is stopped: a few threads compute, and slow or stalled clients lose their connection.

Uvicorn closes a connection that is idle *after* an answer, but waits forever for the rest of a request. As many such
connections as the server takes would keep everybody else out, before any token is asked for. So the head of a request
has to arrive within a time limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ParamSpec, TypeVar

from fastapi import FastAPI

from se_gnn.apps.web.guard import busy
from se_gnn.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
Turn = Callable[[], AbstractContextManager[None]]  # what a call runs within

MOST_CONNECTIONS = 512
KEEP_ALIVE = 15  # seconds
REQUEST_SECONDS = 15.0  # for the line and the headers of a request


def run_server(app: FastAPI, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Listen and answer; ``ready`` is called with the address once connections are accepted. Port 0: any free port."""
    import uvicorn

    with contextlib.closing(_listening(host, port)) as listening:
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, limit_concurrency=MOST_CONNECTIONS, ws="none",
            timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=5, server_header=False, proxy_headers=False,
            http=request_protocol(),
        )  # fmt: skip
        bound = listening.getsockname()[1]
        ready(f"http://{f'[{host}]' if ':' in host else host}:{bound}/")
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family)
    except OSError as error:
        raise InputError(f"--host {host} is not an address of this machine: {error.strerror or error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Without it the end of an answer waits 40 ms for the reader's acknowledgment.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise InputError(
            f"--host {host} --port {port} cannot be used: {error.strerror or error}; take another one"
        ) from error
    listening.setblocking(False)
    return listening


def request_protocol(seconds: float = REQUEST_SECONDS) -> type[asyncio.Protocol]:
    """Uvicorn's protocol with a limit for how long the head of a request may take."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol

    class Protocol(base):  # one of two classes, as installed
        """Watches the time from the first byte, or from the connection, until the application has the request."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _watch(self) -> None:
            if not self._waits():
                self._stop()
            elif self._timer is None:
                self._timer = self.loop.call_later(seconds, self._give_up)

        def _waits(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            if self._waits() and not self.transport.is_closing():
                self.transport.close()

    return Protocol


class WorkPool:
    """A bounded pool: ``workers`` calls run, ``waiting`` more wait, and each has ``seconds`` for all of it.

    A call that has begun cannot be stopped: when its time is over the request is answered, and the call keeps its place
    until it ends. So one heavy node takes one worker, never the server.
    """

    def __init__(self, *, workers: int, waiting: int, seconds: float, turn: Turn = nullcontext) -> None:
        self.workers, self.waiting, self.seconds, self._turn = workers, waiting, seconds, turn
        self._executor: ThreadPoolExecutor | None = None
        self._held: set[Future[Any]] = set()

    @property
    def busy(self) -> int:
        """Calls that run or wait."""
        return len(self._held)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call; 503 if the pool is full or the time runs out."""
        if len(self._held) >= self.workers + self.waiting:
            raise busy("the server is busy; ask again", 1)

        def in_turn() -> T:
            with self._turn():
                return call(*args, **kwargs)

        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.workers, thread_name_prefix="se-gnn-work")
        future = self._executor.submit(in_turn)
        self._held.add(future)
        future.add_done_callback(self._held.discard)
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            future.cancel()  # removes it if it was only waiting
            raise busy(f"this took longer than {self.seconds:g} seconds; ask for less", 5) from None

    def close(self) -> None:
        """Let the threads go, and start nothing that waits; a later call has new ones."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
