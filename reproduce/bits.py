"""Same seed, same bits: trained on 1, 2 and 4 threads, interrupted or not, in processes of their own.

python -m reproduce.bits --runs 200

Runs of one data set, preset and seed must agree in every bit of their parameters and predictions. Adds a JSON line to
reproduce/bits.jsonl with the number of runs and of differing bits, and with what made it; 1 as exit status where a bit
differs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.json_lines import append_row, read_rows

DATASETS = ("digits", "ba-shapes", "syn-cora")  # the last is made from Cora
PRESETS = ("paper", "authors", "best")
THREADS = (1, 2, 4)
MOST_THREADS = 4
_ROOT = Path(__file__).resolve().parents[1]
ROWS = Path(__file__).with_name("bits.jsonl")


@dataclass(frozen=True, slots=True)
class Case:
    """What must have the same bits however it is run."""

    dataset: str
    preset: str
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} {self.preset} seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Way:
    """How a case is run."""

    threads: int
    interrupted: bool


WAYS = tuple(Way(threads, interrupted) for interrupted in (False, True) for threads in THREADS)


def batches(runs: int) -> Iterator[tuple[tuple[Case, ...], Way]]:
    """So many runs, seed by seed: the cases that one process trains, and how.

    >>> [len(cases) for cases, way in batches(20)]
    [9, 9, 2]
    """
    for seed in itertools.count():
        for way in WAYS:
            if runs <= 0:
                return
            cases = [Case(dataset, preset, seed) for preset, dataset in itertools.product(PRESETS, DATASETS)]
            yield tuple(cases[:runs]), way
            runs -= len(cases)


def trained_bits(cases: Sequence[Case], way: Way, epochs: int) -> list[bytes]:
    """Parameters and predictions of each case, trained in a process of their own; interrupted: in two, one killed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = json.dumps([[case.dataset, case.preset, case.seed] for case in cases])
        for stage in ("killed", "whole") if way.interrupted else ("whole",):
            _run_child([wanted, stage, str(way.threads), str(epochs), name], way.threads, dies=stage == "killed")
        return [(folder / f"{i}.bits").read_bytes() for i in range(len(cases))]


def differing_bits(one: bytes, other: bytes) -> int:
    """How many bits differ; what one has more counts as differing.

    >>> differing_bits(bytes([0b1010]), bytes([0b1001]))
    2
    """
    common = min(len(one), len(other))
    a, b = (np.frombuffer(each[:common], np.uint8) for each in (one, other))
    return int(np.bitwise_count(a ^ b).sum()) + 8 * (max(len(one), len(other)) - common)


def _run_child(arguments: Sequence[str], threads: int, *, dies: bool) -> None:
    counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    environment = {**os.environ, **counts, "NUMBA_NUM_THREADS": str(MOST_THREADS)}
    command = [sys.executable, "-m", "reproduce.bits", "--child", *arguments]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != (_KILLED if dies else 0):
        raise RuntimeError(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")


_KILLED = 77


def _child(wanted: str, stage: str, threads: str, epochs: str, name: str) -> None:
    """Train the cases one after the other; a killed one ends without a word in the middle of the last."""
    import numba
    import torch

    from lab.datasets import load_dataset
    from se_gnn.settings import Settings
    from se_gnn.training import fit, trainer

    torch.set_num_threads(int(threads))
    numba.set_num_threads(int(threads))
    trainer.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    for i, (dataset, preset, seed) in enumerate(json.loads(wanted)):
        asked = Settings.of(preset, epochs=int(epochs))
        graph = load_dataset(dataset)
        folder = Path(name, str(i))
        if stage == "killed":
            runs = int(asked.resolve().selection.portfolio)
            _train_in_part(graph, asked, seed, folder, steps=int(epochs) // 2 + int(epochs) * runs)
            continue
        trained = fit(graph, asked, seed=seed, folder=folder)
        found = trained.predict(graph.test)
        tensors = [tensor for _, tensor in sorted(trained.encoder.state_dict().items())]
        arrays = [*(t.numpy() for t in tensors), found.probabilities, found.cases, found.overall, found.weights]
        Path(name, f"{i}.bits").write_bytes(b"".join(array.tobytes() for array in arrays))
    if stage == "killed":
        os._exit(_KILLED)


def _train_in_part(graph: Any, asked: Any, seed: int, folder: Path, *, steps: int) -> None:
    """Begin a training and leave it after so many epochs; of a portfolio the first run is whole by then."""
    from se_gnn.training import TrainingRun, fit

    step = TrainingRun.step
    left = steps

    def counted(run: TrainingRun) -> dict[str, Any]:
        nonlocal left
        if not left:
            raise InterruptedError
        left -= 1
        return step(run)

    TrainingRun.step = counted  # type: ignore[method-assign]
    try:
        fit(graph, asked, seed=seed, folder=folder)
    except InterruptedError:
        return
    finally:
        TrainingRun.step = step  # type: ignore[method-assign]
    raise AssertionError("the training ended before it was to be interrupted")


def render() -> str:
    """What the last comparison found."""
    rows = read_rows(ROWS)
    if not rows:
        return "> Not run yet: `python -m reproduce.bits --runs 200`."
    row = rows[-1]
    machine = row["machine"]
    return (
        f"{row['runs']} training runs of {row['cases']} configurations (the embedded data sets, every preset, "
        f"several seeds; {row['epochs']} epochs), on {', '.join(map(str, THREADS[:-1]))} and {THREADS[-1]} threads, "
        f"each in its own process, some killed and resumed: **{row['differing_bits']} differing bits** in parameters, "
        f"probabilities, neighbors, similarities and weights.\n\n"
        f"`{row['command']}`, commit {row['commit']}, {machine['cpu']} with {machine['cores']} cores."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, compare and add a line; 1 where a bit differs."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce.bits", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=6, help="of each run (default: 6)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default: 1)")
    parser.add_argument("--out", type=Path, default=ROWS, help="file of JSON lines to add to")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.child:
        _child(*args.child)
        return 0
    from benchmarks.machine import describe_commit, describe_machine

    commit = describe_commit(apart_from=("reproduce/results", "docs", "README.md"))
    first: dict[Case, bytes] = {}
    differing, different_runs = 0, 0
    pool = ThreadPoolExecutor(args.jobs)  # a batch is a process of its own, or two where it is interrupted
    asked = list(batches(args.runs))
    found = pool.map(lambda batch: trained_bits(*batch, args.epochs), asked)
    count = 0
    for (cases, way), all_bits in zip(asked, found):
        for case, bits in zip(cases, all_bits, strict=True):
            count += 1
            apart = differing_bits(first.setdefault(case, bits), bits)
            differing, different_runs = differing + apart, different_runs + (apart > 0)
            how = "interrupted" if way.interrupted else "whole"
            print(f"{count:4} of {args.runs}: {case}, {way.threads} threads, {how}: {apart} differing bits", flush=True)
    row = {
        "experiment": "bits",
        "runs": args.runs,
        "cases": len(first),
        "epochs": args.epochs,
        "differing_runs": different_runs,
        "differing_bits": differing,
        "command": f"python -m reproduce.bits --runs {args.runs} --epochs {args.epochs}",
        "commit": commit,
        "machine": describe_machine(),
    }
    print(json.dumps(row))
    append_row(args.out, row)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
