"""Cases as an attribution of predictions to training data, by the metrics of quanda (https://pypi.org/project/quanda).

quanda measures any matrix of attributions, whoever made it: cases, gradients, influence functions. It is installed on
its own (`pip install quanda`), because it brings transformers, lightning and more. Shapes: T nodes, L cases.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.model import Model
from se_gnn.optional import MissingPackage

TOP = 5  # training nodes with the highest attributions that are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionScores:
    """How good attributions are, by quanda's metrics.

    Attributes:
        class_detection: share of the nodes with the highest attributions that have the class of the prediction; high is
            good.
        cardinality: share of different nodes among these, over all predictions; close to 0, the same few nodes explain
            everything.
    """

    class_detection: float
    cardinality: float


def attributions(trained: Model, nodes: IntArray) -> Tensor:
    """What each case adds to the probability of the predicted class of some nodes, or takes from it, [T, L].

    It is the weight of a case that votes for the class, and minus the weight of one that votes for another class.
    """
    prediction, labels = trained.predict(nodes), trained.graph.labels
    signs = np.where(labels[prediction.cases] == prediction.classes[:, None], 1, -1)  # [T, K]
    found = torch.zeros(len(nodes), len(trained.graph.train))
    rows, columns = np.nonzero(prediction.voting)
    places = np.searchsorted(trained.graph.train, prediction.cases[rows, columns])
    found[rows, places] = torch.from_numpy(prediction.weights * signs)[rows, columns].float()
    return found


def attribution_scores(found: Tensor, classes: IntArray, predicted: IntArray, *, top: int = TOP) -> AttributionScores:
    """Measure attributions, [T, L], of predicted classes, [T], to training nodes with some classes, [L]."""
    _check(found, len(predicted), len(classes))
    if not 1 <= top <= len(classes):
        raise InputError(f"top must be between 1 and the {len(classes)} training nodes, got {top}")
    known: dict[str, Any] = {"model": torch.nn.Identity(), "train_dataset": list(enumerate(classes.tolist()))}
    same_class = _metrics("downstream_eval").ClassDetectionMetric(**known, s=top)
    same_class.update(found, torch.from_numpy(predicted))
    different = _metrics("heuristics").TopKCardinalityMetric(**known, top_k=top)
    different.update(found)
    return AttributionScores(
        class_detection=float(same_class.compute()["score"]), cardinality=float(different.compute()["score"])
    )


def mislabeling_score(suspicion: Float64Array, wrong: IntArray) -> float:
    """Area under the curve of wrong labels found, if training nodes are inspected from the most suspicious on.

    Args:
        suspicion: of each training node, [L]: that of an audit, for example.
        wrong: positions of the wrong labels among them.
    """
    _check(torch.from_numpy(suspicion)[None], 1, len(suspicion))
    if not len(wrong):
        raise InputError("wrong must hold the position of at least one wrong label")
    metric = _metrics("downstream_eval").MislabelingDetectionMetric(
        model=torch.nn.Identity(),
        train_dataset=list(range(len(suspicion))),
        mislabeling_indices=wrong.tolist(),
        precomputed_self_influence=torch.from_numpy(suspicion),
    )
    return float(metric.compute()["score"])


def _check(found: Tensor, rows: int, columns: int) -> None:
    if found.shape != (rows, columns) or not rows or not columns:
        raise InputError(f"attributions must have the shape ({rows}, {columns}), got {tuple(found.shape)}")
    if not torch.isfinite(found).all():
        raise InputError("attributions must be finite numbers")


def _metrics(name: str) -> Any:
    try:
        return importlib.import_module(f"quanda.metrics.{name}")
    except ImportError as error:
        raise MissingPackage(f"these metrics need the package quanda: pip install quanda ({error})") from error
