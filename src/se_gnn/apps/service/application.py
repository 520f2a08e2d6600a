"""The service as a FastAPI application: made by a function, nothing happens at import."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Response

from se_gnn import __version__
from se_gnn.apps.service import models
from se_gnn.apps.service.api import add_routes
from se_gnn.apps.service.metrics import Measured, Metrics
from se_gnn.apps.service.openapi import describe
from se_gnn.apps.service.store import Store
from se_gnn.apps.service.turns import turn
from se_gnn.apps.web import PROBLEMS, Assets, Pages, WebSettings, WorkPool, new_application
from se_gnn.apps.web.problems import busy
from se_gnn.report.bundle import class_colors

FEWEST_COLORS = 256  # of classes: another model may have more than this one

DESCRIPTION = "What a model predicts for the nodes of a graph, and the labeled nodes behind every prediction."


def create_app(store: Store, settings: WebSettings | None = None) -> FastAPI:
    """The REST service alone; `se_gnn.apps.explorer.create_app` has the pages, too."""
    app, _, _ = service(store, settings or WebSettings())
    return app


def service(store: Store, settings: WebSettings, packages: Sequence[str] = ()) -> tuple[FastAPI, Pages, WorkPool]:
    """The application, and what pages that are added to it need; ``packages`` bring templates and assets."""
    colors = class_colors(max(FEWEST_COLORS, store.snapshot.graph.num_classes)).encode()
    assets = Assets.of_packages(["se_gnn.report", "se_gnn.apps.web", *packages], {"classes.css": colors})
    pages = Pages(packages, assets)
    pool = WorkPool(workers=settings.workers, waiting=settings.waiting, seconds=settings.seconds, turn=turn)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store.start()
        yield
        store.close()
        pool.close()

    app = new_application(
        settings, pages, title="se-gnn", version=__version__, description=DESCRIPTION, openapi_url="/v1/openapi.json",
        lifespan=lifespan,
    )  # fmt: skip
    metrics = Metrics(lambda: pool.busy)
    app.add_middleware(Measured, metrics=metrics)
    router = APIRouter(prefix="/v1")
    add_routes(router, store, pool)
    app.include_router(router)
    _watch(app, store, metrics)
    describe(app)
    return app, pages, pool


def _watch(app: FastAPI, store: Store, metrics: Metrics) -> None:
    @app.get("/healthz", response_model=models.Health, responses=PROBLEMS)
    async def health() -> models.Health:
        """The server is there."""
        return models.Health(status="alive")

    @app.get("/readyz", response_model=models.Readiness, responses=PROBLEMS)
    async def ready() -> models.Readiness:
        """All nodes have been scored; until then 503. `refused` says why a changed model folder is not served."""
        snapshot = store.snapshot
        if not snapshot.ready:
            raise busy("all nodes are being scored", 1)
        return models.Readiness(status="ready", digest=snapshot.digest or "", scored=True, refused=store.refused)

    text: dict[str, Any] = {"description": "figures", "content": {"text/plain": {"schema": {"type": "string"}}}}

    @app.get("/metrics", response_class=Response, responses={**PROBLEMS, 200: text})
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
