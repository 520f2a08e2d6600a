"""Answers from a snapshot: plain functions that run in the pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from se_gnn.apps.service import models
from se_gnn.apps.service.models import Node, Outlook, Vote
from se_gnn.apps.service.node_map import STEPS
from se_gnn.apps.service.node_table import NodeQuery, NodeTable, Part
from se_gnn.apps.service.store import Snapshot
from se_gnn.apps.web.problems import ProblemError, busy
from se_gnn.errors import InputError
from se_gnn.explain import Explanation
from se_gnn.explain.edge_text import agreeing_facts, edge_text
from se_gnn.graph import UNKNOWN, local_graphs
from se_gnn.graph.arrays import IntArray
from se_gnn.plot.palette import class_style
from se_gnn.ranking import WhatIf
from se_gnn.report.predictions import SHOWN_PARTS

MOST_MATCHES = 200


def table_of(snapshot: Snapshot) -> NodeTable:
    """The table of all nodes; until it is there, 503."""
    if snapshot.table is None:
        raise busy("all nodes are being scored; ask again in a moment", 1)
    return snapshot.table


def node_id(snapshot: Snapshot, key: int | str) -> int:
    """A node by position or name; 404 where there is none."""
    try:
        return snapshot.graph.node_id(key)
    except InputError as error:
        raise ProblemError(404, str(error)) from error


def node_of(snapshot: Snapshot, node: int) -> Node:
    """A node."""
    graph, label = snapshot.graph, int(snapshot.graph.labels[node])
    known = None if label == UNKNOWN else _class(snapshot, label)
    return Node(id=node, name=_text(graph.node_names[node]), caption=_text(graph.caption(node)), label=known)


def model_card(snapshot: Snapshot) -> models.ModelCard:
    """The model in figures."""
    graph, settings = snapshot.graph, snapshot.trained.settings
    s, vote = settings.similarity, settings.vote
    return models.ModelCard(
        name=_text(graph.name), digest=snapshot.digest or "", preset=settings.preset, nodes=graph.num_nodes,
        edges=graph.num_edges, features=graph.num_features, classes=[_text(name) for name in graph.class_names],
        num_nearest=vote.num_nearest, node_weight=s.node_weight, temperature=vote.temperature, hops=s.hops,
        measure=s.measure, directions=s.directions, scored=snapshot.ready, accuracy=_accuracy(snapshot),
    )  # fmt: skip


def node_page(snapshot: Snapshot, query: NodeQuery, offset: int, limit: int) -> models.NodePage:
    """A page of the table of all nodes."""
    found = table_of(snapshot).find(query)
    rows = [node_row(snapshot, int(node)) for node in found[offset : offset + limit]]
    return models.NodePage(total=len(found), offset=offset, rows=rows)


def node_row(snapshot: Snapshot, node: int) -> models.NodeRow:
    """A row of that table."""
    table = table_of(snapshot)
    return models.NodeRow(
        **node_of(snapshot, node).model_dump(),
        part=table.part_name(node),
        predicted=_class(snapshot, int(table.predicted[node])),
        probability=float(table.probability[node]),
        outcome=table.outcome_name(node),
        answered=None if table.answered is None else bool(table.answered[node]),
        closest=int(table.closest[node]),
        weight=float(table.weight[node]),
    )


def predictions(snapshot: Snapshot, keys: Sequence[int | str]) -> models.Predictions:
    """Predictions of some nodes, in their order."""
    nodes = np.array([node_id(snapshot, key) for key in keys], dtype=np.int64)
    found = snapshot.trained.predict(nodes)
    voting, rows = found.voting, []
    for i, node in enumerate(nodes.tolist()):
        votes = [
            _vote(snapshot, int(other), float(weight))
            for other, weight in zip(found.neighbors[i][voting[i]], found.weights[i][voting[i]])
        ]
        rows.append(
            models.PredictedNode(
                **node_of(snapshot, node).model_dump(),
                predicted=_class(snapshot, int(found.classes[i])),
                probabilities=_by_class(snapshot, found.probabilities[i].tolist()),
                votes=votes,
            )
        )
    return models.Predictions(predictions=rows)


def explanation(snapshot: Snapshot, node: int, k: int | None, what_if: WhatIf) -> Explanation:
    """An explanation, under the model's settings or others."""
    return snapshot.comparisons.of(node_id(snapshot, node)).explain(k, what_if=what_if)


def nearest(snapshot: Snapshot, node: int, offset: int, limit: int) -> models.NearestPage:
    """All labeled nodes by similarity, a page of them."""
    ranking = explanation(snapshot, node, 1, WhatIf()).ranking
    total = int(ranking.voting[0].sum())
    weights = np.zeros(ranking.depth, dtype=np.float32)
    weights[: ranking.num_nearest] = ranking.weights[0].numpy()
    nodes, found = ranking.nodes[0], ranking.nearest
    page = [
        models.Nearest(
            **node_of(snapshot, int(nodes[rank])).model_dump(),
            rank=rank,
            weight=float(weights[rank]),
            similarity=float(found.overall[0, rank]),
            node_similarity=float(found.node[0, rank]),
            structure_similarity=_finite(float(found.structure[0, rank])),
        )
        for rank in range(offset, min(offset + limit, total))
    ]
    return models.NearestPage(total=total, offset=offset, nearest=page)


