"""Train, explain, and compute every explanation again in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from reproduce.truth.recompute import Recomputed
from reproduce.truth.statements import Findings, check
from se_gnn.explain import explain
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Model
from se_gnn.training import fit


def measure(job: Job, device: str) -> dict[str, Any]:
    """The largest error of each kind of number, and the number of false statements, over the test nodes."""
    graph = load_dataset(job.series.dataset, seed=job.seed)
    trained = fit(graph, asked(job.series.settings["config"]), seed=job.seed, device=device)
    return findings_of(trained, some_nodes(graph.test, job.series.settings["nodes"]))


def findings_of(trained: Model, nodes: IntArray) -> dict[str, Any]:
    """What comparing the explanations of some nodes gives."""
    model, findings = Recomputed(trained), Findings()
    for node in nodes:
        check(explain(trained, int(node))[0], model, findings)
    return {"nodes": len(nodes), **findings.as_dict()}


def some_nodes(nodes: IntArray, count: int | None) -> IntArray:
    """All nodes, or that many of them, evenly spaced."""
    if count is None or count >= len(nodes):
        return nodes
    chosen: IntArray = nodes[np.linspace(0, len(nodes) - 1, count).astype(np.int64)]
    return chosen
