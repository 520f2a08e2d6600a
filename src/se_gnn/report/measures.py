"""How good predictions are, and whether a probability means what it says. Shapes: T nodes, C classes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score

from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.model import Prediction

NUM_BINS = 10
LEAST = 1e-8  # probability of a class that nobody votes for, as training counts it


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions whose probability lies between ``low`` and ``high``; the first bin holds its lower end, too."""

    low: float
    high: float
    nodes: int
    probability: float  # mean of the predicted classes' probabilities
    accuracy: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bins that hold nodes, and the expected calibration error: the mean gap of accuracy and probability by node."""

    bins: tuple[Bin, ...]
    error: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Figures of one part of the split; None where they are not defined.

    The area under the ROC curve and the average precision are of two classes alone; the rarer one, ``positive``, is
    the class that is to be found.
    """

    macro_f1: float
    log_loss: float
    roc_auc: float | None
    average_precision: float | None
    positive: int | None


def part_of(prediction: Prediction, positions: IntArray) -> Prediction:
    """The predictions at some positions."""
    values = {field.name: getattr(prediction, field.name)[positions] for field in dataclasses.fields(prediction)}
    return Prediction(**values)


def score(probabilities: FloatArray, truth: IntArray) -> Scores | None:
    """Macro-F1 over the classes that occur or were predicted, log loss, and for two classes how well they are ranked.

    None without nodes.

    Args:
        probabilities: of all classes, [T, C].
        truth: the class of each node, [T].
    """
    if not len(truth):
        return None
    num_classes = probabilities.shape[1]
    likely = np.maximum(probabilities.astype(np.float64), LEAST)
    ranked = num_classes == 2 and len(np.unique(truth)) == 2
    rarer = 1 if 2 * truth.sum() <= len(truth) else 0
    return Scores(
        macro_f1=float(f1_score(truth, probabilities.argmax(axis=1), average="macro")),
        log_loss=float(log_loss(truth, likely / likely.sum(axis=1, keepdims=True), labels=np.arange(num_classes))),
        roc_auc=float(roc_auc_score(truth == rarer, probabilities[:, rarer])) if ranked else None,
        average_precision=float(average_precision_score(truth == rarer, probabilities[:, rarer])) if ranked else None,
        positive=rarer if ranked else None,
    )


def calibrate(probabilities: FloatArray, truth: IntArray, num_bins: int = NUM_BINS) -> Calibration:
    r"""Compare the probability of the predicted class with how often it is right.

    The expected calibration error is :math:`\sum_b \frac{n_b}{T} |a_b - p_b|`, over bins of equal width: n_b nodes, of
    which the share a_b is right, at the mean probability p_b.

    Args:
        probabilities: of all classes, [T, C].
        truth: the class of each node, [T].
        num_bins: how many bins there are between 0 and 1.
    """
    if not len(truth):
        return Calibration((), 0.0)
    sure = np.minimum(probabilities.max(axis=1).astype(np.float64), 1.0)  # sums of float32 weights may pass 1
    right = probabilities.argmax(axis=1) == truth
    # scikit-learn takes labels that are all alike for a mistake unless it is told which one is positive
    accuracy, probability = calibration_curve(right, sure, n_bins=num_bins, pos_label=True)
    edges = np.linspace(0, 1, num_bins + 1)
    held = np.bincount(np.searchsorted(edges[1:-1], sure), minlength=num_bins)  # a bin holds its upper end
    bins = tuple(
        Bin(b / num_bins, (b + 1) / num_bins, int(held[b]), float(p), float(a))
        for b, p, a in zip(np.flatnonzero(held).tolist(), probability, accuracy)
    )
    return Calibration(bins, sum(one.nodes * abs(one.accuracy - one.probability) for one in bins) / len(truth))
