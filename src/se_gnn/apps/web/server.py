"""Run an application until it is stopped."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from se_gnn.apps.web.connections import request_protocol
from se_gnn.errors import InputError

MOST_CONNECTIONS = 512
KEEP_ALIVE = 15  # seconds


def run_server(app: FastAPI, *, host: str, port: int, ready: Callable[[str], None], log_level: str = "warning") -> None:
    """Listen and answer; ``ready`` is told the address when connections are taken. Port 0: any that is free."""
    import uvicorn

    with contextlib.closing(_listening(host, port)) as listening:
        config = uvicorn.Config(
            app, log_level=log_level, access_log=False, limit_concurrency=MOST_CONNECTIONS, ws="none",
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
        raise InputError(f"--host {host} is not an address of this machine: {_reason(error)}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Without it the end of an answer waits 40 ms for the reader's acknowledgment.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise InputError(f"--host {host} --port {port} cannot be used: {_reason(error)}; take another one") from error
    listening.setblocking(False)
    return listening


def _reason(error: OSError) -> Any:
    return error.strerror or error
