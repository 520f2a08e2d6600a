"""Facts about the training of a model: what it ran with, every run, and the figures that the model reached."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

PACKAGES = ("se-gnn", "torch", "numba", "numpy", "scipy")
Figures = Mapping[str, Any]  # as `evaluate_nodes` returns them


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training run: of a recipe, or of a further member of the ensemble."""

    name: str
    seed: int
    epochs: int
    best_epoch: int
    stopped_early: bool
    val_accuracy: float | None  # at the best epoch, compared as in training
    val_loss: float | None
    seconds_per_epoch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """How a model was trained. A model that was not trained has only the defaults."""

    seed: int = 0
    device: str = "cpu"
    calibration: float = 0.0  # share of the validation nodes that was held out
    integer_labels: bool = False  # labels were given as integers, and predictions are returned as such
    versions: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    chosen: str = ""  # name of the run that validation nodes chose, the first member of the ensemble
    validation: Figures | None = None
    cross_fitted: Figures | None = None  # of validation nodes that had no part in choosing recipe, epoch and vote
    test: Figures | None = None  # only if it was asked for, after everything had been chosen

    @property
    def chosen_run(self) -> Run | None:
        """The run that validation nodes chose; None: the model was not trained."""
        return next((run for run in self.runs if run.name == self.chosen), None)

    @property
    def epochs(self) -> int:
        """Epochs of all runs."""
        return sum(run.epochs for run in self.runs)

    @property
    def seconds_per_epoch(self) -> float:
        """Mean over all epochs of all runs."""
        return sum(run.epochs * run.seconds_per_epoch for run in self.runs) / max(1, self.epochs)


def versions() -> dict[str, str]:
    """What the bits of a result depend on, apart from model, graph and settings."""
    return {**{name: _version(name) for name in PACKAGES}, "processor": platform.machine()}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from the sources, not installed
        return "0+unknown"
