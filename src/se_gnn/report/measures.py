"""How good predictions are: by class, and whether a probability means what it says. Shapes: T nodes, C classes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.model import Prediction

NUM_BINS = 10


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


def part_of(prediction: Prediction, positions: IntArray) -> Prediction:
    """The predictions at some positions."""
    values = {field.name: getattr(prediction, field.name)[positions] for field in dataclasses.fields(prediction)}
    return Prediction(**values)


def calibrate(probabilities: FloatArray, truth: IntArray, num_bins: int = NUM_BINS) -> Calibration:
    r"""Compare the probability of the predicted class with how often it is right.

    The expected calibration error is :math:`\sum_b \frac{n_b}{T} |a_b - p_b|`, over bins of equal width: n_b nodes, of
    which the share a_b is right, at the mean probability p_b.

    Args:
        probabilities: of all classes, [T, C].
        truth: the class of each node, [T].
        num_bins: how many bins there are between 0 and 1.
    """
    sure = np.minimum(probabilities.max(axis=1).astype(np.float64), 1.0)  # sums of float32 weights may pass 1
    right = probabilities.argmax(axis=1) == truth
    number = np.clip(np.ceil(sure * num_bins).astype(np.int64) - 1, 0, num_bins - 1)  # a bin holds its upper end
    bins = tuple(
        Bin(
            b / num_bins,
            (b + 1) / num_bins,
            int((number == b).sum()),
            sure[number == b].mean(),
            right[number == b].mean(),
        )
        for b in np.unique(number).tolist()
    )
    return Calibration(bins, sum(one.nodes * abs(one.accuracy - one.probability) for one in bins) / max(1, len(truth)))
