"""Accuracy with a number of labeled nodes per class; validation and test nodes stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.graph import Graph
from se_gnn.training import fit


def measure(job: Job, device: str) -> dict[str, Any]:
    """Test accuracy and precision@5 of the nearest labeled nodes."""
    settings = job.series.settings
    graph = with_labels(load_dataset(job.series.dataset, seed=job.seed), settings["per_class"], job.seed)
    trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
    prediction = trained.predict(graph.test)
    return {
        "labeled": len(graph.train),
        "accuracy": prediction.accuracy(graph.labels),
        "precision_at_5": prediction.precision_at(5, graph.labels),
    }


def with_labels(graph: Graph, per_class: int, seed: int) -> Graph:
    """The same graph with that many labeled nodes of each class, drawn from all that neither validate nor test.

    Those that are labeled already come first, so that a larger number adds to a smaller one.
    """
    generator = np.random.default_rng(seed)
    free = np.setdiff1d(np.arange(graph.num_nodes), np.concatenate([graph.validation, graph.test]))
    free = free[graph.labels[free] >= 0]
    chosen = []
    for label in range(graph.num_classes):
        first = generator.permutation(graph.train[graph.labels[graph.train] == label])
        more = generator.permutation(np.setdiff1d(free[graph.labels[free] == label], first))
        chosen.append(np.concatenate([first, more])[:per_class])
    return graph.with_split(train=np.sort(np.concatenate(chosen)), validation=graph.validation, test=graph.test)
