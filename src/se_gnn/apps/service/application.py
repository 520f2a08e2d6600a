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
from se_gnn.apps.web import PROBLEMS, Assets, Pages, Problem, WebSettings, WorkPool, new_application
from se_gnn.apps.web.guard import busy
from se_gnn.errors import did_you_mean, shortened
from se_gnn.explain import schema
from se_gnn.report.templating import class_colors

FEWEST_COLORS = 256  # of classes: another model may have more than this one

DESCRIPTION = "What a model predicts for the nodes of a graph, and the labeled nodes behind every prediction."

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


def create_app(store: Store, settings: WebSettings | None = None) -> FastAPI:
    """The REST service alone; `se_gnn.apps.explorer.create_app` has the pages, too."""
    app, _, _ = service(store, settings or WebSettings())
    return app


def service(store: Store, settings: WebSettings, packages: Sequence[str] = ()) -> tuple[FastAPI, Pages, WorkPool]:
    """The application, and what pages that are added to it need; ``packages`` bring templates and assets."""
    graph = store.snapshot.graph
    colors = class_colors(max(FEWEST_COLORS, 0 if graph.predicts_numbers else graph.num_classes)).encode()
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
    router, watching = APIRouter(prefix="/v1", dependencies=[Depends(known_parameters)]), APIRouter()
    add_routes(router, store, pool)
    _watch(watching, store, measured(app, pool))
    for one in (router, watching):
        app.include_router(one, responses=PROBLEMS)
    describe(app)
    return app, pages, pool


def _watch(router: APIRouter, store: Store, registry: CollectorRegistry) -> None:
    @router.get("/healthz")
    async def health() -> dict[str, str]:
        """The server is there."""
        return {"status": "alive"}

    @router.get("/readyz")
    async def ready() -> models.Readiness:
        """All nodes have been scored; until then 503. `refused` says why a changed model folder is not served."""
        snapshot = store.snapshot
        if not snapshot.ready:
            raise busy("all nodes are being scored", 1)
        return models.Readiness(status="ready", digest=snapshot.digest or "", scored=True, refused=store.refused)

    @router.get("/metrics", response_class=PlainTextResponse)
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")


def add_routes(router: APIRouter, store: Store, pool: WorkPool) -> None:
    """Answer for a store, under the addresses of the service."""
    from se_gnn.links import PairExplanation  # with scikit-learn, which takes a second

    def get(path: str, answer: Callable[..., Any], **about: Any) -> None:
        router.get(path, **about)(endpoint(answer, store, pool))

    def post(path: str, answer: Callable[..., Any], **about: Any) -> None:
        router.post(path, **about)(endpoint(answer, store, pool))

    get("/model", answers.model)
    get("/nodes", answers.nodes)
    post("/predict", answers.predictions, name="predict", responses={200: {"model": models.Predictions}})
    post("/explain", answers.explain_batch, responses={200: {"model": models.Explanations}})
    one = {200: {"description": "the explanation", "content": {"application/json": {"schema": models.EXPLANATION}}}}
    get("/nodes/{node:path}/explanation", answers.explain_node, name="explain", responses=one)
    get("/nodes/{node:path}/nearest", answers.nearest)
    get("/nodes/{node:path}/local-graph", answers.local_graph)
    get("/nodes/{node:path}/recommendations", answers.recommend)
    get("/nodes/{node:path}", answers.node)
    post("/similarity", answers.similarity)
    post("/pairs", answers.pairs)
    get("/pairs/explanation", answers.explain_pair, responses={200: {"model": PairExplanation}})
    get("/map", answers.node_map)


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
