"""The pages: each is made from a snapshot and from what a request gives, in the pool."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from html import escape
from typing import Annotated, Any

import numpy as np
from fastapi import Query, Response

from se_gnn.apps.explorer.states import (
    MOST_CRUCIAL,
    MOST_EXPANDED,
    ROWS,
    NodeState,
    TableState,
    address,
    node_href,
    node_key,
    pair_href,
)
from se_gnn.apps.service import models
from se_gnn.apps.service.answers import agreement_of, node_id, other_vote, pair_explanation, recommend, table_of
from se_gnn.apps.service.models import LARGEST_ID, LONGEST_NAME, MOST_NODES, Asked, NodeQuery, Outcome, Part
from se_gnn.apps.service.store import MOST_EXPLANATIONS, Snapshot
from se_gnn.apps.web import Pages
from se_gnn.errors import InputError
from se_gnn.explain import CRUCIAL_EDGES
from se_gnn.explain.attributes import mentioning
from se_gnn.graph.spread import listed_nodes
from se_gnn.plot.local_view import plain_view
from se_gnn.plot.placement import laid_out
from se_gnn.plot.svg import as_text, draw
from se_gnn.report import pairs_html, report_html
from se_gnn.report.card import card_values
from se_gnn.report.node import NodeImages, node_part
from se_gnn.results import as_file, prediction_columns
from se_gnn.similarity import measure_named

STYLES = (
    "colors.css", "page.css", "tables.css", "card.css", "predictions.css", "node.css", "matching.css", "app.css",
    "explorer.css", "print.css", "classes.css",
)  # fmt: skip
MOST_NEAREST = 200  # of the slider
MOST_AROUND = 30  # edges of one node that are drawn around it
_EXPANDS = re.compile(r"expand:(\d+)")  # in place of an address
RECOMMENDED = 15  # links of a node that are shown, and neighbors
MOST_REPORTED = 25  # nodes of one report

Name = Annotated[str, Query(max_length=LONGEST_NAME)]
Names = Annotated[list[str], Query(max_length=MOST_NODES)]
Page = Annotated[int, Query(ge=1, le=LARGEST_ID)]


class Views:
    """The pages of a snapshot; what does not change is kept with it."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def nodes(self, snapshot: Snapshot, query: Asked, page: Page = 1) -> str:
        """The table of the nodes."""
        return self._table("nodes.html", snapshot, TableState(path="/", query=query, page=page))

    def map(self, snapshot: Snapshot, query: Asked, page: Page = 1) -> str:
        """The map, and the table of the nodes in a region of it."""
        return self._table("map.html", snapshot, TableState(path="/map", query=query, page=page))

    def _table(self, template: str, snapshot: Snapshot, state: TableState, notice: str = "") -> str:
        return self.render(template, snapshot, notice=notice, **table_values(snapshot, state))

    def export(self, snapshot: Snapshot, query: Asked, nodes: Names = []) -> Response:  # noqa: B006 - never changed
        """Some nodes, or all listed ones that a query asks for in its order, as `se-gnn predict` writes them."""
        table, graph = table_of(snapshot, query.search), snapshot.trained.graph
        ids = np.array([node_id(snapshot, one) for one in nodes], int) if nodes else table.find(query)
        columns = prediction_columns(graph, snapshot.predicted(ids).of_nodes(ids), intervals=snapshot.intervals)
        return _attached("nodes.csv", as_file(".csv", columns), "text/csv")

    def report(
        self,
        snapshot: Snapshot,
        nodes: Names = [],  # noqa: B006 - never changed
        source: Name = "",
        target: Name = "",
        type: Name = "",
    ) -> str | Response:
        """A report about some nodes or a pair, in one file."""
        if source:
            pair = pair_explanation(snapshot, source, target, type)
            return _attached("report.html", pairs_html([pair], title=snapshot.graph.name), "text/html")
        if not nodes:
            everything = TableState(path="/", query=NodeQuery())
            return self._table("nodes.html", snapshot, everything, "Select at least one node first.")
        ids = [node_id(snapshot, node) for node in nodes[:MOST_REPORTED]]
        table_of(snapshot)  # or 503
        text = report_html(snapshot.trained, ids, prediction=snapshot.predicted(np.array(ids)))
        return _attached("report.html", text, "text/html")

    def node(
        self,
        snapshot: Snapshot,
        node: models.NodePath,
        num_nearest: models.OtherNearest = None,
        node_weight: models.OtherWeight = None,
        without: models.LeftOut = [],  # noqa: B006 - never changed
        edges: Annotated[int, Query(ge=0, le=MOST_CRUCIAL)] = CRUCIAL_EDGES,
        beside: Annotated[list[str], Query(max_length=2)] = [],  # noqa: B006 - of the form, then of a button
        expand: Annotated[list[str], Query(max_length=MOST_EXPANDED)] = [],  # noqa: B006 - never changed
    ) -> str:
        """One node and why it was predicted as it was; of a model of links, its likely links."""
        own, what_if = node_id(snapshot, node), other_vote(snapshot, num_nearest, node_weight, without)
        compared, expanded = ([node_id(snapshot, one) for one in some] for some in (beside, expand))
        if snapshot.predicts_links:
            return self.render("links_page.html", snapshot, **link_values(snapshot, own))
        state = NodeState(
            graph=snapshot.graph,
            node=own,
            what_if=what_if,
            crucial_edges=edges,
            beside=compared[-1] if compared else None,
            expanded=tuple(dict.fromkeys(expanded)),
        )
        return self.render("node_page.html", snapshot, **node_values(snapshot, state))

    def pair(self, snapshot: Snapshot, source: Name, target: Name, type: Name = "") -> str:
        """A pair of nodes and why it is likely to be linked, or not."""
        found = pair_explanation(snapshot, source, target, type)
        paths = {"here_href": "/pairs", "json_href": "/v1/pairs/explanation", "report_href": "/report"}
        hrefs = {name: address(path, source=source, target=target, type=type) for name, path in paths.items()}
        swapped = pair_href(snapshot.graph, found.query.target.id, found.query.source.id, type)
        return self.render("pair_page.html", snapshot, e=found, swapped=swapped, **hrefs)

    def model(self, snapshot: Snapshot) -> str:
        """The model card; it is made once, because prediction sets of all nodes take time."""
        table_of(snapshot)  # or 503
        card: str = snapshot.once("card", lambda: self._model(snapshot))
        return card

    def _model(self, snapshot: Snapshot) -> str:
        if snapshot.predicts_links:
            return self.render("links_model.html", snapshot, model=snapshot.links.trained_)
        assert snapshot.prediction is not None
        values = card_values(snapshot.trained, snapshot.prediction)
        return self.render(
            "model_page.html", snapshot, agreement=agreement_of(snapshot), table=snapshot.table, **values
        )

    def api(self, snapshot: Snapshot, description: Mapping[str, Any], *, token: bool) -> str:
        """What programs can ask for, from the description that OpenAPI has."""
        return self.render("api.html", snapshot, description=description, token=token)

    def render(self, template: str, snapshot: Snapshot, **values: Any) -> str:
        """A page about a snapshot."""
        known = snapshot.once("known", lambda: _known_of(snapshot))
        return self._pages.environment.get_template(template).render(**known, **values)


