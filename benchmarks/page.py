"""The page on performance, `docs/understanding/performance.md`, made from results: no number on it is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.cases import Case
from benchmarks.measure import Spread
from benchmarks.table import number, seconds, target_text, verdict

_INTRODUCTION = """\
# Performance

Every ratio compares two things that are timed alternately in one run and in the same process, so that whatever slows
the machine down slows both. We report the median over several rounds, with the lowest and the highest round beside it.
Larger runs have their own process, so that their peak memory can be measured. The baselines are in
`benchmarks/baselines/`, in readable code; if they compute the same as se-gnn, the results are compared before anything
is timed.

    make bench                                                           # measure everything
    python -m benchmarks --list                                          # the cases and their targets
    python -m benchmarks cora-epoch --json benchmarks/results/one.json   # some of them
    python -m benchmarks render benchmarks/results/one.json --readme README.md > docs/understanding/performance.md

The last command wrote this page from the results of the runs listed below; no number is typed by hand.
"""
_NEXT = """\
## Current bottlenecks

Scoring on the CPU has three parts that take about the same time: the product of the nodes, the maxima over local
graphs, and turning the scores of the winners into similarities. The product runs near the peak of the processor. With
many labeled nodes, most of the time goes into comparing the K nearest cases and bounding those that might be among
them. On dense graphs, most edges of a local graph lie on its rim, so local graphs share little, and each of their
edges has to be examined.
"""
_PHASES = "seconds of each phase"
_SHARES = "where the time of our epoch goes"


def render_page(runs: Sequence[dict[str, Any]], cases: Sequence[Case]) -> str:
    """Markdown made from the results of some runs; a later run replaces the cases of an earlier one.

    Cases that were not measured are listed as such, so that the page always shows what there is to show.
    """
    if any(run["quick"] for run in runs):
        raise ValueError("a quick run measures nothing: render the results of a full run")
    measured = {case["name"]: (position, case) for position, run in enumerate(runs, start=1) for case in run["cases"]}
    records = [case for _, case in measured.values() if case["status"] == "measured"]
    sections = [
        _INTRODUCTION,
        _results(measured, cases),
        _falls_short(records),
        _where_time_goes(records),
        _NEXT,
        _case_by_case(measured, cases),
        _runs(runs),
    ]
    return "\n".join(section for section in sections if section)


def _results(measured: dict[str, tuple[int, dict[str, Any]]], cases: Sequence[Case]) -> str:
    lines = [
        "## Results",
        "",
        "| case | target | measured | lowest to highest | |",
        "| --- | --- | --- | --- | --- |",
    ]
    for case in cases:
        _, record = measured.get(case.name, (0, {"status": "not measured"}))
        for position, figure in enumerate(case.figures):
            title = f"{case.title} (`{case.name}`)" if position == 0 else ""
            if record["status"] != "measured":
                cells = (record["status"], "", "")
            else:
                found = record["figures"][position]
                spread = f"{number(found['low'])} to {number(found['high'])}"
                cells = (f"**{number(found['median'])}** {found['unit']}", spread, verdict(found))
            lines.append(f"| {title} | {target_text(figure)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _falls_short(records: Sequence[dict[str, Any]]) -> str:
    if not records:
        return ""
    lines = []
    for record in records:
        for figure in record["figures"]:
            if not figure["met"]:
                rule = f"{figure['bound']} {number(figure['target'])} {figure['unit']}"
                lines.append(f"- `{record['name']}`: {figure['name']} {number(figure['median'])}, must be {rule}.")
            elif figure["aim_met"] is False:
                aim = f"the aim is {number(figure['aim'])}"
                lines.append(
                    f"- `{record['name']}`: {figure['name']} {number(figure['median'])} meets its target; {aim}."
                )
    return "\n".join(["## What falls short", "", *(lines or ["Everything that was measured meets its target."])]) + "\n"


def _where_time_goes(records: Sequence[dict[str, Any]]) -> str:
    lines = []
    for record in records:
        parts = record["details"].get(_SHARES)
        if parts:
            text = ", ".join(f"{name} {share:.0%}" for name, share in parts.items())
            lines.append(f"- `{record['name']}`, one epoch: {text}.")
        phases = record["details"].get(_PHASES)
        if phases:
            text = ", ".join(f"{name} {seconds(value)}" for name, value in phases.items())
            lines.append(f"- `{record['name']}`: {text}.")
    return "\n".join(["## Where the time goes", "", *lines]) + "\n" if lines else ""


def _case_by_case(measured: dict[str, tuple[int, dict[str, Any]]], cases: Sequence[Case]) -> str:
    lines = ["## Case by case", ""]
    for case in cases:
        lines += [f"### {case.name}", "", f"- Ours: {case.ours}."]
        if case.baseline is not None:
            lines.append(f"- Compared with: {case.baseline}.")
        changed = f" with {', '.join(f'`{setting}`' for setting in case.settings)}" if case.settings else ""
        lines.append(f"- Settings: preset `{case.preset}`{changed}; data: {case.dataset}.")
        run, record = measured.get(case.name, (0, None))
        if record is not None and record["status"] == "measured":
            lines += [f"- {name}: {_samples(name, values)}." for name, values in record["samples"].items()]
            lines += [f"- {name}: {_plain(value)}." for name, value in record["details"].items() if _is_plain(value)]
            lines.append(f"- From run {run}.")
        lines.append("")
    return "\n".join(lines)


def _samples(name: str, values: Sequence[float]) -> str:
    spread = Spread.of(values)
    scale = (lambda value: f"{number(value / 1e9)} GB") if "bytes" in name else seconds
    text = scale(spread.median)
    return text if len(values) == 1 else f"{text} ({scale(spread.low)} to {scale(spread.high)}, {len(values)} rounds)"


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _plain(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)


def _runs(runs: Sequence[dict[str, Any]]) -> str:
    lines = ["## Where the numbers come from", ""]
    if not runs:
        return "\n".join([*lines, "No run has been rendered yet."]) + "\n"
    for position, run in enumerate(runs, start=1):
        machine = run["machine"]
        packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
        threads = ", ".join(f"{count} of {name}" for name, count in machine["threads"].items())
        memory = f", {number(machine['memory_gb'])} GB memory" if machine["memory_gb"] else ""
        gpu = f", {machine['gpu']}" if machine["gpu"] else ""
        lines += [
            f"### Run {position}",
            "",
            f"- Command: `{run['command']}`",
            f"- Started {run['started']}, commit {run['commit'] or 'unknown'}, seed {run['seed']}",
            f"- Machine: {machine['cpu']}, {machine['cores']} cores{memory}{gpu}, {machine['system']}",
            f"- Threads: {threads}",
            f"- Python {machine['python']}, {packages}",
            "",
        ]
    return "\n".join(lines)
