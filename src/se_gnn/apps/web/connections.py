"""Connections of clients that take their time: a request has to arrive whole, or its connection is closed.

Uvicorn closes a connection that is idle *after* an answer, and waits forever for the rest of a request. As many such
connections as the server takes would keep everybody else out, and no token has been asked for by then.
"""

from __future__ import annotations

import asyncio
from typing import Any

REQUEST_SECONDS = 15.0  # for the line and the headers of a request


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
