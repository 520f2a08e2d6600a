"""Losses, sampling and the training loop, Eq. (11)-(14)."""

from se_gnn.training.trainer import resolve_device, train

__all__ = ["resolve_device", "train"]
