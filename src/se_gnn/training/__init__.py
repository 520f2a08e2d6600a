"""Losses, sampling and the training loop, Eq. (11)-(14)."""

from se_gnn.training.trainer import TrainingRun, resolve_device, train

__all__ = ["TrainingRun", "resolve_device", "train"]
