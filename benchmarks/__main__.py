"""Measure (`python -m benchmarks [CASE ...]`), compare with earlier runs (`history`), or write a page (`render`)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.gpu_page import render_gpu
from benchmarks.history import changes, known_runs
from benchmarks.measure import RunSettings
from benchmarks.page import render_page
from benchmarks.readme import write_readme
from benchmarks.results import read_runs, run_cases, write_results
from benchmarks.table import describe_cases, results_table
from se_gnn.errors import did_you_mean

RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 if a case failed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["render"]:
        return _render(given[1:])
    if given[:1] == ["history"]:
        return _history(given[1:])
    return _measure(given)


def _measure(given: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure speed and memory. `python -m benchmarks history FILE ...` compares runs with those in "
        "published/, and `python -m benchmarks render FILE ...` turns them into a page.",
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="cases to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the cases and their targets")
    parser.add_argument("--quick", action="store_true", help="only check that every case runs; measures nothing")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write (default: benchmarks/results/)")
    options = parser.parse_args(given)
    if options.list:
        print(describe_cases(CASES))
        return 0
    by_name = {case.name: case for case in CASES}
    for name in options.cases:
        if name not in by_name:
            parser.error(f"unknown case {name!r}{did_you_mean(name, by_name)}; known: {', '.join(by_name)}")
    chosen = [by_name[name] for name in dict.fromkeys(options.cases)] or list(CASES)
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = options.json or RESULTS / f"{now}{'-quick' if options.quick else ''}.json"
    settings = RunSettings(seed=options.seed, quick=options.quick)
    repeat = [*options.cases, *(["--quick"] if options.quick else []), "--seed", str(options.seed)]
    results = run_cases(
        chosen, settings, arguments=repeat, after_each=lambda so_far: write_results(so_far, path), progress=sys.stderr
    )
    print(results_table(results))
    print(f"\nwritten to {path}", file=sys.stderr)
    return int(any(case["status"] == "failed" for case in results["cases"]))


def _history(given: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks history",
        description="Compare the last two runs of each figure on the same type of machine; 1 if one is clearly worse.",
    )
    parser.add_argument("results", nargs="*", type=Path, metavar="FILE", help="runs that are not in published/")
    try:
        found = changes(known_runs(parser.parse_args(given).results))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(*found, sep="\n")
    return int(any(change.regressed for change in found))


def _render(given: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks render", description="Print a page on performance, in Markdown, made from results."
    )
    parser.add_argument(
        "results", nargs="*", type=Path, metavar="FILE", help="results of one run each; a later run replaces cases"
    )
    parser.add_argument("--gpu", type=Path, metavar="FILE", help="results of `python -m benchmarks.gpu`")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="put the table on speed into this README, too")
    options = parser.parse_args(given)
    try:
        runs = read_runs(options.results)
        page = render_page(runs, CASES)
        if options.gpu is not None:
            page += "\n" + render_gpu(json.loads(options.gpu.read_text(encoding="utf-8")))
        if options.readme is not None:
            write_readme(runs, options.readme)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    sys.stdout.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
