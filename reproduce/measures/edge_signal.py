"""The default on a generated graph in which one thing that edges carry tells the classes apart, with or without it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lab.datasets.edge_signal import edge_signal_graph
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.explain import explain
from se_gnn.model import Model
from se_gnn.training import fit

EXPLAINED = 20  # test nodes whose explanations are looked at


def measure(job: Job, device: str) -> dict[str, Any]:
    """Test accuracy, and the share of the nearest labeled node's matches that carry what the edge carries."""
    settings = job.series.settings
    graph = edge_signal_graph(settings["signal"], seed=job.seed)
    if not settings["carried"]:
        graph = graph.replace(edges=dataclasses.replace(graph.edges, values=None))
    trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
    figures: dict[str, Any] = {"accuracy": trained.predict(graph.test).accuracy(graph.labels)}
    if settings["carried"]:
        figures["alike"] = _alike(trained, graph.test[:EXPLAINED].tolist())
    return figures


def _alike(trained: Model, nodes: list[int]) -> float:
    """Of the edges at some nodes, the share that is matched with an edge that carries the same, or nearly so."""
    shares = []
    for node in nodes:
        matches, graph = explain(trained, node, k=1)[0].votes[0].matches, trained.graph
        assert matches is not None
        assert graph.edge_values is not None
        own = matches.matched & (graph.edges.ends[matches.edge_ids] == node).any(axis=1)
        values = graph.edge_values
        for carried in (values.direction, values.type, values.weight, values.attributes):
            if carried is not None:
                one, other = (
                    carried[ids[own]].astype(np.float64).reshape(-1) for ids in (matches.edge_ids, matches.matched_ids)
                )
                shares.append(float((np.abs(one - other) <= 0.5 * carried.std()).mean()) if len(one) else 0.0)
    return float(np.mean(shares))
