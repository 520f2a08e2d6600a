"""Answers from a snapshot: plain functions, which the application runs in its pool.

Those that programs can ask for take a snapshot and what a request gives; their first lines describe them in OpenAPI.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from fastapi import Query, Response
from starlette.exceptions import HTTPException

from se_gnn.apps.service import models
from se_gnn.apps.service.models import LinkType, Node, NodeAsked, NodePath, Offset, Outcome, Part
from se_gnn.apps.service.node_table import OUTCOMES, NodeTable
from se_gnn.apps.service.store import Snapshot
from se_gnn.apps.web.guard import busy
from se_gnn.encoder.outputs import OutputEncoder
from se_gnn.errors import InputError
from se_gnn.explain import EdgeInfo, Explanation, explain
from se_gnn.explain.attributes import edge_info
from se_gnn.explain.text import agreeing_facts
from se_gnn.graph import local_graphs
from se_gnn.graph.arrays import IntArray
from se_gnn.links import PairExplanation
from se_gnn.model.numbers import NumberPrediction, number_metrics, predict
from se_gnn.optional import require
from se_gnn.ranking import WhatIf
from se_gnn.report.predictions import SHOWN_PARTS, predicted_of
from se_gnn.results import prediction_columns, records
from se_gnn.similarity import Nearest, Similarities

MOST_MATCHES = 200


def table_of(snapshot: Snapshot, named: str = "") -> NodeTable:
    """The table of nodes, that of a large graph with a row for a node that is named; until it is there, 503."""
    table = snapshot.table
    if table is None:
        raise busy("the nodes are being scored; ask again in a moment", 1)
    if named and not table.every:
        with contextlib.suppress(InputError):  # words, not the name of a node
            table = snapshot.table_with(snapshot.graph.nodes.find(named.strip()))
    return table


def node_id(snapshot: Snapshot, key: int | str) -> int:
    """A node by position (a number) or by name, caption or #POSITION (a text); 404 if there is none."""
    try:
        return snapshot.graph.nodes.find(key) if isinstance(key, str) else snapshot.graph.node_id(key)
    except InputError as error:
        raise HTTPException(404, str(error)) from error


def node_of(snapshot: Snapshot, node: int) -> Node:
    """A node."""
    return Node(**_about(snapshot, node))


def _about(snapshot: Snapshot, node: int) -> dict[str, Any]:
    graph = snapshot.graph
    known: str | float | None = None
    if graph.target.take(np.array([node])).known[0] and not snapshot.predicts_links:
        known = float(graph.values[node]) if graph.predicts_numbers else graph.class_names[graph.labels[node]]
    return {"id": node, "name": graph.node_names[node], "caption": graph.caption(node), "label": known}


def model(snapshot: Snapshot) -> models.ModelCard:
    """The model that is served, and how good it is."""
    graph, about = snapshot.graph, dict[str, Any]()
    if snapshot.predicts_links:
        link = snapshot.links.trained_
        about |= {"predicts": "links", "link_types": [one.name for one in link.types]}
        about |= {"num_nearest": link.settings.num_nearest, "node_weight": link.settings.node_weight}
        about["validation"] = link.facts["validation"]
    else:
        if graph.predicts_numbers:
            about |= {"predicts": "numbers", "number": graph.numbers.name, "unit": graph.numbers.unit}
        else:
            about |= {"predicts": "classes", "classes": graph.class_names}
        settings = snapshot.trained.in_use
        about |= {name: getattr(settings.vote, name) for name in ("num_nearest", "temperature")}
        about |= {name: getattr(settings.similarity, name) for name in ("node_weight", "hops", "measure", "directions")}
        about |= {"preset": settings.preset, "agreement": agreement_of(snapshot), "accuracy": _accuracy(snapshot)}
    return models.ModelCard(
        name=graph.name, digest=snapshot.digest or "", nodes=graph.num_nodes, edges=graph.num_edges,
        features=graph.num_features, scored=snapshot.ready, listed=None if snapshot.table is None else
        len(snapshot.table), **about,
    )  # fmt: skip


