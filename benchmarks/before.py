"""Cora with the source as it is, against an earlier checkout of it, in turns: `python -m benchmarks.before CHECKOUT`.

Each side is a process of its own with one thread. It trains epochs of the preset `paper`, explains nodes, and says how
much memory it had at most; turns of both sides follow each other, so that whatever slows the machine slows both. Of
each side the fastest turn counts, in seconds of processor time. Both must have the same losses, or there is nothing to
compare. An earlier checkout: `git worktree add --detach ../before COMMIT`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_commit, describe_machine

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "published" / "before-rich-edges.json"
EPOCHS, EXPLAINED, TURNS = 2, 20, 20  # of a turn; turns
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
FIGURES = {"epoch": "a training epoch", "explanation": "an explanation", "memory": "peak memory"}
CLOSE = 1e-4  # by so much losses may differ: sums in another order


@dataclass(frozen=True, slots=True)
class Side:
    """A process that works on demand with the source of one checkout."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, checkout: Path) -> Side:
        """Start it; it reads nothing but the library from the checkout."""
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(checkout / "src")}
        command = [sys.executable, "-P", str(Path(__file__).with_name("before_worker.py"))]
        return cls(subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def ask(self, task: str, count: int = 1) -> Any:
        """Have a task done and get its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([task, count]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker ended with {self.process.wait()} while it was asked for {task}")
        return json.loads(answer)

    def end(self) -> None:
        """Let it go."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compared(checkout: Path) -> dict[str, Any]:
    """Seconds of the fastest turn (of memory: kilobytes) now and before, and their ratio."""
    for place in (ROOT, checkout):  # compile, so that what is measured finds its code
        warm = Side.start(place)
        warm.ask("epoch")
        warm.ask("explanation")
        warm.end()
    now, before = Side.start(ROOT), Side.start(checkout)
    found: dict[str, dict[str, float]] = {}
    try:
        losses = [side.ask("loss", 3) for side in (now, before)]
        if abs(losses[0] - losses[1]) > CLOSE * abs(losses[1]):
            raise RuntimeError(f"the two sides do not compute the same: losses {losses[0]} and {losses[1]}")
        sides = {"now": now, "before": before}
        for task, count in (("epoch", EPOCHS), ("explanation", EXPLAINED)):
            turns = [{name: side.ask(task, count) for name, side in sides.items()} for _ in range(TURNS)]
            found[task] = {name: min(turn[name] for turn in turns) / count for name in sides}
        found["memory"] = {name: side.ask("memory") for name, side in sides.items()}
    finally:
        now.end()
        before.end()
    return {task: {**amounts, "ratio": amounts["now"] / amounts["before"]} for task, amounts in found.items()}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description="Cora now, against before.")
    parser.add_argument("checkout", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    options = parser.parse_args()
    head = ["git", "-C", str(options.checkout), "rev-parse", "--short=12", "HEAD"]
    start = time.perf_counter()
    results = {
        "command": "python -m benchmarks.before CHECKOUT",
        "before": subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip(),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "turns": TURNS,
        "figures": compared(options.checkout.resolve()),
    }
    options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for name, figure in results["figures"].items():
        print(f"{FIGURES[name]:<18} {figure['ratio']:.3f} times before")
    print(f"took {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
