"""Train a method and look at the test nodes once: accuracy, and the labeled nodes and edges that it names."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduce.job import Job, Series
from reproduce.measures.fitted import Fitted, fit
from se_gnn.datasets import load_dataset
from se_gnn.explain.metrics import (
    accuracy,
    edge_matching_accuracy,
    node_matching_accuracy,
    precision_at_k,
    role_precision_at_k,
    values_of_edges,
)
from se_gnn.graph import AttributedGraph, add_random_edges, local_graphs
from se_gnn.graph.attributed import IntArray

RANKS = range(1, 9)  # k of precision@k
HOPS = 2  # of the local graphs whose edges are matched


def measure(job: Job, device: str) -> dict[str, Any]:
    """All shares that apply to the method and the data set."""
    series = job.series
    graph = load_graph(series, job.seed)
    fitted = fit(graph, series.method, series.settings, seed=job.seed, device=device)
    measures: dict[str, Any] = {
        f"{name}accuracy": accuracy(fitted.predict(nodes), graph.labels[nodes])
        for name, nodes in (("", graph.test), ("val_", graph.val))
    }
    nearest = fitted.nearest(graph.test, max(RANKS))
    if nearest is not None:
        precision = [precision_at_k(graph.test, nearest, graph.labels, k) for k in RANKS]
        measures |= {"precision_at_5": precision[4], "precision": precision}
        if graph.node_roles is not None and graph.edge_roles is not None:
            measures |= _measure_roles(graph, fitted, nearest, graph.node_roles, graph.edge_roles)
    return measures


def load_graph(series: Series, seed: int) -> AttributedGraph:
    """The data set, with the noise that the series asks for."""
    kind, _, rate = series.noise.rpartition("-")
    if kind == "metattack":
        return load_dataset(f"{series.dataset}-{series.noise}", seed=seed)
    graph = load_dataset(series.dataset, seed=seed)
    if kind == "random":
        generator = np.random.default_rng(seed)
        return graph.with_edges(add_random_edges(graph.edges, graph.num_nodes, float(rate), generator=generator))
    return graph


def _measure_roles(
    graph: AttributedGraph, fitted: Fitted, nearest: IntArray, node_roles: IntArray, edge_roles: IntArray
) -> dict[str, Any]:
    """Whether the nearest labeled nodes, and the edges matched in the nearest one of all, are the right ones."""
    measures: dict[str, Any] = {
        "node_accuracy": node_matching_accuracy(graph.test, nearest, node_roles),
        "role_precision": [role_precision_at_k(graph.test, nearest, node_roles, k) for k in RANKS],
    }
    targets = local_graphs(graph, graph.test, HOPS)
    others = local_graphs(graph, nearest[:, 0], HOPS)
    roles, matched = [], []
    for i in range(len(graph.test)):
        edges, theirs = graph.edges[targets.row(i)], graph.edges[others.row(i)]
        found = fitted.match_edges(edges, theirs)
        if found is None:
            return measures
        roles.append(edge_roles[targets.row(i)])
        matched.append(values_of_edges(graph.edges, edge_roles, theirs[found]))
    # weighted as the authors' script does, and every edge alike
    measures["edge_accuracy"] = edge_matching_accuracy(roles, matched, weighting="local")
    measures["motif_edge_accuracy"] = edge_matching_accuracy(roles, matched, weighting="motif")
    return measures
