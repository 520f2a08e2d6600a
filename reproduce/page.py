"""The page of results and the table of the README, made from the result files alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from reproduce import default, goals
from reproduce.experiments import file_names, on_results_page
from reproduce.markdown import paragraphs, table
from reproduce.runner import duration
from reproduce.store import Store

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = """\
# Results: the paper's tables and figures

This page repeats every table and figure of *Towards Self-Explainable Graph Neural Network* (Dai and Wang, CIKM 2021)
and shows our numbers beside the printed ones. Unless noted otherwise, numbers are the mean ± standard deviation over
5 seeds (the deviation of the seeds run, not an estimate for a larger population). SE-GNN uses the preset `authors`.
Pro-GNN uses the settings of its authors' scripts (on PubMed, half of the epochs). The settings of all other methods
were chosen on validation nodes ([details](lab.md#settings-of-the-baselines)).

    make reproduce-table-2            # one table or figure; SEEDS=10 runs more seeds, QUICK=1 one
    make reproduce-all                # all of them
    make reproduce-all REPRODUCE_ARGS="--device cuda"    # on a GPU, and Pro-GNN with the rest
    python -m reproduce render        # this page, from the files in reproduce/results/

An interrupted run resumes where it stopped, and results that exist for the same settings are not computed again. The
last command writes this page, so every number comes from a result file.
"""
TIME_NOTE = """\
Tables and figures share jobs, and each job runs once, in one process. `--jobs N` runs N jobs at the same time, which
makes each of them slower."""
README_START, README_END = "<!-- accuracy: python -m reproduce render -->", "<!-- end of accuracy -->"


def write_page(store: Store, docs: Path = ROOT / "docs" / "understanding") -> Path:
    """Write `results.md` and its pictures into a folder; returns the page."""
    pictures = docs / "results"
    pictures.mkdir(parents=True, exist_ok=True)
    shown = on_results_page()
    machines: list[str] = []
    sections = [INTRODUCTION, f"## {goals.TITLE}\n\n{goals.render(store)}\n"]
    for name, experiment in shown.items():
        text = experiment.render(store, pictures).strip()
        made = made_by(name, experiment, store, machines) if experiment.series() else ""  # people, and no job, made it
        sections.append(paragraphs(f"## {experiment.TITLE}", text, made) + "\n")
    if machines:
        times = paragraphs("## Time and machines", time_table(shown, store), TIME_NOTE, machine_list(machines))
        sections.append(f"{times}\n")
    page = docs / "results.md"
    page.write_text("\n".join(sections), encoding="utf-8")
    return page


def write_readme(store: Store, readme: Path = ROOT / "README.md") -> None:
    """Put the table of the default preset between its two marks."""
    before, rest = readme.read_text(encoding="utf-8").split(README_START)
    after = rest.split(README_END)[1]
    readme.write_text(f"{before}{README_START}\n{default.short_table(store)}\n{README_END}{after}", encoding="utf-8")


def made_by(name: str, experiment: ModuleType, store: Store, machines: list[str]) -> str:
    """What made the results of an experiment, and what is missing; machines that are new go to the end of the list."""
    homes = file_names()
    by_series = {one.name: store.of(one) for one in experiment.series()}
    results = [result for found in by_series.values() for result in found]
    if not results:
        return f"> Not run yet: `make reproduce-{name}`."
    for result in results:
        if machine_text(result.made["machine"]) not in machines:
            machines.append(machine_text(result.made["machine"]))
    used = sorted({_letter(machines.index(machine_text(result.made["machine"]))) for result in results})
    seeds = sorted({result.seed for result in results})
    on = f"{'machine' if len(used) == 1 else 'machines'} {', '.join(used)}"
    words = [
        f"Made by `python -m reproduce run {name}` on {on}, {'seed' if len(seeds) == 1 else 'seeds'} {_ranges(seeds)};",
        f"each row of {_listed(sorted({f'{homes[one]}.jsonl' for one, found in by_series.items() if found}))} in",
        "`reproduce/results` names its command, commit and machine.",
    ]
    missing = sum(not found for found in by_series.values())
    if missing:
        words.append(f"{missing} of {len(by_series)} series are not run yet: `make reproduce-{name}`.")
    stale = sum(store.num_stale(one) for one in {one.name: one for one in experiment.series()}.values())
    if stale:
        words.append(f"{stale} results of earlier settings are left out.")
    return f"> {' '.join(words)}"


def time_table(experiments: dict[str, ModuleType], store: Store) -> str:
    """How long the jobs took, one process each."""
    rows, everything = [], {}
    for name, experiment in experiments.items():
        jobs = {f"{one.name}/{result.seed}": result.seconds for one in experiment.series() for result in store.of(one)}
        everything |= jobs
        if jobs:
            rows.append([f"`{name}`", str(len(jobs)), duration(sum(jobs.values())), duration(max(jobs.values()))])
    rows.append(
        ["each job once", str(len(everything)), duration(sum(everything.values())), duration(max(everything.values()))]
    )
    return table(["", "jobs", "all, one after the other", "longest"], rows)


def machine_text(machine: dict[str, Any]) -> str:
    """A machine and its versions in one line."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    memory = f", {machine['memory_gb']:.0f} GB" if machine["memory_gb"] else ""
    return f"{machine['cores']} cores of {machine['cpu']}{memory}{gpu}; Python {machine['python']}, {packages}"


def machine_list(machines: Sequence[str]) -> str:
    """The machines with their letters, one per line."""
    return "\n".join(f"- {_letter(i)}: {machine}" for i, machine in enumerate(machines))


def _letter(i: int) -> str:
    return chr(ord("A") + i)


def _listed(values: list[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _ranges(seeds: list[int]) -> str:
    whole = seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 1
    return f"{seeds[0]}-{seeds[-1]}" if whole else ", ".join(map(str, seeds))
