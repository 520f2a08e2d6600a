"""Fraud among the users of `amazon-fraud`: ROC-AUC and average precision on validation and test users."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from lab.baselines import GCN
from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.model.metrics import classification_metrics
from se_gnn.training import fit


def measure(job: Job, device: str) -> dict[str, Any]:
    """Both figures of fraud, the rarer class."""
    graph, settings, method = load_dataset(job.series.dataset, seed=job.seed), job.series.settings, job.series.method
    if method == "forest":
        forest = RandomForestClassifier(settings["trees"], random_state=job.seed)
        forest.fit(graph.features[graph.train], graph.labels[graph.train])
        found = forest.predict_proba(graph.features)
    elif method == "gcn":
        found = GCN().fit(graph, seed=job.seed, device=device).predict_proba()
    else:
        trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
        found = np.zeros((graph.num_nodes, graph.num_classes), np.float32)
        for nodes in (graph.validation, graph.test):
            found[nodes] = trained.predict(nodes).probabilities
    fraud = graph.class_names.index("fraud")
    figures = {
        part: classification_metrics(found[nodes], graph.labels[nodes], positive=fraud)
        for part, nodes in (("val", graph.validation), ("test", graph.test))
    }
    return {f"{part}_{name}": figures[part][name] for part in figures for name in ("roc_auc", "average_precision")}
