"""A simulation of labeling: nodes are chosen, get their labels, the model is trained again, and so on."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.labels.suggest import suggest
from se_gnn.model import Model
from se_gnn.settings import Settings
from se_gnn.training import fit


def measure(job: Job, device: str) -> dict[str, Any]:
    """Test accuracy after each round of labels, and how many labels there were."""
    settings = job.series.settings
    graph = load_dataset(job.series.dataset, seed=job.seed)
    wanted = asked(settings["config"])
    if settings["choice"] == "full":
        trained = fit(graph, wanted, seed=job.seed, device=device)
        return {"labels": [len(graph.train)], "accuracy": [trained.predict(graph.test).accuracy(graph.labels)]}
    generator = np.random.default_rng(job.seed)
    pool = np.setdiff1d(np.arange(graph.num_nodes), np.concatenate([graph.validation, graph.test]))
    labeled = one_of_each_class(graph, pool, generator)
    reached = []
    for count in settings["labels"]:
        if count > len(labeled):
            more = count - len(labeled)
            free = np.setdiff1d(pool, labeled)
            if settings["choice"] == "random":
                labeled = np.union1d(labeled, generator.choice(free, more, replace=False))
            else:
                labeled = np.union1d(labeled, suggested(trained, free, more, job.seed))
        trained = _trained(graph, labeled, wanted, job.seed, device)
        reached.append(trained.predict(graph.test).accuracy(graph.labels))
    return {"labels": settings["labels"], "accuracy": reached}


def one_of_each_class(graph: Graph, pool: IntArray, generator: np.random.Generator) -> IntArray:
    """One node of each class, drawn from the pool."""
    drawn = [generator.choice(pool[graph.labels[pool] == label]) for label in range(graph.num_classes)]
    return np.sort(np.array(drawn, dtype=np.int64))


def suggested(trained: Model, free: IntArray, count: int, seed: int) -> IntArray:
    """Ids of the suggested nodes."""
    return np.array([one.node for one in suggest(trained, count, candidates=free, seed=seed)], dtype=np.int64)


def _trained(graph: Graph, labeled: IntArray, wanted: Settings, seed: int, device: str) -> Model:
    split = graph.with_split(train=labeled, validation=graph.validation, test=graph.test)
    return fit(split, wanted, seed=seed, device=device)
