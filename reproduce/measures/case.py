"""One node with the nearest labeled node of every method: what is shown of their local graphs, and where."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.measures.fitted import Fitted, FittedSEGNN, fit
from se_gnn.errors import InputError
from se_gnn.explain import CaseVote, EdgeMatches, Explanation, explain
from se_gnn.explain.attributes import mentioning
from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.arrays import IntArray
from se_gnn.plot.local_view import LocalView, case_view, target_view
from se_gnn.plot.placement import Points
from se_gnn.plot.projection import apart, placed_by_features


def measure(job: Job, device: str) -> dict[str, Any]:
    """Train every method, and keep what a picture of the case needs."""
    settings = job.series.settings
    graph = load_dataset(job.series.dataset, seed=job.seed)
    fitted = {
        method: fit(graph, method, its_settings, seed=job.seed, device=device)
        for method, its_settings in settings["methods"].items()
    }
    node = case_node(graph, settings["num_edges"], list(fitted.values()))
    ours = fitted["se-gnn"]
    assert isinstance(ours, FittedSEGNN)
    explanation = explain(ours.trained, node, k=1)[0]
    target = target_view(explanation, most_edges=settings["num_edges"], crucial_edges=settings["num_edges"])
    views = {"target": target}
    for method, one in fitted.items():
        vote = explanation.votes[0] if one is ours else _vote(one, graph, explanation)
        assert vote.edge_ids is not None
        views[method] = case_view(
            vote, mentioning(explanation, graph, vote.edge_ids, [vote.node]), target, most_edges=settings["most_edges"]
        )
    shown = np.unique(np.concatenate([view.nodes for view in views.values()]))
    return {
        "views": {name: _plain(view) for name, view in views.items()},
        "places": [_filling(points).tolist() for points in placed_by_features(list(views.values()), graph)],
        "nodes": shown.tolist(),
        "labels": graph.labels[shown].tolist(),
        "labeled": np.intersect1d(shown, graph.train).tolist(),
        "class_names": list(graph.class_names),
    }


def case_node(graph: Graph, num_edges: int, methods: list[Fitted]) -> int:
    """The first test node with that many edges in its 2-hop local graph whose class every method predicts."""
    fitting = graph.test[local_graphs(graph, graph.test, 2).sizes == num_edges]
    right = np.all([method.predict(fitting) == graph.labels[fitting] for method in methods], axis=0)
    if not right.any():
        raise InputError(f"num_edges must suit some test node that all methods classify right, got {num_edges}")
    return int(fitting[right][0])


def _vote(fitted: Fitted, graph: Graph, explanation: Explanation) -> CaseVote:
    """The nearest labeled node of a baseline, in place of ours; its matched edges all count alike."""
    nearest = fitted.nearest(np.array([explanation.node]), 1)
    if nearest is None:
        raise InputError("a case needs methods that name labeled nodes")
    node = int(nearest[0, 0])
    theirs: IntArray = local_graphs(graph, np.array([node]), explanation.settings.hops).row(0).astype(np.int64)
    matched = fitted.match_edges(explanation.ends(explanation.edge_ids), graph.edges.ends[theirs])
    matches = None
    if matched is not None:
        alike = np.zeros(len(matched), np.float32)
        matches = EdgeMatches(explanation.edge_ids, theirs[matched], alike, alike == 0)
    return dataclasses.replace(explanation.votes[0], node=node, edge_ids=theirs, matches=matches)


def _filling(points: Points) -> Points:
    """Points of one picture, enlarged to fill it."""
    low, high = points.min(axis=0), points.max(axis=0)
    enlarged = 2 * (points - (low + high) / 2) / max((high - low).max(), 1e-9)  # -1 to 1
    return apart(enlarged, 0.35).round(3)


def _plain(view: LocalView) -> dict[str, Any]:
    arrays = {name: getattr(view, name).tolist() for name in ("nodes", "hops", "edges")}
    return {**arrays, "numbers": [list(numbers) for numbers in view.numbers], "hidden": view.hidden}
