"""Searches on disk: a JSON-lines file per method, with what was tried and what made it.

A row has the validation accuracy of settings by seed; there may be several rows for the same settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.json_lines import Row, append_row, read_rows
from reproduce.runner import Making, made_with

FOLDER = Path(__file__).parent / "searches"
Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tried:
    """Settings that were tried, with the validation accuracy of each seed."""

    settings: Settings
    val_accuracy: dict[int, float]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(list(self.val_accuracy.values())))


class Searches:
    """All that was tried for one method."""

    def __init__(self, method: str, folder: Path = FOLDER) -> None:
        self.path = folder / f"{method}.jsonl"

    @cached_property
    def rows(self) -> list[Row]:
        """The rows as they are in the file."""
        return read_rows(self.path)

    def of(self, dataset: str) -> list[Tried]:
        """What was tried on a data set, in that order."""
        found: dict[frozenset[tuple[str, Any]], Tried] = {}
        for row in self.rows:
            if row["dataset"] == dataset:
                key = frozenset(row["settings"].items())
                by_seed = {int(seed): value for seed, value in row["val_accuracy"].items()}
                found.setdefault(key, Tried(row["settings"], {})).val_accuracy.update(by_seed)
        return list(found.values())

    def best_first(self, dataset: str, *, seeds: int = 1) -> list[Tried]:
        """What was tried with at least that many seeds; of equal means the one that was tried first comes first."""
        enough = [one for one in self.of(dataset) if len(one.val_accuracy) >= seeds]
        return sorted(enough, key=lambda one: -one.mean)

    def has(self, dataset: str, settings: Settings, seed: int) -> bool:
        """Whether a training was made, in whatever order its settings are given."""
        return any(
            row["dataset"] == dataset and row["settings"] == settings and str(seed) in row["val_accuracy"]
            for row in self.rows
        )

    def add(self, dataset: str, settings: Settings, val_accuracy: dict[int, float], making: Making) -> None:
        """Keep what some seeds gave."""
        by_seed = {str(seed): value for seed, value in val_accuracy.items()}
        row = {"dataset": dataset, "settings": settings, "val_accuracy": by_seed, "made": made_with(making)}
        append_row(self.path, row)
        self.rows.append(row)

    @property
    def datasets(self) -> list[str]:
        """Those on which something was tried, in alphabetical order."""
        return sorted({row["dataset"] for row in self.rows})