def nodes(
    snapshot: Snapshot,
    query: models.Asked,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=models.MOST_ROWS, description="rows of the page")] = 25,
) -> models.NodePage:
    """All nodes, or of a large graph some: searched, filtered, sorted, in pages."""
    table = table_of(snapshot, query.search)
    found = table.find(query)
    rows = [_row(snapshot, table, node) for node in found[offset : offset + limit].tolist()]
    return models.NodePage(total=len(found), offset=offset, every=table.every, rows=rows)


def node(snapshot: Snapshot, node: NodePath) -> models.NodeRow:
    """One node: what is known about it, and what is predicted."""
    own = node_id(snapshot, node)
    return _row(snapshot, table_of(snapshot, f"#{own}"), own)


def _row(snapshot: Snapshot, table: NodeTable, node: int) -> models.NodeRow:
    return models.NodeRow(**_about(snapshot, node), **table.row(table.at(node)))


def predictions(snapshot: Snapshot, request: models.PredictRequest) -> Response:
    """Predictions with their votes: of known nodes, or of new rows with their edges, which are not stored."""
    snapshot, nodes, notes = _asked(snapshot, request)
    columns = prediction_columns(snapshot.graph, predict(snapshot.trained, nodes), intervals=snapshot.intervals)
    return _as_json(json.dumps({"predictions": records(columns), "notes": notes}, ensure_ascii=False))


def explain_batch(snapshot: Snapshot, request: models.ExplainRequest) -> Response:
    """Explanations of known nodes, or of new rows with their edges, which are not stored."""
    snapshot, nodes, notes = _asked(snapshot, request)
    batch = explain(snapshot.trained, nodes, k=request.k)
    listed = ",".join(one.to_json(indent=None) for one in batch)
    return _as_json(f'{{"explanations":[{listed}],"notes":{json.dumps(notes, ensure_ascii=False)}}}')


def _asked(snapshot: Snapshot, request: models.PredictRequest) -> tuple[Snapshot, IntArray, list[str]]:
    """The nodes that a request asks for; new rows are scored as if they had been in the graph from the start.

    Nothing is trained or stored: the new rows are in a snapshot of their own.
    """
    if request.nodes is not None:
        return snapshot, np.array([node_id(snapshot, key) for key in request.nodes], dtype=np.int64), []
    from se_gnn.tables import read_new_nodes

    if not request.new_nodes:
        raise InputError("give `nodes`, names or positions of known nodes, or `new_nodes`, rows of the node table")
    trained, num_nodes = snapshot.trained, snapshot.graph.num_nodes
    edges = _tables(request.new_edges) if request.new_edges else None
    new = read_new_nodes(snapshot.graph, _tables(request.new_nodes), edges)
    grown = Snapshot(trained.with_new_nodes(new), snapshot.digest)
    nodes = grown.graph.candidates  # of new authors beside new papers, only papers have an answer
    return grown, nodes[nodes >= num_nodes], list(new.notes)


def _tables(given: models.Rows | Mapping[str, models.Rows]) -> Any:
    """One Arrow table, or one for each type."""
    return {name: _table(rows) for name, rows in given.items()} if isinstance(given, Mapping) else _table(given)


def _table(rows: models.Rows) -> Any:
    """Rows as an Arrow table; the cells of a column that mixes numbers and texts become texts."""
    pa: Any = require("pyarrow", extra="tables", feature="new rows")
    arrays = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays[name] = pa.array([None if value is None else str(value) for value in values])
    return pa.table(arrays)


def explain_node(
    snapshot: Snapshot,
    node: NodePath,
    k: Annotated[
        int, Query(ge=1, le=models.MOST_EXPLAINED, description="cases with matched edges and shared attributes")
    ] = 5,
    num_nearest: models.OtherNearest = None,
    node_weight: models.OtherWeight = None,
    without: models.LeftOut = [],  # noqa: B006 - never changed
) -> Response:
    """Why a node gets its prediction, in the library's versioned JSON; also with other settings of the vote."""
    other = other_vote(snapshot, num_nearest, node_weight, without)
    return _as_json(explanation(snapshot, node, k, other).to_json(indent=None))


