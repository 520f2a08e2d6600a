"""What there is to run, as data: a series is a method on a data set with its settings, a job one seed of it.

Tables and figures name the series they show. Where two of them show the same series (Table 2 its accuracy, Figure 3 its
precision@k), it runs once.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

IDENTITY = ("kind", "dataset", "method", "noise", "variant")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """A method on a data set, with everything that its result depends on but the seed."""

    kind: str  # the module of `reproduce.measures` that runs it
    dataset: str
    method: str
    settings: dict[str, Any]  # JSON values; a result made with others is out of date
    noise: str = ""  # what was done to the edges, such as metattack-0.25
    variant: str = ""  # a name for settings that are not the usual ones, such as 1-hop
    seeded: bool = True  # False: nothing in it is random, one seed says it all
    times_seeds: int = 1  # seeds for each one that is asked for: more than 1 shows how far they differ

    @property
    def name(self) -> str:
        """Unique among all series."""
        return series_name({part: getattr(self, part) for part in IDENTITY})

    @property
    def words(self) -> set[str]:
        """What `--only` may call it."""
        return {self.kind, self.dataset, self.method, self.noise, self.variant} - {""}


@dataclass(frozen=True, slots=True)
class Job:
    """One seed of a series, and the experiment in whose file its result is kept."""

    series: Series
    seed: int
    experiment: str = "other"

    @property
    def name(self) -> str:
        """What people see of it while it runs."""
        return f"{self.series.name}/seed-{self.seed}"

    def measure(self, device: str) -> dict[str, Any]:
        """Run it; plain values that JSON can hold."""
        module = importlib.import_module(f"reproduce.measures.{self.series.kind}")
        measures: dict[str, Any] = module.measure(self, device)
        return measures


def jobs_of(series: Iterable[Series], seeds: int, experiment: str = "other") -> list[Job]:
    """Every seed of every series, each once."""
    once = {one.name: one for one in series}
    return [
        Job(one, seed, experiment)
        for one in once.values()
        for seed in range(seeds * one.times_seeds if one.seeded else 1)
    ]


def series_name(about: dict[str, Any]) -> str:
    """The name of a series, from the values of :data:`IDENTITY`.

    >>> series_name({"kind": "classify", "dataset": "cora", "method": "gcn", "noise": "random-0.1", "variant": ""})
    'classify/cora+random-0.1/gcn'
    """
    dataset, method = (about["dataset"], about["noise"]), (about["method"], about["variant"])
    return "/".join([about["kind"], *("+".join(filter(None, parts)) for parts in (dataset, method))])
