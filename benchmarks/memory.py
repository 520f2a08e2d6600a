"""Peak memory of a piece of work, in a process of its own.

The peak is read from the kernel's own account of this program (`VmHWM`). `ru_maxrss` would not do on Linux: a process
inherits it from the one that started it, so that a small job started after a large one looks large.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Outcome, Spread, Unavailable

ROOT = Path(__file__).resolve().parents[1]
GIGABYTE = 1e9
_UNAVAILABLE = 3  # exit status of a job that cannot run here


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """Time and memory of a job; bytes."""

    seconds: float  # of the whole job, without imports
    peak: int
    at_start: int  # after imports, before the job
    result: dict[str, Any]


def run_apart(job: str, arguments: Mapping[str, Any]) -> JobReport:
    """Run `module:function` with keyword arguments in a new process; it returns plain values."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", job, json.dumps(dict(arguments))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    last = process.stdout.strip().rsplit("\n", 1)[-1]
    if process.returncode == _UNAVAILABLE:
        raise Unavailable(json.loads(last)["reason"])
    if process.returncode != 0:
        raise RuntimeError(f"{job} ended with status {process.returncode}")
    return JobReport(**json.loads(last))


def time_and_memory(reports: Sequence[JobReport], details: Mapping[str, Any] | None = None) -> Outcome:
    """Time and peak memory of a job over its rounds, with what its last round returned and further ``details``."""
    samples = {
        "seconds": [report.seconds for report in reports],
        "peak bytes": [float(report.peak) for report in reports],
        "bytes after imports": [float(report.at_start) for report in reports],
    }
    return Outcome(
        figures={
            "time": Spread.of(samples["seconds"]),
            "peak memory": Spread.of([peak / GIGABYTE for peak in samples["peak bytes"]]),
        },
        samples=samples,
        details={**reports[-1].result, **(details or {})},
    )


def peak_bytes(process: int | None = None) -> int:
    """Largest resident memory of this process, or another one, so far, or since :func:`reset_peak`."""
    found = _status("VmHWM", process)
    if found is not None:
        return found
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def resident_bytes() -> int:
    """Resident memory of this process now; the peak where the system does not tell."""
    found = _status("VmRSS")
    return peak_bytes() if found is None else found


class AllocatedPeak:
    """Largest memory that this process had allocated, looked at every few milliseconds in a thread of its own.

    Pages of mapped files are left out: the system takes them away when it needs the memory.
    """

    def __init__(self) -> None:
        self.bytes, self.at_start = 0, 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> AllocatedPeak:
        self.at_start = self.bytes = _status("RssAnon") or resident_bytes()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.005):
            self.bytes = max(self.bytes, _status("RssAnon") or 0)


def reset_peak() -> None:
    """Start the account of the peak again, where the system allows it; else the peak includes what came before."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _status(field: str, process: int | None = None) -> int | None:
    try:
        lines = Path(f"/proc/{process or 'self'}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return None


def _main(job: str, arguments: str) -> int:
    module, _, name = job.partition(":")
    function = getattr(importlib.import_module(module), name)
    at_start = resident_bytes()
    reset_peak()
    start = time.perf_counter()
    try:
        result = function(**json.loads(arguments))
    except Unavailable as error:
        print(json.dumps({"reason": str(error)}))
        return _UNAVAILABLE
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak": peak_bytes(), "at_start": at_start, "result": result}))
    return 0


if __name__ == "__main__":
    from benchmarks.memory import _main as main  # the imported module, so that its exceptions are the same classes

    sys.exit(main(*sys.argv[1:]))
