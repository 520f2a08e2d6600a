"""Run cases one after the other and keep what came out as plain values, ready for JSON."""

from __future__ import annotations

import dataclasses
import json
import shlex
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from benchmarks.cases import Case, Figure
from benchmarks.machine import describe_commit, describe_machine
from benchmarks.measure import Outcome, RunSettings, Spread, Unavailable

FORMAT = 1
Results = dict[str, Any]


def run_cases(
    cases: Sequence[Case],
    settings: RunSettings,
    *,
    arguments: Sequence[str] = (),
    after_each: Callable[[Results], None] | None = None,
    progress: IO[str] | None = None,
) -> Results:
    """Measure cases; one that cannot run here is skipped with the reason, one that fails does not stop the others."""
    results: Results = {
        "format": FORMAT,
        "command": shlex.join(["python", "-m", "benchmarks", *arguments]),
        "quick": settings.quick,
        "seed": settings.seed,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "cases": [],
    }
    for case in cases:
        if progress is not None:
            print(f"{case.name}: {case.title}", file=progress, flush=True)
        start = time.perf_counter()
        record = _run_case(case, settings, progress)
        record["took_seconds"] = time.perf_counter() - start
        results["cases"].append(record)
        if after_each is not None:  # a run of an hour that is stopped keeps what it has
            after_each(results)
    return results


def write_results(results: Results, path: Path) -> None:
    """Write results as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def read_results(path: Path) -> Results:
    """Read what :func:`write_results` wrote."""
    try:
        results: Results = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(results, dict) or results.get("format") != FORMAT:
        raise ValueError(f"{path} must hold results of format {FORMAT}, as python -m benchmarks writes them")
    return results


def read_runs(paths: Iterable[Path]) -> list[Results]:
    """Results of some runs from the first to the last, in whatever order their files are named."""
    return sorted(map(read_results, paths), key=lambda run: datetime.fromisoformat(run["started"]))


def _run_case(case: Case, settings: RunSettings, progress: IO[str] | None) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": case.name,
        "title": case.title,
        "dataset": case.dataset,
        "preset": case.preset,
        "settings": list(case.settings),
        "ours": case.ours,
        "baseline": case.baseline,
    }
    try:
        outcome: Outcome = case.load_workload()(case, settings)
    except Unavailable as reason:
        return {**record, "status": "skipped", "reason": str(reason)}
    except Exception as error:
        if progress is not None:
            traceback.print_exc(file=progress)
        return {**record, "status": "failed", "reason": f"{type(error).__name__}: {error}"}
    return {
        **record,
        "status": "measured",
        "figures": [_judged(figure, outcome.figures[figure.name]) for figure in case.figures],
        "samples": outcome.samples,
        "details": outcome.details,
    }


def _judged(figure: Figure, value: Spread) -> dict[str, Any]:
    return {
        **dataclasses.asdict(figure),
        **dataclasses.asdict(value),
        "met": figure.keeps(value.median, figure.target),
        "aim_met": None if figure.aim is None else figure.keeps(value.median, figure.aim),
    }
