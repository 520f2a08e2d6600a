"""Figures for Prometheus: requests, how long they take, how busy the pool is."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as latest

from se_gnn.apps.web.guard import Application, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """Counts of one application, in a registry of its own."""

    def __init__(self, busy: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("se_gnn_requests", "answers", ["route", "status"], registry=self.registry)
        self.seconds = Histogram(
            "se_gnn_request_seconds", "time to the end of an answer", ["route"], buckets=BUCKETS, registry=self.registry
        )
        Gauge("se_gnn_work", "calls that run or wait", registry=self.registry).set_function(busy)

    def text(self) -> bytes:
        """What Prometheus reads."""
        return latest(self.registry)


class Measured:
    """An ASGI application that counts the answers of another one."""

    def __init__(self, app: Application, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), "none"

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "other")  # never what was asked for: that has no bound
            self._metrics.requests.labels(route, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - began)
