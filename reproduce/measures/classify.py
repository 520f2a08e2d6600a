"""Train a method and look at the test nodes once: accuracy, and the labeled nodes and edges that it names."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.attack import add_random_edges
from lab.datasets import load_dataset, load_with_truth
from lab.metrics import (
    accuracy,
    edge_matching_accuracy,
    node_matching_accuracy,
    precision_at_k,
    role_precision_at_k,
)
from lab.truth import GroundTruth
from reproduce.job import Job, Series
from reproduce.measures.fitted import Fitted, fit
from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.arrays import IntArray

RANKS = range(1, 9)  # k of precision@k
HOPS = 2  # of the local graphs whose edges are matched


def measure(job: Job, device: str) -> dict[str, Any]:
    """All shares that apply to the method and the data set."""
    series = job.series
    graph, truth = load_graph(series, job.seed)
    fitted = fit(graph, series.method, series.settings, seed=job.seed, device=device)
    measures: dict[str, Any] = {
        f"{name}accuracy": accuracy(fitted.predict(nodes), graph.labels[nodes])
        for name, nodes in (("", graph.test), ("val_", graph.validation))
    }
    nearest = fitted.nearest(graph.test, max(RANKS))
    if nearest is not None:
        precision = [precision_at_k(graph.test, nearest, graph.labels, k) for k in RANKS]
        measures |= {"precision_at_5": precision[4], "precision": precision}
        if truth is not None and truth.node_roles is not None and truth.edge_roles is not None:
            measures |= _measure_nodes(graph, nearest, truth.node_roles)
            if series.settings.get("values", {}).get("hops", HOPS) == HOPS:
                measures |= _measure_edges(graph, fitted, nearest[:, 0], truth.edge_roles)
    return measures


def load_graph(series: Series, seed: int) -> tuple[Graph, GroundTruth | None]:
    """The data set, with the noise that the series asks for, and its ground truth where there is no noise."""
    kind, _, rate = series.noise.rpartition("-")
    if kind == "metattack":
        return load_dataset(f"{series.dataset}-{series.noise}", seed=seed), None
    graph, truth = load_with_truth(series.dataset, seed=seed)
    if kind == "random":
        generator = np.random.default_rng(seed)
        return graph.with_edges(
            add_random_edges(graph.edges.ends, graph.num_nodes, float(rate), generator=generator)
        ), None
    return graph, truth


def _measure_nodes(graph: Graph, nearest: IntArray, roles: IntArray) -> dict[str, Any]:
    """Whether the nearest labeled nodes have the role of the target."""
    return {
        "node_accuracy": node_matching_accuracy(graph.test, nearest, roles),
        "role_precision": [role_precision_at_k(graph.test, nearest, roles, k) for k in RANKS],
    }


def _measure_edges(graph: Graph, fitted: Fitted, nearest: IntArray, roles: IntArray) -> dict[str, Any]:
    """Whether the edges of the target are matched with edges of their role around the nearest labeled node, [T]."""
    targets, others = local_graphs(graph, graph.test, HOPS), local_graphs(graph, nearest, HOPS)
    own, matched = [], []
    for i in range(len(graph.test)):
        edges, theirs = graph.edges.ends[targets.row(i)], graph.edges.ends[others.row(i)]
        found = fitted.match_edges(edges, theirs)
        if found is None:
            return {}
        own.append(roles[targets.row(i)])
        matched.append(roles[others.row(i)][found])
    return {
        "edge_accuracy": edge_matching_accuracy(own, matched, weighting="local"),  # as in the authors' script
        "motif_edge_accuracy": edge_matching_accuracy(own, matched, weighting="motif"),  # every edge alike
    }
