"""The explorer as a FastAPI application: the pages, and the REST service that they and programs use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Path, Query, Response

from se_gnn.apps.explorer.labels import LabelPages, add_label_pages
from se_gnn.apps.explorer.states import MOST_CRUCIAL, MOST_EXPANDED, NodeState, TableState
from se_gnn.apps.explorer.views import Views
from se_gnn.apps.service import answers
from se_gnn.apps.service.application import Asked, service
from se_gnn.apps.service.models import LARGEST_ID, LONGEST_NAME, MOST_NEAREST, MOST_NODES
from se_gnn.apps.service.node_table import NodeQuery
from se_gnn.apps.service.store import Snapshot, Store
from se_gnn.apps.web import WebSettings
from se_gnn.explain import CRUCIAL_EDGES
from se_gnn.ranking import WhatIf
from se_gnn.report import pairs_html, report_html

MOST_REPORTED = 25  # nodes of one report

Name = Annotated[str, Query(max_length=LONGEST_NAME)]
Chosen = Annotated[list[str], Query(max_length=MOST_NODES)]


def create_app(store: Store, settings: WebSettings | None = None) -> FastAPI:
    """Pages and service of a store."""
    settings = settings or WebSettings()
    app, pages, pool = service(store, settings, ["se_gnn.apps.explorer"])
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

    @app.get("/nodes/{node:path}", include_in_schema=False)
    async def node(state: Seen) -> Response:
        snapshot = store.snapshot
        return page(await pool.run(lambda: views.node(snapshot, state(snapshot))), snapshot)

    @app.get("/pairs", include_in_schema=False)
    async def pair(source: Name, target: Name, type: Name = "") -> Response:
        snapshot = store.snapshot
        return page(await pool.run(views.pair, snapshot, source, target, type), snapshot)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        snapshot = store.snapshot
        return page(views.api(snapshot, app.openapi(), token=settings.token is not None), snapshot)

    @app.get("/report", include_in_schema=False)
    async def report(nodes: Chosen = [], source: Name = "", target: Name = "", type: Name = "") -> Response:  # noqa: B006 - never changed
        snapshot = store.snapshot
        if not nodes and not source:
            table = TableState(path="/", query=NodeQuery())
            return page(await pool.run(views.nodes, snapshot, table, "Select at least one node first."), snapshot)

        def written() -> str:
            if source:
                explanation = answers.pair_explanation(snapshot, source, target, type)
                return pairs_html([explanation], title=snapshot.graph.name)
            ids = [answers.node_id(snapshot, node) for node in nodes[:MOST_REPORTED]]
            return report_html(snapshot.trained, ids, prediction=snapshot.prediction)

        text = await pool.run(written)
        return Response(text, media_type="text/html; charset=utf-8", headers=_attached("report.html"))

    @app.get("/export", include_in_schema=False)
    async def export(query: Asked, nodes: Chosen = []) -> Response:  # noqa: B006 - never changed
        snapshot = store.snapshot
        content = await pool.run(views.export, snapshot, query, nodes)
        return Response(content, media_type="text/csv; charset=utf-8", headers=_attached("nodes.csv"))

    add_label_pages(app, LabelPages(store, views, settings), pool, page)
    return app


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _node_state(
    node: Annotated[str, Path(max_length=LONGEST_NAME)],
    num_nearest: Annotated[int | None, Query(ge=1, le=MOST_NEAREST)] = None,
    node_weight: Annotated[float | None, Query(ge=0, le=1)] = None,
    without: Annotated[list[str], Query(max_length=MOST_NODES)] = [],  # noqa: B006 - never changed
    edges: Annotated[int, Query(ge=0, le=MOST_CRUCIAL)] = CRUCIAL_EDGES,
    beside: Annotated[list[str], Query(max_length=2)] = [],  # noqa: B006 - of the form, then of a button
    expand: Annotated[list[str], Query(max_length=MOST_EXPANDED)] = [],  # noqa: B006 - never changed
) -> Callable[[Snapshot], NodeState]:
    """What is shown of a node, once there is a snapshot to look its name up in."""

    def state(snapshot: Snapshot) -> NodeState:
        found = ([answers.node_id(snapshot, one) for one in some] for some in (without, beside, expand))
        off, compared, expanded = found
        what_if = WhatIf(num_nearest=num_nearest, node_weight=node_weight, without=tuple(dict.fromkeys(off)))
        return NodeState(
            graph=snapshot.graph,
            node=answers.node_id(snapshot, node),
            what_if=what_if,
            crucial_edges=edges,
            beside=compared[-1] if compared else None,
            expanded=tuple(dict.fromkeys(expanded)),
        )

    return state


Seen = Annotated[Callable[[Snapshot], NodeState], Depends(_node_state)]
Page = Annotated[int, Query(alias="page", ge=1, le=LARGEST_ID)]
