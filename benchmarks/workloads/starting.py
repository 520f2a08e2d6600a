"""How long a person waits for a first answer: from the shell, and before the first epoch on a new machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import load_graph, smaller
from benchmarks.measure import Outcome, RunSettings, Spread
from benchmarks.memory import run_apart
from se_gnn.model.folder import save_model
from se_gnn.training import TrainingRun

NODE = "#5"


def explaining(case: Case, run: RunSettings) -> Outcome:
    """`se-gnn explain` of one node of a saved model, from the shell to the answer; weights are random."""
    graph = load_graph(case.dataset, seed=run.seed)
    model = ours.untrained_model(graph, ours.settings_for(graph, preset=case.preset), seed=run.seed)
    samples: dict[str, list[float]] = {"seconds": [], "importing PyTorch and numba alone": []}
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model")
        command = [sys.executable, "-m", "se_gnn", "explain", str(Path(folder) / "model"), "--node", NODE]
        _seconds(command)  # compiles what is not yet compiled
        for _ in range(run.rounds(case.rounds)):
            samples["seconds"].append(_seconds(command))
            samples["importing PyTorch and numba alone"].append(_seconds([sys.executable, "-c", "import torch, numba"]))
    return Outcome(
        figures={"time": Spread.of(samples["seconds"])},
        samples=samples,
        details={"nodes": graph.num_nodes, "dimensions": model.embeddings.shape[1]},
    )


def _seconds(command: list[str]) -> float:
    """Of a process that finds bytecode, as an installed package has it, also where the shell says to write none."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment)
    return time.perf_counter() - start


def compiling(case: Case, run: RunSettings) -> Outcome:
    """What the first epoch waits for where nothing is compiled yet."""
    reports = []
    for _ in range(run.rounds(case.rounds)):
        with tempfile.TemporaryDirectory() as folder:
            before = os.environ.get("NUMBA_CACHE_DIR")
            os.environ["NUMBA_CACHE_DIR"] = folder  # empty, and read by the process that is started
            try:
                arguments = {"dataset": case.dataset, "preset": case.preset, "seed": run.seed, "quick": run.quick}
                reports.append(run_apart(f"{__name__}:first_epoch", arguments).result)
            finally:
                os.environ.pop("NUMBA_CACHE_DIR")
                if before is not None:
                    os.environ["NUMBA_CACHE_DIR"] = before
    samples = {name: [report[name] for report in reports] for name in reports[0]}
    return Outcome(figures={"wait": Spread.of(samples["waiting"])}, samples=samples)


def first_epoch(dataset: str, preset: str, seed: int, quick: bool) -> dict[str, float]:
    """Job: prepare training and run an epoch; then the same again, with everything compiled."""
    graph = load_graph(dataset, seed=seed)
    graph = smaller(graph, 300, seed=seed) if quick else graph
    chosen = ours.settings_for(graph, preset=preset)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        TrainingRun(graph, chosen, seed=seed, device=torch.device("cpu"), folder=None).step()
        seconds.append(time.perf_counter() - start)
    return {"first": seconds[0], "again": seconds[1], "waiting": seconds[0] - seconds[1]}
