"""Coverage and size of prediction sets on the test nodes, with nodes that were held out before training.

Twice: with the calibration nodes that the split gives, and with as many drawn again and again from calibration and test
nodes together. These are exchangeable with the rest by construction, which those of a fixed split need not be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.baselines import baseline
from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.methods import asked
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.labels.sets import Scores, aps_scores, diffused, lac_scores, prediction_sets
from se_gnn.model.numbers import conformal_quantile
from se_gnn.training import fit
from se_gnn.training.fit import with_calibration


def measure(job: Job, device: str) -> dict[str, Any]:
    """Coverage and mean size of each kind of set."""
    settings = job.series.settings
    graph = with_calibration(load_dataset(job.series.dataset, seed=job.seed), settings["share"], seed=job.seed)
    coverage, figures = settings["coverage"], {}
    if job.series.method == "se-gnn":
        trained = fit(graph, asked(settings["method"]), seed=job.seed, device=device)
        for method in ("lac", "aps", "daps"):
            found = prediction_sets(trained, graph.test, coverage=coverage, method=method, seed=job.seed)
            figures |= {f"{method}_coverage": found.covered(graph.labels), f"{method}_size": found.mean_size}
            unseen = prediction_sets(trained, _unseen(graph), coverage=coverage, method=method, seed=job.seed)
            figures |= redrawn(unseen.scores, graph, settings, method, job.seed)
        return {**figures, "accuracy": trained.predict(graph.test).accuracy(graph.labels)}
    fitted = baseline(job.series.method, **settings["method"]).fit(graph, seed=job.seed, device=device)
    probabilities = fitted.predict_proba().astype(np.float64)
    for method, scores in scores_of(probabilities, graph, job.seed).items():
        figures |= cut(scores, graph, coverage, method)
        figures |= redrawn(scores[_unseen(graph)], graph, settings, method, job.seed)
    right = probabilities[graph.test].argmax(axis=1) == graph.labels[graph.test]
    return {**figures, "accuracy": float(right.mean())}


def scores_of(probabilities: Scores, graph: Graph, seed: int) -> dict[str, Scores]:
    """The same scores from the probabilities of a network, of all nodes."""
    everyone = np.arange(graph.num_nodes)
    adaptive = aps_scores(probabilities, np.random.default_rng(seed).random(graph.num_nodes))
    return {
        "lac": lac_scores(probabilities),
        "aps": adaptive,
        "daps": diffused(adaptive, everyone, graph, everyone),
    }


def cut(scores: Scores, graph: Graph, coverage: float, method: str) -> dict[str, float]:
    """Coverage and mean size on the test nodes."""
    covered, size = _covered(scores, graph.labels, graph.calibration, graph.test, coverage)
    return {f"{method}_coverage": covered, f"{method}_size": size}


def redrawn(scores: Scores, graph: Graph, settings: dict[str, Any], method: str, seed: int) -> dict[str, float]:
    """Mean coverage and size over draws of the calibration nodes, from the scores of all that nothing looked at."""
    generator, labels = np.random.default_rng([seed, 11]), graph.labels[_unseen(graph)]
    found = []
    for _ in range(settings["draws"]):
        held, asked = np.split(generator.permutation(len(labels)), [len(graph.calibration)])
        found.append(_covered(scores, labels, held, asked, settings["coverage"]))
    covered, size = np.mean(found, axis=0).tolist()
    return {f"{method}_redrawn_coverage": covered, f"{method}_redrawn_size": size}


def _covered(scores: Scores, labels: IntArray, held: IntArray, asked: IntArray, coverage: float) -> tuple[float, float]:
    """Coverage and mean size of the sets of the nodes that are asked, calibrated on those that are held."""
    threshold = conformal_quantile(scores[held, labels[held]], coverage)
    members = scores[asked] <= threshold
    right = members[np.arange(len(asked)), labels[asked]]
    return float(right.mean()), float(members.sum(axis=1).mean())


def _unseen(graph: Graph) -> IntArray:
    """Calibration and test nodes."""
    return np.concatenate([graph.calibration, graph.test])
