"""Losses, the training loop, and the search for settings, Eq. (11)-(14)."""

from se_gnn.device import resolve_device
from se_gnn.training.fit import fit
from se_gnn.training.trainer import TrainingRun

__all__ = ["TrainingRun", "fit", "resolve_device"]