def local_graph(snapshot: Snapshot, node: int, offset: int, limit: int) -> models.LocalGraphPage:
    """The local graph of a node, a page of its edges."""
    node, settings = node_id(snapshot, node), snapshot.trained.settings.similarity
    edges = local_graphs(snapshot.graph, np.array([node]), settings.hops, settings.max_edges).row(0)
    page = edges[offset : offset + limit]
    ends = snapshot.graph.edges.ends[page]
    return models.LocalGraphPage(
        node=node_of(snapshot, node),
        hops=settings.hops,
        total=len(edges),
        offset=offset,
        edges=[_edge(snapshot, int(edge)) for edge in page],
        nodes=[node_of(snapshot, int(one)) for one in np.unique(np.append(ends, node))],
    )


@torch.no_grad()
def similarity(snapshot: Snapshot, request: models.SimilarityRequest) -> models.SimilarityAnswer:
    """How similar two nodes are, and which edges were matched."""
    one, other = node_id(snapshot, request.one), node_id(snapshot, request.other)
    trained, settings = snapshot.trained, snapshot.trained.settings.similarity
    query, case = (trained.similarity.items(np.array([node])) for node in (one, other))
    found, matching, _ = trained.similarity.compare_with_matches(query, case)
    rows = matching.rows(0)
    values = matching.similarity[rows, 0]
    matched = matching.matched(rows, 0)
    known = np.flatnonzero(matched >= 0)
    best = known[np.argsort(-values[known], kind="stable")][:MOST_MATCHES]
    return models.SimilarityAnswer(
        one=node_of(snapshot, one),
        other=node_of(snapshot, other),
        similarity=float(found.overall[0, 0]),
        node_similarity=float(found.node[0, 0]),
        structure_similarity=_finite(float(found.structure[0, 0])),
        node_weight=settings.node_weight,
        measure=settings.measure,
        matches=[
            models.MatchedEdge(
                edge=_edge(snapshot, int(matching.edge_ids[rows[i]])),
                matched=_edge(snapshot, int(matched[i])),
                similarity=float(values[i]),
                alike=[
                    _text(name)
                    for name in agreeing_facts(trained.graph, int(matching.edge_ids[rows[i]]), int(matched[i]))
                ],
            )
            for i in best.tolist()
        ],
        num_matches=len(known),
    )


def what_if(snapshot: Snapshot, request: models.WhatIfRequest) -> models.WhatIfAnswer:
    """The vote under other settings, beside the model's own."""
    node = node_id(snapshot, request.node)
    without = tuple(dict.fromkeys(node_id(snapshot, key) for key in request.without))
    other = WhatIf(num_nearest=request.num_nearest, node_weight=request.node_weight, without=without)
    comparison = snapshot.comparisons.of(node)
    return models.WhatIfAnswer(
        node=node_of(snapshot, node),
        before=_outlook(snapshot, comparison.explain(1)),
        after=_outlook(snapshot, comparison.explain(1, what_if=other)),
        without=[node_of(snapshot, one) for one in without],
    )


def node_map(snapshot: Snapshot) -> models.MapAnswer:
    """All nodes on a plane."""
    if snapshot.map is None:
        raise busy("all nodes are being placed; ask again in a moment", 1)
    graph = snapshot.graph
    return models.MapAnswer(
        total=graph.num_nodes,
        steps=STEPS,
        classes=[_text(name) for name in graph.class_names],
        colors=[class_style(label).color for label in range(graph.num_classes)],
        **snapshot.map.columns,
    )


def _outlook(snapshot: Snapshot, explanation: Explanation) -> Outlook:
    return Outlook(
        num_nearest=explanation.settings.vote.num_nearest,
        node_weight=explanation.settings.similarity.node_weight,
        predicted=_class(snapshot, explanation.predicted),
        probabilities=_by_class(snapshot, explanation.probabilities),
        votes=[_vote(snapshot, one.node, one.weight) for one in explanation.neighbors],
    )


def _accuracy(snapshot: Snapshot) -> list[models.PartAccuracy]:
    table, graph = snapshot.table, snapshot.graph
    if table is None:
        return []
    found = []
    for part, name in SHOWN_PARTS.items():
        nodes: IntArray = getattr(graph, part)
        right = int((table.predicted[nodes] == graph.labels[nodes]).sum())
        share = right / len(nodes) if len(nodes) else None
        found.append(models.PartAccuracy(part=Part(name), nodes=len(nodes), accuracy=share))
    return found


def _vote(snapshot: Snapshot, node: int, weight: float) -> Vote:
    name, label = snapshot.graph.node_names[node], int(snapshot.graph.labels[node])
    return Vote(id=node, name=_text(name), label=_class(snapshot, label), weight=weight)


def _edge(snapshot: Snapshot, edge: int) -> models.LocalEdge:
    return models.LocalEdge(id=edge, ends=snapshot.graph.edges.ends[edge].tolist(), carries=_carried(snapshot, edge))


def _carried(snapshot: Snapshot, edge: int) -> models.EdgeValue | None:
    values = snapshot.graph.edge_values
    if values is None:
        return None
    text = edge_text(snapshot.graph, edge)
    directed = values.direction is not None and bool(values.direction[edge])
    return models.EdgeValue(
        start=text.start if directed else None,
        end=text.end if directed else None,
        type=None if values.type is None else _text(values.type_names[values.type[edge]]),
        weight=None if values.weight is None else float(values.weight[edge]),
        facts={_text(fact.name): _text(fact.value) for fact in text.facts},
    )


def _class(snapshot: Snapshot, label: int) -> str:
    return _text(snapshot.graph.class_names[label])


def _by_class(snapshot: Snapshot, values: Sequence[float]) -> dict[str, float]:
    return {_text(name): value for name, value in zip(snapshot.graph.class_names, values)}


def _text(text: str) -> str:
    """A text that UTF-8 can write: halves of characters, which a broken table may hold, are replaced."""
    return text.encode("utf-8", "replace").decode()


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
