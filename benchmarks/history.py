"""How each figure changed from run to run, so that a regression is seen.

The history is the folder `published/`: a run is added there as a file and never removed. Figures are compared only
between runs on the same type of processor with the same number of cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results import Results, read_runs
from benchmarks.table import number

PUBLISHED = Path(__file__).resolve().parent / "published"
WORSE = 0.1  # ratios of two runs differ by a few percent without a cause


@dataclass(frozen=True, slots=True)
class Change:
    """A figure in its last run, beside the run before."""

    case: str
    figure: str
    unit: str
    commits: tuple[str, str]
    medians: tuple[float, float]
    loss: float  # how much worse, as a share; negative: better

    @property
    def regressed(self) -> bool:
        """Whether the figure is clearly worse than in the run before."""
        return self.loss > WORSE

    def __str__(self) -> str:
        """One line of the table."""
        before, after = map(number, self.medians)
        verdict = "WORSE" if self.regressed else "better" if self.loss < -WORSE else ""
        what = f"{self.case}, {self.figure}"
        runs = f"({self.commits[0]} to {self.commits[1]})"
        return f"{what:<44}{before:>10} to {after:<10}{self.unit:<13}{verdict:<8}{runs}".rstrip()


def known_runs(files: Iterable[Path] = ()) -> list[Results]:
    """The published runs and some others, from the first to the last; quick ones measure nothing and are left out."""
    paths = {path.resolve() for path in (*PUBLISHED.glob("cpu-*.json"), *files)}
    return [run for run in read_runs(sorted(paths)) if not run["quick"]]


def changes(runs: Sequence[Results]) -> list[Change]:
    """Every figure that was measured at least twice on the same type of machine: its last two runs."""
    measured: dict[tuple[Any, ...], list[tuple[str, dict[str, Any]]]] = {}
    for run in runs:
        machine = (run["machine"]["cpu"], run["machine"]["cores"])
        for case in run["cases"]:
            for figure in case.get("figures", []):
                key = (*machine, case["name"], figure["name"], figure["unit"], case["preset"], tuple(case["settings"]))
                measured.setdefault(key, []).append((run["commit"] or "unknown", figure))
    return [
        _change(key[2], *found[-2:])
        for key, found in sorted(measured.items(), key=lambda one: one[0][2:4])
        if found[1:]
    ]


def _change(case: str, before: tuple[str, dict[str, Any]], after: tuple[str, dict[str, Any]]) -> Change:
    (old_commit, old), (new_commit, new) = before, after
    ratio = new["median"] / old["median"] if old["median"] else 1.0
    loss = 1 - ratio if new["bound"] == "at least" else ratio - 1
    return Change(
        case=case,
        figure=new["name"],
        unit=new["unit"],
        commits=(old_commit, new_commit),
        medians=(old["median"], new["median"]),
        loss=loss,
    )
