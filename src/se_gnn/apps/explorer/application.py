"""The explorer as a FastAPI application: the pages, and the REST service that they and programs use."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, FastAPI, Path, Query, Response

from se_gnn.apps.explorer.states import MOST_CRUCIAL, NodeState, TableState
from se_gnn.apps.explorer.views import Views
from se_gnn.apps.service.api import LONGEST_SEARCH
from se_gnn.apps.service.application import service
from se_gnn.apps.service.models import LARGEST_ID, MOST_NEAREST, MOST_NODES
from se_gnn.apps.service.node_table import Answered, NodeQuery, Outcome, Part, Sort, part_of_map
from se_gnn.apps.service.store import Snapshot, Store
from se_gnn.apps.web import ProblemError, WebSettings
from se_gnn.explain import CRUCIAL_EDGES
from se_gnn.ranking import WhatIf
from se_gnn.report import report_html

MOST_REPORTED = 25  # nodes of one report

Share = Annotated[float, Query(ge=0, le=1)]
Text = Annotated[str, Query(max_length=20)]


def create_app(store: Store, settings: WebSettings | None = None) -> FastAPI:
    """Pages and service of a store."""
    app, pages, pool = service(store, settings or WebSettings(), ["se_gnn.apps.explorer"])
    views = Views(pages)

    def page(text: str, snapshot: Snapshot) -> Response:
        return Response(text, media_type="text/html; charset=utf-8", headers={"X-Model": snapshot.digest or ""})

    @app.get("/", include_in_schema=False)
    async def nodes(query: Asked, page_number: Page = 1) -> Response:
        snapshot, state = store.snapshot, TableState(path="/", query=query, page=page_number)
        return page(await pool.run(views.nodes, snapshot, state), snapshot)

    @app.get("/map", include_in_schema=False)
    async def node_map(query: Asked, page_number: Page = 1) -> Response:
        snapshot, state = store.snapshot, TableState(path="/map", query=query, page=page_number)
        return page(await pool.run(views.map, snapshot, state), snapshot)

    @app.get("/model", include_in_schema=False)
    async def model() -> Response:
        snapshot = store.snapshot
        return page(await pool.run(views.model, snapshot), snapshot)

    @app.get("/nodes/{node}", include_in_schema=False)
    async def node(state: Seen) -> Response:
        snapshot = store.snapshot
        return page(await pool.run(views.node, snapshot, state), snapshot)

    @app.get("/report", include_in_schema=False)
    async def report(nodes: Annotated[list[int], Query(max_length=MOST_REPORTED)] = []) -> Response:  # noqa: B006
        snapshot = store.snapshot
        if not nodes:
            raise ProblemError(400, "choose at least one node for the report")
        text = await pool.run(lambda: report_html(snapshot.trained, nodes, prediction=snapshot.prediction))
        named = {"Content-Disposition": 'attachment; filename="report.html"'}
        return Response(text, media_type="text/html; charset=utf-8", headers=named)

    return app


def _query(
    search: Annotated[str, Query(max_length=LONGEST_SEARCH)] = "",
    predicted: Text = "",
    label: Text = "",
    part: Text = "",
    outcome: Text = "",
    answered: Text = "",
    least: Share = 0.0,
    most: Share = 1.0,
    left: Share = 0.0,
    bottom: Share = 0.0,
    right: Share = 1.0,
    top: Share = 1.0,
    sort: Sort = Sort.node,
    descending: bool = False,
) -> NodeQuery:
    """What a form asks for; a field that is empty asks for nothing."""
    return NodeQuery(
        search=search, predicted=_number(predicted), label=_number(label), least=least, most=most,
        part=Part(part) if part in list(Part) else None,
        outcome=Outcome(outcome) if outcome in list(Outcome) else None,
        answered=Answered(answered) if answered in list(Answered) else None,
        region=part_of_map(left, bottom, right, top), sort=sort, descending=descending,
    )  # fmt: skip


def _state(
    node: Annotated[int, Path(ge=0, le=LARGEST_ID)],
    num_nearest: Annotated[int | None, Query(ge=1, le=MOST_NEAREST)] = None,
    node_weight: Annotated[float | None, Query(ge=0, le=1)] = None,
    without: Annotated[list[int], Query(max_length=MOST_NODES)] = [],  # noqa: B006 - never changed
    edges: Annotated[int, Query(ge=0, le=MOST_CRUCIAL)] = CRUCIAL_EDGES,
    beside: Annotated[list[int], Query(max_length=2)] = [],  # noqa: B006 - of the form, then of a button
) -> NodeState:
    """What is seen of a node."""
    other = WhatIf(num_nearest=num_nearest, node_weight=node_weight, without=tuple(dict.fromkeys(without)))
    return NodeState(node=node, what_if=other, crucial_edges=edges, beside=beside[-1] if beside else None)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


Asked = Annotated[NodeQuery, Depends(_query)]
Seen = Annotated[NodeState, Depends(_state)]
Page = Annotated[int, Query(alias="page", ge=1, le=LARGEST_ID)]
