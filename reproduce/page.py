"""The page of results and the table of the README, made from the result files alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from reproduce import presets
from reproduce.experiments import EXPERIMENTS
from reproduce.runner import duration
from reproduce.store import Result, Store

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = """\
# The paper's tables and figures

Each table and figure of *Towards Self-Explainable Graph Neural Network* (Dai and Wang, CIKM 2021), measured again, beside
the printed numbers. Mean ± standard deviation (of the seeds run, not of a larger population) over 5 seeds where nothing
else is said. SE-GNN has the preset `authors`; the settings of the other methods were chosen on validation nodes.

    make reproduce-table-2            # one table or figure; SEEDS=10 runs more seeds, QUICK=1 one
    make reproduce-all                # all of them
    python -m reproduce render        # this page, from the files in reproduce/results/

A run that was interrupted goes on where it stopped, and what was run before with the same settings is not run again.
This page is written by the last of these commands; no number in it was typed.
"""
README_START, README_END = "<!-- accuracy: python -m reproduce render -->", "<!-- end of accuracy -->"


def write_page(store: Store, docs: Path = ROOT / "docs") -> Path:
    """Write `results.md` and its pictures into a folder; returns the page."""
    pictures = docs / "results"
    pictures.mkdir(parents=True, exist_ok=True)
    sections = [INTRODUCTION]
    for name, experiment in EXPERIMENTS.items():
        if experiment is not presets:
            text = experiment.render(store, pictures).strip()
            sections.append(f"## {experiment.TITLE}\n\n{text}\n\n{made_by(name, experiment, store)}\n")
    page = docs / "results.md"
    page.write_text("\n".join(sections), encoding="utf-8")
    return page


def write_readme(store: Store, readme: Path = ROOT / "README.md") -> None:
    """Put the table of the presets between its two marks."""
    before, rest = readme.read_text(encoding="utf-8").split(README_START)
    after = rest.split(README_END)[1]
    table = presets.render(store, readme.parent)
    readme.write_text(f"{before}{README_START}\n{table}\n{README_END}{after}", encoding="utf-8")


def made_by(name: str, experiment: ModuleType, store: Store) -> str:
    """What made the results of an experiment: commands, commits, machines, seeds, time; and what is missing."""
    by_series = {one.name: store.of(one) for one in experiment.series()}
    results = [result for found in by_series.values() for result in found]
    missing = sum(not found for found in by_series.values())
    again = f"`make reproduce-{name}`"
    if not results:
        return f"Not run yet: {again}."
    seeds = sorted({result.seed for result in results})
    lines = [
        f"Run again by {again}. Made by {_listed(_of(results, 'command'))} at commit {_listed(_of(results, 'commit'))}",
        f"on {'; '.join(sorted({machine_text(result.made['machine']) for result in results}))}.",
        f"{'Seed' if len(seeds) == 1 else 'Seeds'} {_ranges(seeds)};",
        f"{len(results)} runs, {duration(sum(result.seconds for result in results))} of computing in all.",
    ]
    if missing:
        lines.append(f"{missing} of {len(by_series)} series are not run yet.")
    return f"<small>\n{chr(10).join(lines)}\n</small>"


def machine_text(machine: dict[str, Any]) -> str:
    """A machine and its versions in one line."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    return f"{machine['cores']} cores of {machine['cpu']}{gpu}, Python {machine['python']}, {packages}"


def _of(results: Iterable[Result], what: str) -> list[str]:
    return sorted({str(result.made[what]) for result in results})


def _listed(values: list[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _ranges(seeds: list[int]) -> str:
    whole = seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 1
    return f"{seeds[0]}-{seeds[-1]}" if whole else ", ".join(map(str, seeds))
