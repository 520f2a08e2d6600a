"""Run the paper's experiments and write the page of results.

python -m reproduce run table-2 figure-3           # what has no result yet, five seeds
python -m reproduce run all --jobs 14 --seeds 5    # everything, in 14 processes
python -m reproduce run table-2 --only cora,citeseer --only gcn
python -m reproduce run table-2 --trial            # from changed source: kept in build/trial, on no page
python -m reproduce status                         # what is there, what is out of date and what is missing
python -m reproduce render                         # the pages results and truth, table of the README
python -m reproduce prune                          # remove rows that nothing shows any more
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import describe_commit
from reproduce.experiments import EXPERIMENTS, file_names
from reproduce.job import Job, jobs_of
from reproduce.prune import wanted_rows
from reproduce.runner import Making, run_jobs
from reproduce.store import RESULTS, Store
from se_gnn.device import resolve_device
from se_gnn.errors import InputError, did_you_mean


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, render or say what is missing; 1 where something failed."""
    args = _parser().parse_args(arguments)
    try:
        return int(args.do(args))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted: what is done is kept, the same command goes on from here", file=sys.stderr)
    return 1


TRIAL = Path("build/trial")


def run(args: argparse.Namespace) -> int:
    """Run the jobs that are missing."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `timeout` ends a run as Ctrl-C does
    jobs = chosen_jobs(args.names, args.seeds, args.only)
    commit = source_commit(args.commit, trial=args.trial)
    store = Store(TRIAL if args.trial else args.results)
    if resolve_device(args.device).type == "cpu" and "pro-gnn" not in ",".join(args.only).split(","):
        jobs = _without_endless(jobs, store)
    only = [word for words in args.only for word in ("--only", words)]
    command = shlex.join(["python", "-m", "reproduce", "run", *args.names, "--seeds", str(args.seeds), *only])
    making = Making(command=command, commit=commit, device=args.device)
    failed = run_jobs(jobs, store, making, processes=args.jobs, say=lambda line: print(line, flush=True))
    if failed:
        print(f"{len(failed)} jobs failed; the same command tries them again", file=sys.stderr)
    return int(bool(failed))


def source_commit(given: str | None, *, trial: bool) -> str | None:
    """The commit that results are made with; a result that no commit can make again is not kept, unless as a trial."""
    found = describe_commit(apart_from=("reproduce/results", "reproduce/searches", "docs", "README.md"))
    if found is None and given is None and not trial:
        raise InputError("results name the commit of their source, but this is not a repository: --commit names it")
    if found is not None and found.endswith("with changes") and not trial:
        raise InputError("the source has changes that are not committed: commit them, or try them with --trial")
    return found or given


def _without_endless(jobs: list[Job], store: Store) -> list[Job]:
    """Leave out the jobs that take hours on a CPU, and say so."""
    endless = [job for job in jobs if job.series.method == "pro-gnn" and store.get(job) is None]
    if endless:
        print(f"left out: {len(endless)} jobs of Pro-GNN, each takes hours on a CPU. --device cuda runs them on a GPU,")
        print("--only pro-gnn runs them all the same")
    return [job for job in jobs if job not in endless]


def status(args: argparse.Namespace) -> int:
    """Count what is there."""
    store = Store(args.results)
    for name, experiment in EXPERIMENTS.items():
        jobs = jobs_of(experiment.series(), args.seeds)
        done = sum(store.get(job) is not None for job in jobs)
        stale = sum(store.num_stale(one) for one in {one.name: one for one in experiment.series()}.values())
        print(f"{name:16} {done:4} of {len(jobs):4} jobs, {stale:3} rows out of date   {experiment.TITLE}")
    return 0


def prune(args: argparse.Namespace) -> int:
    """Remove rows of other settings, of series that nothing shows, and of source that was not committed."""
    print(f"removed {Store(args.results).keep(wanted_rows())} rows")
    return 0


def render(args: argparse.Namespace) -> int:
    """Write the pages and the table of the README."""
    from reproduce.page import write_page, write_readme
    from reproduce.truth_page import write_truth

    store = Store(args.results)
    write_page(store)
    write_readme(store)
    write_truth(store)
    print("wrote results.md and truth.md in docs/understanding, and the table of README.md")
    return 0


def chosen_jobs(names: Sequence[str], seeds: int, only: Sequence[str] = ()) -> list[Job]:
    """The jobs of some experiments; each of ``only`` names alternatives (`cora,citeseer`) of which a job has one."""
    names = list(EXPERIMENTS) if "all" in names else names
    series = {one.name: one for name in names for one in EXPERIMENTS[name].series()}
    for alternatives in only:
        wanted, known = set(alternatives.split(",")), {word for one in series.values() for word in one.words}
        for word in wanted - known:
            raise InputError(f"--only {word!r} names no job here{did_you_mean(word, known)}")
        series = {name: one for name, one in series.items() if wanted & one.words}
    homes = file_names()
    return [job for name, one in series.items() for job in jobs_of([one], seeds, homes[name])]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="run what has no result yet")
    running.set_defaults(do=run)
    running.add_argument("names", nargs="+", choices=[*EXPERIMENTS, "all"], metavar="NAME", help=", ".join(EXPERIMENTS))
    running.add_argument("--jobs", type=_positive, default=len(os.sched_getaffinity(0)), help="processes at a time")
    running.add_argument("--only", action="append", default=[], metavar="WORD,...", help="method, data set or variant")
    running.add_argument("--device", default="cpu", help="where the methods are trained: cpu, cuda or auto")
    running.add_argument("--commit", help="commit of the source, where it is not a repository")
    running.add_argument("--trial", action="store_true", help=f"source with changes: keep results in {TRIAL}")
    counting = commands.add_parser("status", help="what is there and what is missing")
    counting.set_defaults(do=status)
    for command in (running, counting):
        command.add_argument("--seeds", type=_positive, default=5, help="seeds 0 to N - 1 (default: 5)")
    rendering = commands.add_parser("render", help="write the pages of results and the table of README.md")
    rendering.set_defaults(do=render)
    pruning = commands.add_parser("prune", help="remove rows that nothing shows any more")
    pruning.set_defaults(do=prune)
    for command in (running, counting, rendering, pruning):
        command.add_argument(
            "--results", type=Path, default=RESULTS, help="folder of the results (default: reproduce/results)"
        )
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


if __name__ == "__main__":
    sys.exit(main())