def other_vote(
    snapshot: Snapshot, num_nearest: int | None, node_weight: float | None, without: Sequence[int | str]
) -> WhatIf:
    """Settings of a vote that a request gives; None: as the model has it."""
    left_out = dict.fromkeys(node_id(snapshot, one) for one in without)
    return WhatIf(num_nearest=num_nearest, node_weight=node_weight, without=tuple(left_out))


def explanation(snapshot: Snapshot, node: int | str, k: int | None, what_if: WhatIf) -> Explanation:
    """An explanation, under the model's settings or others."""
    found = snapshot.comparisons.of(node_id(snapshot, node))
    return found.explain(k, what_if=what_if, attributes=True)[0]


def nearest(
    snapshot: Snapshot,
    node: NodePath,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=models.MOST_ROWS)] = 25,
) -> models.NearestPage:
    """The labeled nodes by their similarity with a node."""
    ranking = snapshot.comparisons.of(node_id(snapshot, node)).explain(1).ranking
    total = int(ranking.voting[0].sum())
    weights = np.zeros(ranking.depth, dtype=np.float32)
    weights[: ranking.num_nearest] = ranking.weights[0].numpy()
    nodes = ranking.nodes[0]
    page = [
        models.Nearest(
            **_about(snapshot, int(nodes[rank])),
            **_similarities(ranking.nearest, rank),
            rank=rank,
            weight=float(weights[rank]),
        )
        for rank in range(offset, min(offset + limit, total))
    ]
    return models.NearestPage(total=total, offset=offset, nearest=page)


def local_graph(
    snapshot: Snapshot,
    node: NodePath,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=models.MOST_EDGES)] = 1000,
) -> models.LocalGraphPage:
    """The edges around a node that are compared with those around labeled nodes."""
    own, settings = node_id(snapshot, node), snapshot.trained.settings.similarity
    edges = local_graphs(snapshot.graph, np.array([own]), settings.hops, settings.max_edges).row(0)
    page = edges[offset : offset + limit]
    ends = snapshot.graph.edges.ends[page]
    return models.LocalGraphPage(
        node=node_of(snapshot, own),
        hops=settings.hops,
        total=len(edges),
        offset=offset,
        edges=[_edge(edge_info(snapshot.graph, edge)) for edge in page.tolist()],
        nodes=[node_of(snapshot, int(one)) for one in np.unique(np.append(ends, own))],
    )


@torch.no_grad()
def similarity(snapshot: Snapshot, request: models.SimilarityRequest) -> models.SimilarityAnswer:
    """How similar two nodes are, and which of their edges match."""
    one, other = node_id(snapshot, request.one), node_id(snapshot, request.other)
    trained, settings = snapshot.trained, snapshot.trained.settings.similarity
    query, case = (trained.similarity.items(np.array([node])) for node in (one, other))
    found, matches = trained.similarity.compare_with_matches(query, case)
    values, matched = (table[:, 0] for table in matches.of(0))
    known = np.flatnonzero(matched >= 0)
    best = known[np.argsort(-values[known], kind="stable")][:MOST_MATCHES]
    edges, matches_of_edges = (
        [edge_info(snapshot.graph, edge) for edge in ids[best].tolist()] for ids in (query.local.row(0), matched)
    )
    return models.SimilarityAnswer(
        one=node_of(snapshot, one),
        other=node_of(snapshot, other),
        **_similarities(found, 0),
        node_weight=settings.node_weight,
        measure=settings.measure,
        matches=[
            models.MatchedEdge(
                edge=_edge(first), matched=_edge(second), similarity=value, alike=list(agreeing_facts(first, second))
            )
            for first, second, value in zip(edges, matches_of_edges, values[best].tolist())
        ],
        num_matches=len(known),
    )


