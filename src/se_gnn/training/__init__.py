"""Losses, sampling and the training loop, Eq. (11)-(14)."""

from se_gnn.training.train import train
from se_gnn.training.trainer import TrainingRun, resolve_device

__all__ = ["TrainingRun", "resolve_device", "train"]
