"""How good predictions are: by class, and whether a probability means what it says. Shapes: T nodes, C classes."""

from __future__ import annotations

import dataclasses

from se_gnn.graph.attributed import IntArray
from se_gnn.model import Prediction
from se_gnn.model.metrics import Bin, Calibration, calibrate

__all__ = ["Bin", "Calibration", "calibrate", "part_of"]


def part_of(prediction: Prediction, positions: IntArray) -> Prediction:
    """The predictions at some positions."""
    values = {field.name: getattr(prediction, field.name)[positions] for field in dataclasses.fields(prediction)}
    return Prediction(**values)