def _attached(name: str, content: str | bytes, kind: str) -> Response:
    """A file to save."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=f"{kind}; charset=utf-8", headers=headers)


def _known_of(snapshot: Snapshot) -> dict[str, Any]:
    graph = snapshot.graph
    known = {
        "graph": graph,
        "links": snapshot.predicts_links,
        "styles": STYLES,
        "title": graph.name,
        "digest": snapshot.digest or "",
        "shown_name": graph.caption,
        "node_href": partial(node_href, graph),
        "node_key": partial(node_key, graph),
        "pair_href": partial(pair_href, graph),
        "link_edges": True,
        "numbered": graph.captions is None
        and all(graph.node_names[node].isdigit() for node in listed_nodes(graph).tolist()),
        "images": NodeImages(graph),
        "around": _Around(snapshot),
    }
    if not snapshot.predicts_links:
        settings = snapshot.trained.in_use
        known |= {"settings": settings, "measure": measure_named(settings.similarity.measure)}
    return known


def link_values(snapshot: Snapshot, node: int) -> dict[str, Any]:
    """The likely links of a node, for each type that may start from it, and the links that it has."""
    model, graph, found, known = snapshot.links.trained_, snapshot.graph, [], []
    for kind in model.types:
        links = model.scorer(kind).links
        known += [(other, pair_href(graph, node, other, kind.name)) for other in links.ahead.of_node(node).tolist()]
        if kind.directed:
            behind = links.behind.of_node(node).tolist()
            known += [(other, pair_href(graph, other, node, kind.name)) for other in behind]
        with contextlib.suppress(InputError):  # links of this type do not start from such a node
            found.append((kind, recommend(snapshot, f"#{node}", RECOMMENDED, kind.name).recommendations))
    return {"node": node, "found": found, "known": known[:RECOMMENDED], "degree": len(known)}


def table_values(snapshot: Snapshot, state: TableState) -> dict[str, Any]:
    """A page of the table."""
    table = table_of(snapshot, state.query.search)
    found = table.find(state.query)
    last = max(1, -(-len(found) // ROWS))
    page = min(state.page, last)
    first = (page - 1) * ROWS
    return {
        "state": state,
        "query": state.query,
        "table": table,
        "chance": table.measure(state.query.of),
        "nodes": [(node, table.at(node)) for node in found[first : first + ROWS].tolist()],
        "total": len(found),
        "first": first,
        "page": page,
        "last": last,
        "parts": list(Part),
        "outcomes": list(Outcome),
        "answered": table.answered,
    }


def node_values(snapshot: Snapshot, state: NodeState) -> dict[str, Any]:
    """An explanation laid out, and the model's own prediction if the vote has other settings."""
    comparison = snapshot.comparisons.of(state.node)
    rank = 0
    explanation = comparison.explain(1, what_if=state.what_if, attributes=True)[0]
    if state.beside is not None:
        rank = next((i for i, one in enumerate(explanation.votes) if one.node == state.beside), 0)
        if rank:
            explanation = comparison.explain(rank + 1, what_if=state.what_if, attributes=True)[0]
    if snapshot.novelty is not None:
        explanation = explanation.abstaining(snapshot.novelty.abstention(state.node))
    part = node_part(explanation, [rank], crucial_edges=state.crucial_edges, href=partial(node_href, snapshot.graph))
    own = snapshot.comparisons.own(state.node) if state.changed else explanation
    labeled = len(snapshot.graph.train)
    return {
        "state": state,
        "part": part,
        "own": own,
        "beside": part.shown[0].node,
        "most_nearest": min(MOST_NEAREST, labeled - int(explanation.left_out)) or 1,
        "most_crucial": min(MOST_CRUCIAL, max(1, len(explanation.edge_ids))),
    }


class _Around:
    """Draws the edges of a node, and of the nodes around it that were expanded; a click on a node expands it.

    The drawing is the same whatever the sliders say, but for the addresses of its links.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._svg = snapshot, lru_cache(MOST_EXPLANATIONS)(self._draw)

    def __call__(self, state: NodeState) -> str:
        drawn = self._svg(state.node, state.expanded)
        return _EXPANDS.sub(lambda found: escape(state.toggled(int(found[1])), quote=True), drawn)

    def _draw(self, node: int, expanded: tuple[int, ...]) -> str:
        graph, shown = self._snapshot.graph, np.array(sorted({node, *expanded}))
        ptr, _, edge_ids = graph.neighbors().rows(shown)
        some = [edge_ids[low : min(high, low + MOST_AROUND)] for low, high in itertools.pairwise(ptr.tolist())]
        edges = np.unique(np.concatenate(some)).astype(np.int64)
        known = mentioning(self._snapshot.comparisons.own(node), graph, edges, shown.tolist())
        view = plain_view(known, node, edges, {}, most_edges=len(edges))
        links = {one: f"expand:{one}" for one in view.nodes.tolist() if one != node}
        return as_text(draw(view, laid_out([view])[0], known, href=links.get))
