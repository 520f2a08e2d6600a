"""Run the jobs that have no result yet, the longest first, in as many processes as asked for.

Each result is on disk as soon as it is there: a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks.machine import describe_machine
from reproduce.job import Job
from reproduce.methods import guessed_seconds
from reproduce.store import Result, Store
from se_gnn.errors import InputError

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Making:
    """What a result is made with, the machine aside."""

    command: str
    commit: str | None
    device: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result, or why there is none."""

    result: Result | None
    error: str = ""


def run_jobs(
    jobs: Sequence[Job], store: Store, making: Making, *, processes: int, say: Callable[[str], None]
) -> list[Job]:
    """Run what is missing; one that fails does not stop the others. Returns those that failed."""
    expected = {job: store.usual_seconds(job.series) or guessed_seconds(job.series) for job in _missing(jobs, store)}
    left = sorted(expected, key=lambda job: -expected[job])
    say(f"{len(jobs)} jobs, {len(jobs) - len(left)} done before, {len(left)} to run")
    failed: list[Job] = []
    outcomes = _in_turn(left, making) if processes == 1 else _in_parallel(left, making, processes)
    foreseen = spent = 0.0  # seconds of the jobs run so far: how far the expectations are off on this machine
    for count, (job, outcome) in enumerate(outcomes, start=1):
        seconds = expected.pop(job)
        if outcome.result is None:
            failed.append(job)
            say(f"{job.name} failed:\n{outcome.error}")
        else:
            store.put(job, outcome.result)
            foreseen, spent = foreseen + seconds, spent + outcome.result.seconds
            say(f"{job.name}: {_summary(outcome.result)}")
        if expected:
            remaining = max(sum(expected.values()) / processes, max(expected.values()))
            remaining *= spent / foreseen if foreseen else 1.0
            say(f"  {count} of {len(left)} jobs run, about {duration(remaining)} to go")
    return failed


def execute(job: Job, making: Making) -> Outcome:
    """Run one job, wherever this process is."""
    start = time.perf_counter()
    try:
        measures = job.measure(making.device)
    except InputError as error:
        return Outcome(None, str(error))
    except Exception:
        return Outcome(None, traceback.format_exc())
    return Outcome(Result(job.seed, measures, time.perf_counter() - start, made_with(making)))


def made_with(making: Making) -> dict[str, Any]:
    """What made a result, this machine included."""
    return {
        "command": making.command,
        "commit": making.commit,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "device": making.device,
    }


def _missing(jobs: Sequence[Job], store: Store) -> list[Job]:
    return [job for job in jobs if store.get(job) is None]


def _in_turn(jobs: Sequence[Job], making: Making) -> Iterator[tuple[Job, Outcome]]:
    return ((job, execute(job, making)) for job in jobs)


def _in_parallel(jobs: Sequence[Job], making: Making, processes: int) -> Iterator[tuple[Job, Outcome]]:
    """Each process with its share of the cores; none is left behind when the run is interrupted."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, str(max(1, cores // processes))))  # children read it when they start
    spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    pool = ProcessPoolExecutor(processes, mp_context=spawn, initializer=signal.signal, initargs=_IGNORE_INTERRUPT)
    try:
        running: dict[Future[Outcome], Job] = {pool.submit(execute, job, making): job for job in jobs}
        for future in as_completed(running):
            try:
                yield running[future], future.result()
            except BrokenProcessPool:
                reason = "its process, or one beside it, was killed: not enough memory? --jobs takes a lower number"
                yield running[future], Outcome(None, reason)
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():  # numba of this process would stumble over another number of threads
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_IGNORE_INTERRUPT = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its children


def _summary(result: Result) -> str:
    shares = {name: value for name, value in result.measures.items() if isinstance(value, float)}
    shown = ", ".join(f"{name} {100 * value:.1f}" for name, value in list(shares.items())[:3])
    return f"{shown}, {duration(result.seconds)}".removeprefix(", ")


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
