"""Train, explain, and compute every explanation again in float64."""

from __future__ import annotations

import dataclasses
import tempfile
from typing import Any

import numpy as np

from lab.datasets import load_dataset
from lab.datasets.edge_signal import edge_signal_graph
from reproduce.job import Job
from reproduce.measures.bitcoin_otc import with_verbs
from reproduce.methods import asked
from reproduce.truth.recompute import Recomputed
from reproduce.truth.statements import Findings, check
from se_gnn.explain import explain
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.model import Model
from se_gnn.training import fit

AT_A_TIME = 50  # nodes that are explained together


def measure(job: Job, device: str) -> dict[str, Any]:
    """The largest error of each kind of number, and the number of false statements, over the test nodes."""
    settings = job.series.settings
    graph = graph_named(job.series.dataset, job.seed)
    trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
    nodes = some_nodes(graph.test, settings["nodes"])
    nodes = np.concatenate([nodes, some_nodes(graph.train, settings.get("cases", 0))])
    if not settings.get("mapped"):
        return findings_of(trained, nodes)
    with tempfile.TemporaryDirectory() as folder:
        save_graph(graph, folder, mapped=True)
        return findings_of(dataclasses.replace(trained, graph=load_graph(folder)), nodes, truth=trained)


def graph_named(name: str, seed: int) -> Graph:
    """A data set, or a generated graph in which only one thing that edges carry tells the classes apart."""
    if name.startswith("only-"):
        return edge_signal_graph(name.removeprefix("only-"), seed=seed)
    graph = load_dataset(name, seed=seed)
    return with_verbs(graph) if name == "bitcoin-otc" else graph


def findings_of(trained: Model, nodes: IntArray, *, truth: Model | None = None) -> dict[str, Any]:
    """What comparing the explanations of some nodes gives; ``truth``: the same model on the same graph in memory."""
    findings = Findings()
    for rows, view in (truth or trained).views(nodes):
        model = Recomputed(view)
        for low in range(0, len(rows), AT_A_TIME):
            for explanation in explain(trained, nodes[rows[low : low + AT_A_TIME]]):
                check(explanation, model, findings)
    return {"nodes": len(nodes), **findings.as_dict()}


def some_nodes(nodes: IntArray, count: int | None) -> IntArray:
    """All nodes, or that many of them, evenly spaced."""
    if count is None or count >= len(nodes):
        return nodes
    chosen: IntArray = nodes[np.linspace(0, len(nodes) - 1, count).astype(np.int64)]
    return chosen
