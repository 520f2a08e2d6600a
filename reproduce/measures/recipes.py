"""Figures of one training run on validation nodes."""

from __future__ import annotations

from typing import Any

from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.training import TrainingRun, resolve_device


def measure(job: Job, device: str) -> dict[str, Any]:
    """Accuracy and log loss of the best epoch, and how many epochs there were."""
    graph = load_dataset(job.series.dataset, seed=job.seed)
    wanted = job.series.settings
    settings = asked(wanted).resolve(graph).with_recipe(wanted["recipe"])
    run = TrainingRun(graph, settings, seed=job.seed, device=resolve_device(device), folder=None)
    while not run.finished:
        run.step()
    best = run.history[run.best_epoch]
    return {"val_accuracy": best["val_accuracy"], "val_loss": best["val_loss"], "epochs": run.epoch}
