"""Runs cases: each must give an `InputError` or a correct load, within ten seconds and a gigabyte.

A case follows from its number and the seed alone, so that it can be run again: `python -m fuzz --only 4711`.
"""

from __future__ import annotations

import random
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from fuzz.targets import InputError, Target, targets, write_case

SECONDS = 10


class HangError(BaseException):
    """A case takes too long."""


@dataclass
class Findings:
    """What became of the cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)  # kind and place, and the first case of it
    megabytes: float = 0.0  # that the cases took beyond what the process had before

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(self.outcomes.items()))
        failed = "".join(f"\n\n{where}\n{text}" for where, text in self.failures.items())
        return f"fuzz: {counts}; {self.megabytes:.0f} MB more memory at the peak{failed}"


def fuzz(numbers: Iterable[int], work: Path, *, seed: int = 0) -> Findings:
    """Run the cases with these numbers."""
    found = Findings()
    all_targets = targets(work / "whole")
    for target in all_targets:
        write_case(target.files, work / "case")
        with _quiet():
            target.read(work / "case")  # what is not spoiled must load; and everything is compiled
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        for number in numbers:
            _run(number, all_targets[number % len(all_targets)], work / "case", seed, found)
    finally:
        signal.signal(signal.SIGALRM, before)
    found.megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024
    return found


def _run(number: int, target: Target, folder: Path, seed: int, found: Findings) -> None:
    files = target.case(random.Random(f"{seed} {number}"))
    write_case(files, folder)
    signal.alarm(SECONDS)
    try:
        with _quiet():
            target.read(folder)
        found.outcomes["loaded"] += 1
    except InputError:
        found.outcomes["refused"] += 1
    except HangError:
        found.outcomes["hangs"] += 1
        found.failures.setdefault(f"hang of {target.name}", f"case {number}")
    except Exception as error:
        found.outcomes["tracebacks"] += 1
        place = traceback.extract_tb(error.__traceback__)[-1]
        key = f"{type(error).__name__} in {target.name} at {place.filename}:{place.lineno}"
        found.failures.setdefault(key, f"case {number}: {''.join(traceback.format_exception(error))[-1500:]}")
    finally:
        signal.alarm(0)


def _quiet() -> warnings.catch_warnings[None]:
    """What a reader is told does not count."""
    return warnings.catch_warnings(action="ignore")


def _ring(_: int, __: FrameType | None) -> None:
    raise HangError
