"""The figures of the model card. Shapes: T nodes, C classes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.model import Prediction
from se_gnn.model.metrics import classification_metrics


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
    figures = classification_metrics(probabilities, truth)
    shown = {name: figures[name] for name in ("macro_f1", "roc_auc", "average_precision", "positive")}
    return Scores(log_loss=figures["loss"], **shown)
