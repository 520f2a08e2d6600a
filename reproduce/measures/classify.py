"""Train a method and look at the test nodes once: accuracy, and the labeled nodes and edges that it names."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduce.job import Job, Series
from reproduce.measures.fitted import Fitted, fit
from se_gnn.datasets import load_dataset
from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import IntArray

RANKS = 8  # precision@k for k from 1 to 8


def measure(job: Job, device: str) -> dict[str, Any]:
    """All shares that apply to the method and the data set."""
    series = job.series
    graph = load_graph(series, job.seed)
    fitted = fit(graph, series.method, series.settings, seed=job.seed, device=device)
    right = fitted.predict() == graph.labels
    measures: dict[str, Any] = {"accuracy": float(right[graph.test].mean()), "val_accuracy": float(right[graph.val].mean())}
    nearest = fitted.nearest(graph.test, RANKS)
    if nearest is not None:
        precision = precisions(graph.labels, graph.test, nearest)
        measures |= {"precision_at_5": precision[4], "precision": precision}
        if graph.node_roles is not None:
            measures |= measure_roles(graph, fitted, nearest)
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


def precisions(truth: IntArray, nodes: IntArray, nearest: IntArray) -> list[float]:
    """precision@k for k = 1, 2, ...: share of the k nearest labeled nodes whose class, or role, is the node's own."""
    same = truth[nearest] == truth[nodes][:, None]
    shares = same.cumsum(axis=1).mean(axis=0) / np.arange(1, nearest.shape[1] + 1)
    return [float(share) for share in shares]


def measure_roles(graph: AttributedGraph, fitted: Fitted, nearest: IntArray) -> dict[str, Any]:
    raise NotImplementedError
