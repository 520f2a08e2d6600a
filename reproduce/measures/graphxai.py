"""A graph of GraphXAI, both models trained on it, and all explainers by GraphXAI's metrics."""

from __future__ import annotations

from lab.graphxai import compare, prepare
from reproduce.job import Job


def measure(job: Job, device: str) -> dict[str, float | int | None]:
    """Accuracy of both models, and each metric of each explainer."""
    setting = prepare(job.series.dataset.removeprefix("graphxai-"), job.seed)
    found = compare(setting, job.series.settings["nodes"])
    return {
        "num_nodes": setting.graph.num_nodes,
        **{f"test_accuracy/{name}": value for name, value in setting.accuracy.items()},
        **{f"{name}/{metric}": value for name, measures in found.items() for metric, value in measures.items()},
    }
