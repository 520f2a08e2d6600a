"""What an edit does, before it is applied. Shapes: N nodes, M nodes whose prediction changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray
from se_gnn.labels.edits import Change, apply, check_enough
from se_gnn.model import Prediction, TrainedModel
from se_gnn.model.prediction import accuracy, log_loss


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Accuracy and log loss on the validation nodes, and how many there are; NaN without any."""

    accuracy: float
    loss: float
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """The edited model, and how its answers differ.

    Shapes:
        - **changed:** ids of the nodes that get another class, :math:`(M,)`
        - **before**, **after:** predictions of all nodes
    """

    changes: tuple[Change, ...]
    edited: TrainedModel
    changed: IntArray
    before: Prediction
    after: Prediction
    validation_before: Figures
    validation_after: Figures


def preview(trained: TrainedModel, changes: Sequence[Change]) -> Preview:
    """Apply changes to a copy and predict every node anew; the model itself stays as it is.

    Raises:
        InputError: there is nothing to change, a class would lose its last labeled node, or fewer than K would be left.
    """
    if not changes:
        raise InputError("nothing to change: the memory is as asked for already")
    graph = apply(trained.graph, changes)
    check_enough(trained.graph, graph, trained.settings.vote.num_nearest)
    edited = dataclasses.replace(trained, graph=graph)
    edited.__dict__["embeddings"] = trained.embeddings  # labels are no input of the encoder
    before, after = trained.predict(), edited.predict()
    return Preview(
        changes=tuple(changes),
        edited=edited,
        changed=np.flatnonzero(before.classes != after.classes).astype(np.int64),
        before=before,
        after=after,
        validation_before=_figures(trained, before),
        validation_after=_figures(edited, after),
    )


def _figures(trained: TrainedModel, prediction: Prediction) -> Figures:
    val = trained.graph.validation
    probabilities, labels = prediction.probabilities[val], trained.graph.labels[val]
    return Figures(accuracy(probabilities, labels), log_loss(probabilities, labels), len(val))
