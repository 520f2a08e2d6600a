"""Train a method once as a user would and look at the test nodes once: how right, how honest, how expensive."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import ParameterGrid

from lab.baselines import Baseline, baseline
from lab.datasets import load_dataset
from lab.metrics import accuracy
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.model import Model, Prediction
from se_gnn.model.metrics import calibrate, classification_metrics
from se_gnn.training import fit, resolve_device

RANK = 5  # k of precision@k


def measure(job: Job, device: str) -> dict[str, Any]:
    """Accuracy, macro-F1 and calibration error on the test nodes, time and peak memory; of SE-GNN its evidence, too."""
    series = job.series
    graph = load_dataset(series.dataset, seed=job.seed)
    reset_peak(device)
    start = time.perf_counter()
    if series.method == "se-gnn":
        trained = fit(graph, asked(series.settings), seed=job.seed, device=device)
        trained_after = time.perf_counter()
        prediction = trained.predict(graph.test)
        probabilities, about = prediction.probabilities, evidence(trained, prediction)
    else:
        fitted, about = best_on_validation(graph, series.method, series.settings, seed=job.seed, device=device)
        trained_after = time.perf_counter()
        probabilities = fitted.predict_proba()[graph.test]
    seconds = {"train_seconds": trained_after - start, "predict_seconds": time.perf_counter() - trained_after}
    return {
        **quality(probabilities, graph),
        **about,
        **{name: round(value, 3) for name, value in seconds.items()},
        "peak_bytes": peak_bytes(device),
    }


def quality(probabilities: FloatArray, graph: Graph) -> dict[str, float]:
    """Figures of the test nodes, from their class probabilities [T, C]."""
    figures = classification_metrics(probabilities, graph.labels[graph.test])
    kept = {name: figures[name] for name in ("accuracy", "macro_f1", "calibration_error")}
    return {**kept, "calibration_chance": calibration_by_chance(probabilities, graph.labels[graph.test])}


def calibration_by_chance(probabilities: FloatArray, truth: IntArray) -> float:
    """The calibration error to be expected of that many nodes if every claim were exactly right.

    In a bin of n nodes with mean claim p, the number of correct ones has the variance n p (1 - p).
    """
    bins = calibrate(probabilities, truth).bins
    apart = sum(math.sqrt(2 / math.pi * one.nodes * one.probability * (1 - one.probability)) for one in bins)
    return apart / max(1, len(truth))


def evidence(trained: Model, prediction: Prediction) -> dict[str, float]:
    """Whether the nearest labeled nodes are right, and how much of a similarity is structure."""
    return {
        "precision_at_5": prediction.precision_at(RANK, trained.graph.labels),
        "structure_share": structure_share(prediction, trained.settings.similarity.node_weight),
        "node_weight": trained.settings.similarity.node_weight,
    }


def structure_share(prediction: Prediction, node_weight: float) -> float:
    r"""Share of structure in the similarities of the labeled neighbors, weighted by their votes; mean over the nodes.

    Of one neighbor it is :math:`|(1 - \lambda) s^e| / (|\lambda s^n| + |(1 - \lambda) s^e|)`, and 0 where one of the
    two nodes has no edges.
    """
    known = np.isfinite(prediction.structure)
    node = np.abs(node_weight * prediction.node)
    structure = np.abs((1 - node_weight) * np.where(known, prediction.structure, 0))
    share = np.divide(structure, node + structure, out=np.zeros_like(structure), where=node + structure > 0)
    return float((prediction.weights * share).sum(axis=1).mean())


def best_on_validation(
    graph: Graph, method: str, settings: dict[str, Any], *, seed: int, device: str
) -> tuple[Baseline, dict[str, Any]]:
    """A baseline with its settings, or the best of a grid of settings on the validation nodes, and which it was."""
    grid = settings.get("grid")
    if grid is None:
        return baseline(method, **settings).fit(graph, seed=seed, device=device), {}
    tried = [(one, baseline(method, **one).fit(graph, seed=seed, device=device)) for one in ParameterGrid(grid)]
    right = [accuracy(fitted.predict()[graph.validation], graph.labels[graph.validation]) for _, fitted in tried]
    chosen, fitted = tried[int(np.argmax(right))]
    return fitted, {"chosen": chosen}


def reset_peak(device: str) -> None:
    """Forget the peak memory of what ran before in this process."""
    if resolve_device(device).type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    else:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_bytes(device: str) -> int:
    """Peak memory since the reset: of the GPU where it is used, else of the process."""
    if resolve_device(device).type == "cuda":
        return int(torch.cuda.max_memory_allocated())
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])
