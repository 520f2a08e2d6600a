"""Timing of two sides in turn, in one process, so that whatever slows the machine slows both."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Seconds; a shorter call is repeated until it fills one sample. The turn of the other side leaves caches and heap cold.
SHORTEST_SAMPLE = 1.0


class Unavailable(Exception):
    """A case cannot run here: data or a package is missing."""


class Disagreement(Exception):
    """The two sides do not compute the same: their times are not comparable."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some samples with the lowest and the highest.

    >>> Spread.of([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0)
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarize samples."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Side:
    """A call that is timed, and how many units of work one call does."""

    call: Callable[[], Any]
    units: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a workload measured: its figures by name, the samples they come from, and what else is worth knowing."""

    figures: dict[str, Spread]
    samples: dict[str, list[float]]
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What holds for all cases of a run."""

    seed: int = 0
    quick: bool = False  # smallest amount of work that still runs every step; no measurement

    def rounds(self, wanted: int) -> int:
        """Rounds to measure."""
        return 1 if self.quick else wanted

    @property
    def shortest_sample(self) -> float:
        """Seconds that a sample fills at least."""
        return 0.0 if self.quick else SHORTEST_SAMPLE


def alternate(sides: Mapping[str, Side], *, rounds: int, shortest: float = SHORTEST_SAMPLE) -> dict[str, list[float]]:
    """Seconds a unit of each side, once a round, the sides in turn. The caller has warmed them up."""
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            samples[name].append(_seconds_a_call(side.call, shortest) / side.units)
    return samples


def round_ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Ratio of two sides, round by round.

    >>> round_ratios([10.0, 30.0, 20.0], [1.0, 2.0, 1.0])
    Spread(median=15.0, low=10.0, high=20.0)
    """
    return Spread.of([a / b for a, b in zip(above, below, strict=True)])


def _seconds_a_call(call: Callable[[], Any], shortest: float) -> float:
    gc.collect()  # garbage of one side must not be collected on the clock of the other
    calls, start = 0, time.perf_counter()
    while True:
        call()
        calls += 1
        elapsed = time.perf_counter() - start
        if elapsed >= shortest:
            return elapsed / calls
