"""Sizes of a data set."""

from __future__ import annotations

from lab.datasets import load_dataset
from reproduce.job import Job


def measure(job: Job, device: str) -> dict[str, int]:
    """Nodes, edges (each once), features, classes, and the split."""
    graph = load_dataset(job.series.dataset, seed=job.seed)
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "classes": graph.num_classes,
        "train": len(graph.train),
        "val": len(graph.validation),
        "test": len(graph.test),
    }
