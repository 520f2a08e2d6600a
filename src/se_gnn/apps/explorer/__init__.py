"""The explorer: pages to look at what a model predicts and why, and the REST service that they and programs use."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI, Response

from se_gnn.apps.explorer.labels import LabelPages
from se_gnn.apps.explorer.views import Views
from se_gnn.apps.service.application import endpoint, service
from se_gnn.apps.service.store import Snapshot, Store
from se_gnn.apps.web import WebSettings


def create_app(store: Store, settings: WebSettings | None = None) -> FastAPI:
    """Pages and service of a store."""
    settings = settings or WebSettings()
    app, pages, pool = service(store, settings, ["se_gnn.apps.explorer"])
    views = Views(pages)
    labels = LabelPages(store, views, settings)

    def page(found: str | Response, snapshot: Snapshot) -> Response:
        if isinstance(found, Response):
            return found
        return Response(found, media_type="text/html; charset=utf-8", headers={"X-Model": snapshot.digest or ""})

    shown: list[tuple[str, str, Callable[..., str | Response]]] = [
        ("GET", "/", views.nodes),
        ("GET", "/map", views.map),
        ("GET", "/model", views.model),
        ("GET", "/nodes/{node:path}", views.node),
        ("GET", "/pairs", views.pair),
        ("GET", "/report", views.report),
        ("GET", "/export", views.export),
        ("GET", "/labels", labels.overview),
        ("POST", "/labels/preview", labels.preview),
        ("POST", "/labels/edit", labels.edit),
    ]
    for method, path, view in shown:
        answer = endpoint(view, store, pool, page)
        app.add_api_route(path, answer, methods=[method], include_in_schema=False, response_model=None)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        snapshot = store.snapshot
        return page(views.api(snapshot, app.openapi(), token=settings.token is not None), snapshot)

    return app
