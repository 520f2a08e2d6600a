"""The REST service as a FastAPI application: its addresses, its description, figures for Prometheus.

Everything that computes runs in the pool. Nothing happens at import.
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.openapi.utils import get_openapi
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as latest
from starlette.middleware.base import RequestResponseEndpoint
from starlette.responses import PlainTextResponse

from se_gnn import __version__
from se_gnn.apps.service import answers, models
from se_gnn.apps.service.store import Snapshot, Store, turn
from se_gnn.apps.web import PROBLEMS, Pages, Problem, WebSettings, WorkPool, new_application
from se_gnn.apps.web.guard import busy
from se_gnn.errors import did_you_mean, shortened
from se_gnn.explain import schema
from se_gnn.links import PairExplanation
from se_gnn.report.templating import class_colors

FEWEST_COLORS = 256  # of classes: another model may have more than this one

DESCRIPTION = "What a model predicts for the nodes of a graph, and the labeled nodes behind every prediction."

Route = tuple[str, str, Callable[..., Any], dict[int | str, dict[str, Any]] | None]
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


EXPLAINED: dict[int | str, dict[str, Any]] = {
    200: {"description": "the explanation", "content": {"application/json": {"schema": models.EXPLANATION}}}
}
ROUTES: list[Route] = [
    ("GET", "/model", answers.model, None),
    ("GET", "/nodes", answers.nodes, None),
    ("POST", "/predict", answers.predictions, {200: {"model": models.Predictions}}),
    ("POST", "/explain", answers.explain_batch, {200: {"model": models.Explanations}}),
    ("GET", "/nodes/{node:path}/explanation", answers.explain_node, EXPLAINED),
    ("GET", "/nodes/{node:path}/nearest", answers.nearest, None),
    ("GET", "/nodes/{node:path}/local-graph", answers.local_graph, None),
    ("GET", "/nodes/{node:path}/recommendations", answers.recommend, None),
    ("GET", "/nodes/{node:path}", answers.node, None),
    ("POST", "/similarity", answers.similarity, None),
    ("POST", "/pairs", answers.pairs, None),
    ("GET", "/pairs/explanation", answers.explain_pair, {200: {"model": PairExplanation}}),
    ("GET", "/map", answers.node_map, None),
]  # method, path, the function that answers, and its answers if their type does not say it


def service(store: Store, settings: WebSettings, packages: Sequence[str]) -> tuple[FastAPI, Pages, WorkPool]:
    """The application, and what pages that are added to it need; ``packages`` bring templates and assets."""
    graph = store.snapshot.graph
    colors = class_colors(max(FEWEST_COLORS, 0 if graph.predicts_numbers else graph.num_classes)).encode()
    pages = Pages(packages, {"classes.css": colors})
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
    router, known = APIRouter(responses=PROBLEMS), [Depends(known_parameters)]
    for method, path, answer, responses in ROUTES:
        router.add_api_route(
            f"/v1{path}", endpoint(answer, store, pool), methods=[method], responses=responses, dependencies=known
        )
    _watch(router, store, measured(app, pool))
    app.include_router(router)
    describe(app)
    return app, pages, pool


def _watch(router: APIRouter, store: Store, registry: CollectorRegistry) -> None:
    @router.get("/healthz")
    async def health() -> dict[str, str]:
        """The server is there."""
        return {"status": "alive"}

    @router.get("/readyz")
    async def ready() -> dict[str, str | None]:
        """The nodes of the list are predicted, judged and on the map; until then 503.

        Explanations and predictions are answered before. `refused` says why a changed model folder is not served.
        """
        snapshot = store.snapshot
        if not snapshot.ready:
            raise busy("the nodes are being scored", 1)
        return {"status": "ready", "digest": snapshot.digest, "refused": store.refused}

    @router.get("/metrics", response_class=PlainTextResponse)
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")


async def known_parameters(request: Request) -> None:
    """Refuse a parameter that the address does not have: a misspelled one would be left aside without a word."""
    described = request.app.openapi()["paths"][request.scope["route"].path_format][request.method.lower()]
    known = [one["name"] for one in described.get("parameters", ()) if one["in"] == "query"]
    for name in request.query_params:
        if name not in known:
            there = f"there are: {', '.join(known)}" if known else "this address has none"
            raise HTTPException(422, f"unknown parameter {shortened(name)}{did_you_mean(name, known)}; {there}")


def endpoint(
    answer: Callable[..., Any],
    store: Store,
    pool: WorkPool,
    finish: Callable[[Any, Snapshot], Any] = lambda found, snapshot: found,
) -> Callable[..., Awaitable[Any]]:
    """What FastAPI calls: it runs a function of a snapshot in the pool; a request gives its other parameters."""
    signature = inspect.signature(answer, eval_str=True)

    async def call(**given: Any) -> Any:
        snapshot = store.snapshot
        return finish(await pool.run(answer, snapshot, **given), snapshot)

    call.__name__, call.__doc__ = answer.__name__, answer.__doc__
    _, *asked = signature.parameters.values()
    call.__signature__ = signature.replace(parameters=asked)  # type: ignore[attr-defined]
    return call


def describe(app: FastAPI) -> None:
    """Have the application describe itself with what FastAPI cannot know."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = found.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            schemas.update(explanation_schemas(schema(), "Explanation"))
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]


def explanation_schemas(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A schema under a name, its definitions beside it."""
    text = json.dumps(given).replace("#/$defs/", f"#/components/schemas/{name}-")
    whole: dict[str, Any] = json.loads(text)
    parts = whole.pop("$defs")
    whole.pop("$schema", None)
    return {name: whole, **{f"{name}-{part}": found for part, found in parts.items()}}


def measured(app: FastAPI, pool: WorkPool) -> CollectorRegistry:
    """Count the answers of an application, in a registry of its own."""
    registry = CollectorRegistry()
    requests = Counter("se_gnn_requests", "answers", ["route", "status"], registry=registry)
    seconds = Histogram("se_gnn_request_seconds", "time to an answer", ["route"], buckets=BUCKETS, registry=registry)
    Gauge("se_gnn_work", "calls that run or wait", registry=registry).set_function(lambda: pool.busy)

    @app.middleware("http")
    async def measure(request: Request, answer: RequestResponseEndpoint) -> Response:
        began, status = time.perf_counter(), "none"
        try:
            response = await answer(request)
            status = str(response.status_code)
            return response
        finally:
            route = getattr(request.scope.get("route"), "path", "other")  # never what was asked for: that has no bound
            requests.labels(route, status).inc()
            seconds.labels(route).observe(time.perf_counter() - began)

    return registry
