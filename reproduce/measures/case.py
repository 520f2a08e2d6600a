"""One node with the nearest labeled node of every method: what is shown of their local graphs, and where."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from se_gnn.plot.feature_layout import placed_by_features

from reproduce.job import Job
from reproduce.measures.fitted import Fitted, fit, fit_se_gnn
from se_gnn.datasets import load_dataset
from se_gnn.errors import InputError
from se_gnn.explain import EdgeMatches, Explainer, Explanation, Neighbor
from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.graph.attributed import IntArray
from se_gnn.plot.local_view import LocalView, neighbor_view, target_view


def measure(job: Job, device: str) -> dict[str, Any]:
    """Train every method, and keep what a picture of the case needs."""
    settings = job.series.settings
    graph = load_dataset(job.series.dataset, seed=job.seed)
    node = case_node(graph, settings["num_edges"])
    ours = fit_se_gnn(graph, settings["methods"]["se-gnn"], seed=job.seed)
    explanation = Explainer(ours.trained).explain(node, k=1)
    target = target_view(explanation, most_edges=settings["num_edges"], numbered=settings["num_edges"])
    views = {"target": target}
    for method, its_settings in settings["methods"].items():
        if method == "se-gnn":
            neighbor = explanation.neighbors[0]
        else:
            fitted = fit(graph, method, its_settings, seed=job.seed, device=device)
            neighbor = _neighbor(fitted, graph, explanation)
        views[method] = neighbor_view(neighbor, explanation, graph, target, most_edges=settings["most_edges"])
    shown = np.unique(np.concatenate([view.nodes for view in views.values()]))
    return {
        "views": {name: _plain(view) for name, view in views.items()},
        "places": [points.round(3).tolist() for points in placed_by_features(list(views.values()), graph)],
        "nodes": shown.tolist(),
        "labels": graph.labels[shown].tolist(),
        "labeled": np.intersect1d(shown, graph.train).tolist(),
        "class_names": list(graph.class_names),
    }


def case_node(graph: AttributedGraph, num_edges: int) -> int:
    """The first test node with that many edges in its 2-hop local graph: enough to show, few enough to be read."""
    fitting = np.flatnonzero(local_graphs(graph, graph.test, 2).sizes == num_edges)
    if not len(fitting):
        raise InputError(f"num_edges must be the size of some test node's local graph, none has {num_edges} edges")
    return int(graph.test[fitting[0]])


def _neighbor(fitted: Fitted, graph: AttributedGraph, explanation: Explanation) -> Neighbor:
    """The nearest labeled node of a baseline, in place of ours; its matched edges all count alike."""
    nearest = fitted.nearest(np.array([explanation.node]), 1)
    if nearest is None:
        raise InputError("a case needs methods that name labeled nodes")
    node = int(nearest[0, 0])
    theirs: IntArray = graph.edges[local_graphs(graph, np.array([node]), explanation.hops).row(0)]
    matched = fitted.match_edges(explanation.edges, theirs)
    matches = None
    if matched is not None:
        alike = np.zeros(len(matched), np.float32)
        matches = EdgeMatches(explanation.edges, theirs[matched], alike, alike == 0)
    return dataclasses.replace(explanation.neighbors[0], node=node, matches=matches)


def _plain(view: LocalView) -> dict[str, Any]:
    arrays = {name: getattr(view, name).tolist() for name in ("nodes", "hops", "edges")}
    return {**arrays, "numbers": [list(numbers) for numbers in view.numbers], "hidden": view.hidden}
