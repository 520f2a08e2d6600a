"""Leave each class out in turn, and see who can tell its test nodes from the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from lab.baselines import baseline
from lab.datasets import load_dataset
from reproduce.job import Job
from se_gnn.graph import UNKNOWN, Classes, Graph, Split
from se_gnn.labels.novelty import novelty
from se_gnn.model import SEGNN, Model
from se_gnn.settings import Settings


def measure(job: Job, device: str) -> dict[str, Any]:
    """Area under the ROC curve of each score, and alarms at the stated rate, mean over the classes."""
    settings = job.series.settings
    graph = load_dataset(job.series.dataset, seed=job.seed)
    found: dict[str, list[float]] = {}
    for label in range(graph.num_classes):
        rest = without_class(graph, label)
        novel = graph.labels[graph.test] == label
        scored = novelty(_untrained(rest), graph.test, false_alarms=settings["false_alarms"], seed=job.seed)
        network = baseline("gcn", **settings["gcn"]).fit(rest, seed=job.seed, device=device)
        scores = torch.as_tensor(network.embeddings)
        measures = {
            "unlike": roc_auc_score(novel, scored.score),
            "gcn_probability": roc_auc_score(novel, -network.predict_proba()[graph.test].max(axis=1)),
            "gcn_energy": roc_auc_score(novel, -torch.logsumexp(scores, dim=1).numpy()[graph.test]),
            "alarms": scored.abstains[~novel].mean(),
            "caught": scored.abstains[novel].mean(),
        }
        for name, value in measures.items():
            found.setdefault(name, []).append(float(value))
    return {name: float(np.mean(values)) for name, values in found.items()}


def without_class(graph: Graph, label: int) -> Graph:
    """The graph as it would be if nobody knew of a class: its nodes are there, without label and in no part."""
    kept = [c for c in range(graph.num_classes) if c != label]
    renumbered = np.full(graph.num_classes, UNKNOWN, np.int64)
    renumbered[kept] = np.arange(len(kept))
    labels = np.where(graph.labels == UNKNOWN, UNKNOWN, renumbered[graph.labels])
    parts: dict[str, Any] = {part: nodes[labels[nodes] != UNKNOWN] for part, nodes in graph.split.items()}
    names = tuple(graph.class_names[c] for c in kept)
    return graph.replace(target=Classes(labels=labels, names=names), split=Split(**parts))


def _untrained(graph: Graph) -> Model:
    """A model whose parameters nobody looks at."""
    settings = Settings.of("best").resolve()
    return Model(SEGNN(graph.num_features, settings), graph, settings)
