"""Fraud against trusted accounts of `bitcoin-otc`, ten labeled per class: ROC-AUC on the test accounts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from lab.baselines import GCN
from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.graph import Edges, Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.model.metrics import classification_metrics
from se_gnn.training import fit

VERBS = ("trusts", "distrusts")


def measure(job: Job, device: str) -> dict[str, Any]:
    """ROC-AUC on validation and test accounts."""
    graph, settings, method = load_dataset("bitcoin-otc", seed=job.seed), job.series.settings, job.series.method
    if method == "forest":
        columns = rating_counts(graph)
        forest = RandomForestClassifier(settings["trees"], random_state=job.seed)
        forest.fit(columns[graph.train], graph.labels[graph.train])
        found = forest.predict_proba(columns)
    elif method == "gcn":
        found = GCN().fit(plain(graph), seed=job.seed, device=device).predict_proba()
    else:
        graph = plain(graph) if job.series.variant == "plain" else with_verbs(graph)
        trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
        found = np.zeros((graph.num_nodes, graph.num_classes), np.float32)
        for nodes in (graph.validation, graph.test):
            found[nodes] = trained.predict(nodes).probabilities
    return {
        f"{part}_roc_auc": classification_metrics(found[nodes], graph.labels[nodes])["roc_auc"]
        for part, nodes in (("val", graph.validation), ("test", graph.test))
    }


def ratings(graph: Graph) -> FloatArray:
    """The ratings as the table has them, [E]."""
    values = graph.edge_values
    assert values is not None
    assert values.attributes is not None
    assert values.columns is not None
    (column,) = values.columns
    ratings: FloatArray = np.round(values.attributes[:, 0] * column.scale + column.offset)  # type: ignore[union-attr]
    return ratings


def with_verbs(graph: Graph) -> Graph:
    """A rating above 0 is of the type "trusts", one below of the type "distrusts"."""
    assert graph.edge_values is not None
    kind = (ratings(graph) < 0).astype(np.int32)
    values = dataclasses.replace(graph.edge_values, type=kind, type_names=VERBS)
    return graph.replace(edges=dataclasses.replace(graph.edges, values=values))


def plain(graph: Graph) -> Graph:
    """The same accounts with the same columns; an edge is there or not."""
    return graph.replace(edges=Edges.build(graph.edges.ends, graph.num_nodes))


def rating_counts(graph: Graph) -> FloatArray:
    """Ratings that each account gave and received: all, above 0, below 0, [N, 6]."""
    values = graph.edge_values
    assert values is not None
    assert values.direction is not None
    given, ends = ratings(graph), np.where(values.direction[:, None] > 0, graph.edges.ends, graph.edges.ends[:, ::-1])
    some = (np.ones(len(given), bool), given > 0, given < 0)
    counts = [np.bincount(ends[of, side], minlength=graph.num_nodes) for side in (0, 1) for of in some]
    return np.stack(counts, axis=1).astype(np.float32)