def node_map(snapshot: Snapshot) -> models.MapAnswer:
    """The nodes on a plane, by their embeddings."""
    if snapshot.map is None:
        raise busy("the nodes are being placed; ask again in a moment", 1)
    return snapshot.map


def pairs(snapshot: Snapshot, request: models.PairsRequest) -> models.Pairs:
    """How likely pairs of nodes are linked, by a model of links."""
    ids = [(node_id(snapshot, one), node_id(snapshot, other)) for one, other in request.pairs]
    found = snapshot.links.predict_proba(ids, type=request.type).tolist()
    return models.Pairs(
        pairs=[
            models.Pair(source=node_of(snapshot, u), target=node_of(snapshot, v), probability=chance)
            for (u, v), chance in zip(ids, found)
        ]
    )


def explain_pair(snapshot: Snapshot, source: NodeAsked, target: NodeAsked, type: LinkType = None) -> Response:
    """Why two nodes are likely to be linked, or not: the neighbors that vote, in the library's JSON."""
    return _as_json(pair_explanation(snapshot, source, target, type).to_json())


def pair_explanation(snapshot: Snapshot, source: int | str, target: int | str, kind: str | None) -> PairExplanation:
    """Why two nodes are likely to be linked, or not."""
    return snapshot.links.explain(node_id(snapshot, source), node_id(snapshot, target), type=kind or None)


def recommend(
    snapshot: Snapshot, node: NodePath, k: Annotated[int, Query(ge=1, le=models.MOST_ROWS)] = 10, type: LinkType = None
) -> models.Recommendations:
    """The likeliest new links of a node: exact, over all nodes that it may be linked with."""
    predictor, own = snapshot.links, node_id(snapshot, node)
    found = [
        models.Recommended(**_about(snapshot, one.node), probability=one.probability)
        for one in predictor.recommend(own, k, type=type or None)
    ]
    return models.Recommendations(node=node_of(snapshot, own), recommendations=found)


def _as_json(text: str) -> Response:
    return Response(text.encode("utf-8", "replace"), media_type="application/json")


def _accuracy(snapshot: Snapshot) -> list[models.PartFigures]:
    """How good the model is on each part of the split."""
    if snapshot.table is None or snapshot.prediction is None:
        return []
    graph, outcome, found = snapshot.graph, snapshot.table.outcome, []
    right = OUTCOMES.index(Outcome.right)
    for part, name in SHOWN_PARTS.items():
        nodes = predicted_of(getattr(graph, part), snapshot.prediction)
        figures: dict[str, Any] = {"part": Part(name), "nodes": len(nodes)}
        if graph.predicts_numbers and isinstance(snapshot.prediction, NumberPrediction):
            measured = number_metrics(snapshot.prediction.of_nodes(nodes).values, graph.values[nodes])
            figures |= {name: measured[name] for name in ("r2", "mae", "rmse")}
        elif len(nodes):
            figures["accuracy"] = float((outcome[np.searchsorted(snapshot.table.nodes, nodes)] == right).mean())
        found.append(models.PartFigures(**figures))
    return found


def agreement_of(snapshot: Snapshot) -> float | None:
    """Share of held-out nodes on which the vote agrees with the model it explains; None: the vote is the model."""
    trained = snapshot.trained
    if not isinstance(trained.encoder, OutputEncoder) or trained.facts.test is None:
        return None
    return float(trained.facts.test["accuracy"])


def _similarities(found: Nearest | Similarities, rank: int) -> dict[str, Any]:
    """How similar the first query and a case are; nothing is known of the structure if one of them has no edges."""
    overall, node, structure = (float(part[0, rank]) for part in (found.overall, found.node, found.structure))
    known = structure if np.isfinite(structure) else None
    return {"similarity": overall, "node_similarity": node, "structure_similarity": known}


def _edge(info: EdgeInfo) -> models.Edge:
    return models.Edge.model_validate(info, from_attributes=True)
