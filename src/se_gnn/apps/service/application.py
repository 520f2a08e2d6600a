"""The REST service as a FastAPI application: its addresses, its description, figures for Prometheus.

Everything that computes runs in the pool. Nothing happens at import.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Response
from fastapi.openapi.utils import get_openapi
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as latest
from pydantic import BeforeValidator, TypeAdapter

from se_gnn import __version__
from se_gnn.apps.service import answers, models
from se_gnn.apps.service.columns import Sort
from se_gnn.apps.service.models import (
    LARGEST_ID,
    LONGEST_NAME,
    MOST_EDGES,
    MOST_EXPLAINED,
    MOST_NEAREST,
    MOST_NODES,
    MOST_ROWS,
)
from se_gnn.apps.service.node_table import Answered, NodeQuery, Outcome, Part, part_of_map
from se_gnn.apps.service.store import Store, turn
from se_gnn.apps.web import PROBLEMS, Assets, Pages, Problem, WebSettings, WorkPool, new_application
from se_gnn.apps.web.guard import Application, Message, Receive, Scope, Send, busy
from se_gnn.explain import Explanation, schema
from se_gnn.ranking import WhatIf
from se_gnn.report.templating import class_colors

FEWEST_COLORS = 256  # of classes: another model may have more than this one

DESCRIPTION = "What a model predicts for the nodes of a graph, and the labeled nodes behind every prediction."
LONGEST_SEARCH = 200

NodePath = Annotated[
    str, Path(max_length=LONGEST_NAME, description="a node: its name, a caption that only one node has, or #POSITION")
]
Offset = Annotated[int, Query(ge=0, le=LARGEST_ID)]
Share = Annotated[float, Query(ge=0, le=1)]
NodeName = Annotated[str, Query(max_length=LONGEST_NAME, description="a node, as in the address of a node")]
LinkType = Annotated[str | None, Query(max_length=LONGEST_NAME, description="type of the link, if there are several")]
REFERENCE = "#/components/schemas/Explanation"
EXPLANATION: dict[str, Any] = {
    "description": "the explanation",
    "content": {"application/json": {"schema": {"$ref": REFERENCE}}},
}
PAIR: dict[str, Any] = {
    "description": "the explanation of a pair",
    "content": {"application/json": {"schema": {"$ref": f"{REFERENCE}OfPair"}}},
}
EXPLANATIONS: dict[str, Any] = {
    "description": "the explanations, in the order of the request, and notes on new rows",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["explanations", "notes"],
                "additionalProperties": False,
                "properties": {
                    "explanations": {"type": "array", "items": {"$ref": REFERENCE}},
                    "notes": {"type": "array", "items": {"type": "string"}},
                },
            }
        }
    },
}
Blank = BeforeValidator(lambda given: None if given == "" else given)  # a field of a form that was left empty
Class = Annotated[models.NodeId | None, Blank, Query(description="number of a class")]
Bound = Annotated[float | None, Blank, Query(description="bound of the probability, or of the predicted number")]


def node_query(
    search: Annotated[str, Query(max_length=LONGEST_SEARCH, description="words of name or caption")] = "",
    of: Annotated[Class, Query(description="number of the class whose probability is meant; it is sorted by")] = None,
    predicted: Class = None,
    label: Class = None,
    part: Annotated[Part | None, Blank, Query(description="part of the split")] = None,
    outcome: Annotated[Outcome | None, Blank, Query(description="whether the prediction is right")] = None,
    answered: Annotated[Answered | None, Blank, Query(description="whether the model gives an answer")] = None,
    least: Bound = None,
    most: Bound = None,
    left: Annotated[Share, Query(description="region of the map, as a share of its width")] = 0.0,
    bottom: Annotated[Share, Query(description="region of the map, as a share of its height")] = 0.0,
    right: Share = 1.0,
    top: Share = 1.0,
    sort: Annotated[Sort, Query(description="column to sort by")] = Sort.node,
    descending: bool = False,
) -> NodeQuery:
    """Which nodes are asked for. A class to rank by comes with its order."""
    if of is not None and sort is Sort.node:
        sort, descending = Sort.probability, True
    return NodeQuery(
        search=search, of=of, predicted=predicted, label=label, part=part, outcome=outcome, answered=answered,
        least=least, most=most, region=part_of_map(left, bottom, right, top), sort=sort, descending=descending,
    )  # fmt: skip


Asked = Annotated[NodeQuery, Depends(node_query)]
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
    metrics = Metrics(lambda: pool.busy)
    app.add_middleware(Measured, metrics=metrics)
    router, watching = APIRouter(prefix="/v1"), APIRouter()
    add_routes(router, store, pool)
    _watch(watching, store, metrics)
    for one in (router, watching):
        app.include_router(one, responses=PROBLEMS)
    describe(app)
    return app, pages, pool


def _watch(router: APIRouter, store: Store, metrics: Metrics) -> None:
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

    text: dict[str, Any] = {"description": "figures", "content": {"text/plain": {"schema": {"type": "string"}}}}

    @router.get("/metrics", response_class=Response, responses={200: text})
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(latest(metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8")


def add_routes(router: APIRouter, store: Store, pool: WorkPool) -> None:
    """Answer for a store; whatever computes runs in the pool."""

    @router.get("/model")
    async def model() -> models.ModelCard:
        """The model that is served, and how good it is."""
        return await pool.run(answers.model_card, store.snapshot)

    @router.get("/nodes")
    async def nodes(
        query: Asked,
        offset: Offset = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="rows of the page")] = 25,
    ) -> models.NodePage:
        """All nodes: searched, filtered, sorted, in pages."""
        return await pool.run(answers.node_page, store.snapshot, query, offset, limit)

    @router.post("/predict")
    async def predict(request: models.PredictRequest) -> models.Predictions:
        """Predictions with their votes: of known nodes, or of new rows with their edges, which are not stored."""
        return await pool.run(answers.predictions, store.snapshot, request)

    @router.post("/explain", responses={200: EXPLANATIONS})
    async def explain_batch(request: models.ExplainRequest) -> Response:
        """Explanations of known nodes, or of new rows with their edges, which are not stored."""
        text = await pool.run(answers.explanations, store.snapshot, request)
        return Response(text, media_type="application/json")

    @router.get("/nodes/{node:path}/explanation", responses={200: EXPLANATION})
    async def explain(
        node: NodePath,
        k: Annotated[
            int, Query(ge=1, le=MOST_EXPLAINED, description="cases with matched edges and shared attributes")
        ] = 5,
        num_nearest: Annotated[int | None, Query(ge=1, le=MOST_NEAREST, description="K, not the model's")] = None,
        node_weight: Annotated[float | None, Query(ge=0, le=1, description="lambda, other than the model's")] = None,
        without: Annotated[list[str], Query(max_length=MOST_NODES, description="labeled nodes that do not vote")] = [],  # noqa: B006 - never changed
    ) -> Response:
        """Why a node gets its prediction, in the library's versioned JSON; also with other settings of the vote."""
        snapshot = store.snapshot
        kept = tuple(answers.node_id(snapshot, one) for one in without)
        other = WhatIf(num_nearest=num_nearest, node_weight=node_weight, without=kept)
        text = await pool.run(lambda: _json(answers.explanation(snapshot, node, k, other)))
        return Response(text, media_type="application/json")

    @router.get("/nodes/{node:path}/nearest")
    async def nearest(
        node: NodePath, offset: Offset = 0, limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 25
    ) -> models.NearestPage:
        """The labeled nodes by their similarity with a node."""
        return await pool.run(answers.nearest, store.snapshot, node, offset, limit)

    @router.get("/nodes/{node:path}/local-graph")
    async def local_graph(
        node: NodePath, offset: Offset = 0, limit: Annotated[int, Query(ge=1, le=MOST_EDGES)] = 1000
    ) -> models.LocalGraphPage:
        """The edges around a node that are compared with those around labeled nodes."""
        return await pool.run(answers.local_graph, store.snapshot, node, offset, limit)

    @router.get("/nodes/{node:path}/recommendations")
    async def recommend(
        node: NodePath, k: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 10, type: LinkType = None
    ) -> models.Recommendations:
        """The likeliest new links of a node: exact, over all nodes that it may be linked with."""
        return await pool.run(answers.recommendations, store.snapshot, node, k, type)

    @router.get("/nodes/{node:path}")
    async def node(node: NodePath) -> models.NodeRow:
        """One row of that table."""
        snapshot = store.snapshot
        return await pool.run(lambda: answers.node_row(snapshot, answers.node_id(snapshot, node)))

    @router.post("/similarity")
    async def similarity(request: models.SimilarityRequest) -> models.SimilarityAnswer:
        """How similar two nodes are, and which of their edges match."""
        return await pool.run(answers.similarity, store.snapshot, request)

    @router.post("/what-if")
    async def what_if(request: models.WhatIfRequest) -> models.WhatIfAnswer:
        """The vote with another K, another lambda, or without some labeled nodes; nothing is retrained."""
        return await pool.run(answers.what_if, store.snapshot, request)

    @router.post("/pairs")
    async def pairs(request: models.PairsRequest) -> models.Pairs:
        """How likely pairs of nodes are linked, by a model of links."""
        return await pool.run(answers.pairs, store.snapshot, request)

    @router.get("/pairs/explanation", responses={200: PAIR})
    async def explain_pair(source: NodeName, target: NodeName, type: LinkType = None) -> Response:
        """Why two nodes are likely to be linked, or not: the neighbors that vote, in the library's JSON."""
        text = await pool.run(lambda: answers.pair_explanation(store.snapshot, source, target, type).to_json())
        return Response(text.encode("utf-8", "replace"), media_type="application/json")

    @router.get("/map")
    async def node_map() -> models.MapAnswer:
        """All nodes on a plane, by their embeddings."""
        return await pool.run(answers.node_map, store.snapshot)


def _json(explanation: Explanation) -> bytes:
    return explanation.to_json(indent=None).encode("utf-8", "replace")


def describe(app: FastAPI) -> None:
    """Have the application describe itself with what FastAPI cannot know."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = found.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            schemas.update(explanation_schemas(schema(), "Explanation"))
            schemas.update(explanation_schemas(_pair_schema(), "ExplanationOfPair"))
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


def _pair_schema() -> dict[str, Any]:
    from se_gnn.links import PairExplanation

    return TypeAdapter(PairExplanation).json_schema()


class Metrics:
    """Counts of one application, in a registry of its own."""

    def __init__(self, busy: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("se_gnn_requests", "answers", ["route", "status"], registry=self.registry)
        about = ("se_gnn_request_seconds", "time to the end of an answer", ["route"])
        self.seconds = Histogram(*about, buckets=BUCKETS, registry=self.registry)
        Gauge("se_gnn_work", "calls that run or wait", registry=self.registry).set_function(busy)


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
