"""Losses, sampling and the training loop, Eq. (11)-(14)."""

from se_gnn.device import resolve_device
from se_gnn.training.train import train
from se_gnn.training.trainer import TrainingRun

__all__ = ["TrainingRun", "resolve_device", "train"]
