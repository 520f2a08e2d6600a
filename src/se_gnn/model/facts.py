"""Facts about the training of a model: what it ran with, every run, and the figures that the model reached."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from se_gnn.errors import InputError, shortened

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `from_dict` reads them back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RunFacts:
        """What `to_dict` wrote, its fields and their types checked."""
        _check_fields(cls, stored)
        for run in stored["runs"]:
            if not isinstance(run, Mapping):
                raise InputError(f"runs must be records, got {shortened(run)}")
            _check_fields(Run, run)
        return cls(**{**stored, "runs": tuple(Run(**run) for run in stored["runs"])})


def versions() -> dict[str, str]:
    """What the bits of a result depend on, apart from model, graph and settings."""
    return {**{name: _version(name) for name in PACKAGES}, "processor": platform.machine()}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from the sources, not installed
        return "0+unknown"


_STORED_AS: dict[Any, tuple[type, ...]] = {float: (int, float), Mapping: (dict,), tuple: (list, tuple)}


def _check_fields(kind: type[Run | RunFacts], stored: Mapping[str, Any]) -> None:
    hints = get_type_hints(kind)
    if stored.keys() != hints.keys():
        raise InputError(f"it must have the fields {', '.join(hints)}, got {shortened(sorted(stored), 200)}")
    for name, hint in hints.items():
        kinds = [get_origin(one) or one for one in (get_args(hint) if isinstance(hint, UnionType) else [hint])]
        if not any(type(stored[name]) in _STORED_AS.get(one, (one,)) for one in kinds):
            raise InputError(f"{name} has a value of the wrong type: {shortened(stored[name])}")
