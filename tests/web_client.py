"""Requests to an application without a network, one at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from se_gnn.apps.web import WebSettings

UNLIMITED = WebSettings(per_second=1e6)


class Client:
    """Asks an ASGI application."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
                return await client.request(method, path, **given)

        return asyncio.run(call())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.request("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.request("POST", path, **given)

    def delete(self, path: str, **given: Any) -> httpx.Response:
        return self.request("DELETE", path, **given)
